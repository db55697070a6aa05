package s3snapshot

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
)

const (
	maxDecisionBytes         = 16 << 20  // as stored
	maxDecisionExpandedBytes = 256 << 20 // unpacked
)

// putRecord stores a record, packed, in place of what is there.
func (b *objects) putRecord(ctx context.Context, key string, decision any) error {
	return b.writeRecord(ctx, key, decision, nil)
}

// writeRecord stores a record, packed. Where unless is "*" it is a Conflict that something is there.
func (b *objects) writeRecord(ctx context.Context, key string, decision any, unless *string) error {
	text, err := json.Marshal(decision)
	if err != nil {
		return fault.Wrap(fault.Invalid, "", err, "encode %s", key)
	}
	packed := new(wire.Compressor).Compress(text)
	if len(packed) > maxDecisionBytes {
		return fault.New(fault.Invalid, "TooLarge", "%s would have %d bytes, at most %d are kept", key, len(packed),
			maxDecisionBytes)
	}
	_, err = b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.bucket, Key: &key, Body: bytes.NewReader(packed), ContentLength: aws.Int64(int64(len(packed))),
		ContentType: aws.String("application/json"), ContentEncoding: aws.String("gzip"), IfNoneMatch: unless,
	}, repeatConflicts)
	return sdkerr.WrapStatus(err, "write s3://%s/%s", b.bucket, key)
}

// readRecord reads a record.
func readRecord[T any](ctx context.Context, b *objects, key string) (decision T, err error) {
	data, err := b.get(ctx, key, maxDecisionBytes)
	if err != nil {
		return decision, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return decision, fault.Wrap(fault.Invalid, "Malformed", err, "decompress s3://%s/%s", b.bucket, key)
	}
	if err := json.NewDecoder(io.LimitReader(zip, maxDecisionExpandedBytes)).Decode(&decision); err != nil {
		var none T
		return none, fault.Wrap(fault.Invalid, "Malformed", err, "decode s3://%s/%s", b.bucket, key)
	}
	return decision, nil
}
