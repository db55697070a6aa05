package boot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// AWS returns the configuration that a function's environment says: Lambda gives it region and keys there for as long as it lives.
// The SDK's chain of profiles and of roles of pods and instances would bring the clients of four services that no function uses.
// It exits where there is no region.
func AWS() aws.Config {
	config := aws.Config{
		Region:     cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
		HTTPClient: HTTPClient(),
		Credentials: credentials.NewStaticCredentialsProvider(
			os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN"),
		),
		ConfigSources: []any{environment{}},
	}
	if endpoint := os.Getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		config.BaseEndpoint = &endpoint
	}
	return MustConfig(config, nil)
}

// MustConfig gives every call made with a configuration an end some time before its context's. It exits where err is one, and where
// there is no region.
func MustConfig(config aws.Config, err error) aws.Config {
	if err == nil && config.Region == "" {
		err = errors.New("no region; set AWS_REGION")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "aws configuration:", err)
		os.Exit(2)
	}
	config.APIOptions = append(config.APIOptions, withDeadline)
	return config
}

// environment is what clients ask of where they find their services. Source: AWS SDKs and Tools reference guide, "Service-specific
// endpoints" and "Dual-stack and FIPS endpoints".
type environment struct{}

// GetServiceBaseEndpoint returns the endpoint of one service, such as "Secrets Manager".
func (environment) GetServiceBaseEndpoint(_ context.Context, service string) (string, bool, error) {
	endpoint := os.Getenv("AWS_ENDPOINT_URL_" + strings.ReplaceAll(strings.ToUpper(service), " ", "_"))
	return endpoint, endpoint != "", nil
}

// GetUseFIPSEndpoint says whether endpoints are to be those with validated cryptography.
func (environment) GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error) {
	switch on, said, err := truth("AWS_USE_FIPS_ENDPOINT"); {
	case on:
		return aws.FIPSEndpointStateEnabled, true, nil
	case said:
		return aws.FIPSEndpointStateDisabled, true, nil
	default:
		return aws.FIPSEndpointStateUnset, false, err
	}
}

// GetUseDualStackEndpoint says whether endpoints are to be reachable by IPv6, too.
func (environment) GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error) {
	switch on, said, err := truth("AWS_USE_DUALSTACK_ENDPOINT"); {
	case on:
		return aws.DualStackEndpointStateEnabled, true, nil
	case said:
		return aws.DualStackEndpointStateDisabled, true, nil
	default:
		return aws.DualStackEndpointStateUnset, false, err
	}
}

// truth reads a variable that is true, false or not said.
func truth(name string) (on, said bool, err error) {
	switch text := os.Getenv(name); {
	case text == "":
		return false, false, nil
	case strings.EqualFold(text, "true"):
		return true, true, nil
	case strings.EqualFold(text, "false"):
		return false, true, nil
	default:
		return false, false, fmt.Errorf("%s is %q; give true or false", name, text)
	}
}
