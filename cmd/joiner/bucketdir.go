package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// dirBucket is a bucket's name where its objects are files.
const dirBucket = "files"

// clientOfDir returns a client that reads the files of a folder, as "aws s3 sync" makes them, as the objects of dirBucket. It reads single
// objects and no lists.
func clientOfDir(dir string) *s3.Client {
	return s3.New(s3.Options{
		Region: "us-east-1", HTTPClient: dirObjects{dir}, Credentials: credentials.NewStaticCredentialsProvider("none", "none", ""),
		BaseEndpoint: aws.String("http://files.invalid"), UsePathStyle: true, RetryMaxAttempts: 1,
	})
}

type dirObjects struct{ dir string }

func (d dirObjects) Do(request *http.Request) (*http.Response, error) {
	key := filepath.FromSlash(strings.TrimPrefix(request.URL.Path, "/"+dirBucket+"/"))
	answer := func(status int, body []byte) *http.Response {
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
			Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		}
	}
	if request.Method != http.MethodGet || !filepath.IsLocal(key) {
		return answer(http.StatusBadRequest, nil), nil
	}
	data, err := os.ReadFile(filepath.Join(d.dir, key))
	if os.IsNotExist(err) {
		return answer(http.StatusNotFound, []byte("<Error><Code>NoSuchKey</Code></Error>")), nil
	}
	if err != nil {
		return nil, err
	}
	return answer(http.StatusOK, data), nil
}
