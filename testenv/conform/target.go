package conform

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// MotoEndpointVariable names the environment variable with the URL of a
// running moto_server. Unset, suites run against the model alone.
const MotoEndpointVariable = "JOINER_MOTO_ENDPOINT"

// Region is the region of every target.
const Region = "us-west-2"

// Target is one implementation a suite runs against.
type Target struct {
	Name   string     // "model" or "moto"
	Config aws.Config // endpoint, region and credentials; give it to any SDK client
	Known  Known      // what Name is expected to fail
}

// Services are the handlers of the model, keyed by the name in the SigV4
// credential scope: "sqs", "dynamodb", "ec2", ….
type Services map[string]http.Handler

// Each runs suite against the model made of services, then against moto where
// its endpoint is set. Each target is a subtest of its own name.
func Each(t *testing.T, services Services, suite func(*testing.T, Target)) {
	t.Helper()
	t.Run("model", func(t *testing.T) {
		suite(t, target(t, "model", startModel(t, services)))
	})
	if endpoint := os.Getenv(MotoEndpointVariable); endpoint != "" {
		t.Run("moto", func(t *testing.T) {
			suite(t, target(t, "moto", endpoint))
		})
	}
}

func target(t *testing.T, name, endpoint string) Target {
	t.Helper()
	known, err := KnownDifferences(name)
	if err != nil {
		t.Fatal(err)
	}
	return Target{
		Name: name,
		Config: aws.Config{
			Region:       Region,
			BaseEndpoint: aws.String(endpoint),
			Credentials:  credentials.NewStaticCredentialsProvider("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""),
		},
		Known: known,
	}
}

func startModel(t *testing.T, services Services) string {
	t.Helper()
	if len(services) != 1 {
		t.Fatalf("conform: %d services, want 1", len(services))
	}
	for _, handler := range services {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		return server.URL
	}
	return ""
}

// Unique returns a name that starts with prefix and was never used before, so
// that cases can share a long-lived server: prefix, a dash, ten hex digits.
func Unique(prefix string) string {
	var b [5]byte
	rand.Read(b[:]) // never fails
	return prefix + "-" + hex.EncodeToString(b[:])
}
