package s3snapshot

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// oneObject answers every request with the same object.
type oneObject struct{ object []byte }

func (b oneObject) Do(request *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(b.object)), ContentLength: int64(len(b.object)),
	}, nil
}

func storeOf(object []byte) *Store {
	return New(s3.New(s3.Options{
		Region: "us-east-1", HTTPClient: oneObject{object}, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		RetryMaxAttempts: 1, BaseEndpoint: aws.String("http://localhost"), UsePathStyle: true,
	}), "bucket")
}

// FuzzDecision: whatever lies in the bucket, it is read within bounds or refused.
func FuzzDecision(f *testing.F) {
	f.Add([]byte(`{"id":"a","cluster":"c","at":1,"plan":{"claims":[{"name":"x"}]}}`), true)
	f.Add([]byte(`{`), true)
	f.Add([]byte("hello"), false)
	f.Fuzz(func(t *testing.T, data []byte, packed bool) {
		if packed {
			var out bytes.Buffer
			zip := gzip.NewWriter(&out)
			if _, err := zip.Write(data); err != nil {
				t.Fatal(err)
			}
			if err := zip.Close(); err != nil {
				t.Fatal(err)
			}
			data = out.Bytes()
		}
		store := storeOf(data)
		bounds.Check(t, len(data), func() {
			if _, err := store.Decision(t.Context(), "c", "2026-11-20", "a"); err != nil && !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v, want Invalid", err)
			}
			manifest := model.Manifest{Cluster: "c", Epoch: 1, SnapshotSeq: 1, HeadSeq: 2, SnapshotKey: snapshotKey("c", 1, 1)}
			if _, err := store.SnapshotAt(t.Context(), manifest); err == nil {
				t.Error("one object is both a base and the segment after it")
			}
		})
	})
}
