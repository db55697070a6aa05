package s3snapshot

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
)

// objects are those of an S3 bucket, and how much memory what is read of it may take.
type objects struct {
	client *s3.Client
	bucket string
	memory *memoryBudget
}

func (b *objects) uri(key string) string { return "s3://" + b.bucket + "/" + key }

// codeConflict is what S3 answers where another write of the object goes on, and asks for the request again. Source:
// Amazon S3 user guide, "Add preconditions to S3 operations with conditional requests".
const codeConflict = "ConditionalRequestConflict"

// repeatConflicts has the SDK repeat a write that another one was in the way of.
func repeatConflicts(o *s3.Options) { o.Retryer = retry.AddWithErrorCodes(o.Retryer, codeConflict) }

// get reads a whole object of at most limit bytes.
func (b *objects) get(ctx context.Context, key string, limit int64) ([]byte, error) {
	data, done, err := b.open(ctx, key, limit)
	if err == nil {
		done()
	}
	return data, err
}

// open is get for what is unpacked: done says that the bytes are needed no more. Before that they count against the
// room.
func (b *objects) open(ctx context.Context, key string, limit int64) (data []byte, done func(), err error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: &key})
	if err != nil {
		return nil, nil, sdkerr.WrapStatus(err, "read s3://%s/%s", b.bucket, key)
	}
	defer out.Body.Close()
	size := aws.ToInt64(out.ContentLength)
	if out.ContentLength == nil {
		size = limit
	}
	if size > limit {
		return nil, nil, fault.New(fault.Invalid, "TooLarge", "s3://%s/%s has %d bytes, at most %d are read", b.bucket,
			key, size, limit)
	}
	if done, err = b.memory.fetch(ctx, size); err != nil {
		return nil, nil, err
	}
	whole := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err = whole.ReadFrom(io.LimitReader(out.Body, limit+1))
	switch {
	case err != nil:
		err = sdkerr.WrapStatus(err, "read s3://%s/%s", b.bucket, key)
	case int64(whole.Len()) > limit:
		err = fault.New(fault.Invalid, "TooLarge", "s3://%s/%s has more than %d bytes", b.bucket, key, limit)
	default:
		return whole.Bytes(), done, nil
	}
	done()
	return nil, nil, err
}

// list calls each for the objects a listing shows, in the order of their keys, until it returns false.
func (b *objects) list(ctx context.Context, input *s3.ListObjectsV2Input, each func(types.Object) bool) error {
	input.Bucket = &b.bucket
	for pages := s3.NewListObjectsV2Paginator(b.client, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return sdkerr.WrapStatus(err, "list s3://%s/%s", b.bucket, aws.ToString(input.Prefix))
		}
		for _, object := range page.Contents {
			if !each(object) {
				return nil
			}
		}
	}
	return nil
}

// folders names what lies below a prefix and has something in it, sorted.
func (b *objects) folders(ctx context.Context, prefix string) ([]string, error) {
	input := &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: &prefix, Delimiter: aws.String("/")}
	var out []string
	for pages := s3.NewListObjectsV2Paginator(b.client, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, sdkerr.WrapStatus(err, "list s3://%s/%s", b.bucket, prefix)
		}
		for _, shared := range page.CommonPrefixes {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(aws.ToString(shared.Prefix), prefix), "/"))
		}
	}
	return out, nil
}
