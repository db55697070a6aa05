package ssmswitch

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/fault"
)

func TestParameter(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		switch {
		case r.Header.Get("X-Amz-Target") != "AmazonSSM.GetParameter":
			http.Error(w, "{}", http.StatusBadRequest)
		case strings.Contains(string(body), `"/joiner/stop"`):
			io.WriteString(w, `{"Parameter": {"Name": "/joiner/stop", "Type": "String", "Value": "everything"}}`)
		default:
			w.Header().Set("X-Amzn-ErrorType", "ParameterNotFound")
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"__type": "ParameterNotFound"}`)
		}
	}))
	defer server.Close()
	parameters := New(ssm.New(ssm.Options{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}))
	if got, err := parameters.Parameter(t.Context(), "/joiner/stop"); err != nil || got != "everything" {
		t.Errorf("it says %q: %v", got, err)
	}
	if _, err := parameters.Parameter(t.Context(), "/joiner/other"); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "/joiner/other") {
		t.Errorf("error %v, want NotFound that names it", err)
	}
}
