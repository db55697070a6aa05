// Package once is how a test calls a model one time and no more: for tests that count calls, or that want an error as the model gave
// it and not as it was after retries.
//
// Without retries a test meets what the SDK's retries hide. The SDK wraps the body of a request in a reader whose WriteTo returns
// io.EOF as soon as the head of the response is there. net/http looks for a rest of the body through that WriteTo, takes the EOF for a
// failed write and closes the connection under the rest of the response: "use of closed network connection". It takes a response of more
// than some kilobytes that is faster than the end of its request, as over loopback. See https://github.com/aws/aws-sdk-go-v2/issues/2737;
// since then the SDK tries again.
package once

import (
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Config is for clients of the model at url: one attempt a call, and no connection that is closed under its response.
func Config(url string) aws.Config {
	return aws.Config{
		Region: "us-west-2", BaseEndpoint: aws.String(url), HTTPClient: Client{}, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}
}

// Client sends request bodies that can be read and no more.
type Client struct{}

// Do is http.DefaultClient's.
func (Client) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return http.DefaultClient.Do(r)
}
