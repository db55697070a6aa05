package s3_test

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/s3"
)

// An object is there once its upload is complete, of the parts that were listed; until then, and where it is aborted, nothing is.
func TestAnObjectIsPutInParts(t *testing.T) {
	m, _ := newModel(t)
	c := newClient(t, httptest.NewServer(s3.NewHandler(m)), true)
	big, rest := bytes.Repeat([]byte("a"), 5<<20), []byte("b")
	begin := func() *string {
		out, err := c.CreateMultipartUpload(t.Context(), &awss3.CreateMultipartUploadInput{Bucket: aws.String(bucketName), Key: aws.String("big"), ContentType: aws.String("application/zip")})
		if err != nil {
			t.Fatal(err)
		}
		return out.UploadId
	}
	part := func(id *string, number int32, body []byte) types.CompletedPart {
		out, err := c.UploadPart(t.Context(), &awss3.UploadPartInput{Bucket: aws.String(bucketName), Key: aws.String("big"), UploadId: id, PartNumber: &number, Body: bytes.NewReader(body)})
		if err != nil {
			t.Fatal(err)
		}
		return types.CompletedPart{ETag: out.ETag, PartNumber: &number}
	}
	complete := func(id *string, parts ...types.CompletedPart) (*awss3.CompleteMultipartUploadOutput, error) {
		return c.CompleteMultipartUpload(t.Context(), &awss3.CompleteMultipartUploadInput{
			Bucket: aws.String(bucketName), Key: aws.String("big"), UploadId: id, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		})
	}
	id := begin()
	first, last := part(id, 1, big), part(id, 2, rest)
	if keys := m.Keys(bucketName, ""); len(keys) != 0 {
		t.Errorf("keys %v before the upload is complete", keys)
	}
	_, err := complete(id, last, first)
	wantCode(t, err, "InvalidPartOrder")
	_, err = complete(id, types.CompletedPart{ETag: aws.String("other"), PartNumber: aws.Int32(1)})
	wantCode(t, err, "InvalidPart")
	out, err := complete(id, first, last)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(aws.ToString(out.ETag), `-2"`) {
		t.Errorf("ETag %s does not say that there are two parts", aws.ToString(out.ETag))
	}
	if body, ok := m.Get(bucketName, "big"); !ok || !bytes.Equal(body, append(big, rest...)) {
		t.Errorf("the object has %d bytes", len(body))
	}
	_, err = complete(id, first, last)
	wantCode(t, err, "NoSuchUpload")

	small := begin()
	_, err = complete(small, part(small, 1, rest), part(small, 2, rest))
	wantCode(t, err, "EntityTooSmall")
	if _, err := c.AbortMultipartUpload(t.Context(), &awss3.AbortMultipartUploadInput{Bucket: aws.String(bucketName), Key: aws.String("big"), UploadId: small}); err != nil {
		t.Fatal(err)
	}
	if left := m.Uploads(bucketName); len(left) != 0 {
		t.Errorf("uploads of %v are left", left)
	}
}
