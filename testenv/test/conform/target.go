package conform

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
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

// Services are further handlers of the model, keyed by the name in the SigV4
// credential scope: "dynamodb", "ec2", …. STS, SQS and S3 are there without.
type Services map[string]http.Handler

// Each runs suite against our model, services registered with it, then against
// moto where its endpoint is set. Each target is a subtest of its own name.
func Each(t *testing.T, services Services, suite func(*testing.T, Target)) {
	t.Helper()
	t.Run("model", func(t *testing.T) {
		c, err := cloud.Start(t.Context(), cloud.Options{
			Region: Region,
			// Without a moment between, a large answer overtakes the end of its request on loopback, which the SDK
			// takes for a lost connection.
			Latency: func(string, string) time.Duration { return time.Millisecond },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		for name, handler := range services {
			c.Register(name, handler)
		}
		suite(t, target(t, "model", c.Endpoint()))
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
			Credentials:  credentials.NewStaticCredentialsProvider(cloud.DefaultAccessKeyID, cloud.DefaultSecretAccessKey, ""),
			// What configuration loaded the usual way says.
			RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
			ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
		},
		Known: known,
	}
}

// Unique returns a name that starts with prefix and was never used before, so
// that cases can share a long-lived server: prefix, a dash, ten hex digits.
func Unique(prefix string) string {
	var b [5]byte
	rand.Read(b[:]) // never fails
	return prefix + "-" + hex.EncodeToString(b[:])
}
