package boot

import (
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// A function's configuration comes to the same keys, regions and endpoints as the SDK's own chain in the same environment.
func TestAWSIsWhatTheStandardChainIsInAFunction(t *testing.T) {
	for name, environment := range map[string]map[string]string{
		"Lambda's":          {"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token"},
		"default region":    {"AWS_DEFAULT_REGION": "us-east-2"},
		"endpoint":          {"AWS_REGION": "us-west-2", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
		"one service's":     {"AWS_REGION": "us-west-2", "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:2"},
		"FIPS":              {"AWS_REGION": "us-gov-west-1", "AWS_USE_FIPS_ENDPOINT": "true"},
		"dual stack":        {"AWS_REGION": "us-west-2", "AWS_USE_DUALSTACK_ENDPOINT": "TRUE"},
		"neither":           {"AWS_REGION": "us-west-2", "AWS_USE_FIPS_ENDPOINT": "false", "AWS_USE_DUALSTACK_ENDPOINT": "false"},
		"another partition": {"AWS_REGION": "cn-north-1"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, unset := range []string{
				"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_SQS", "AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_PROFILE",
			} {
				t.Setenv(unset, "")
			}
			t.Setenv("AWS_ACCESS_KEY_ID", "some")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "thing")
			t.Setenv("AWS_CONFIG_FILE", "/dev/null")
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
			for variable, value := range environment {
				t.Setenv(variable, value)
			}
			want, err := awsconfig.LoadDefaultConfig(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := AWS()
			if got.Region != want.Region {
				t.Errorf("region %q, want %q", got.Region, want.Region)
			}
			gotKeys, gotErr := got.Credentials.Retrieve(t.Context())
			wantKeys, wantErr := want.Credentials.Retrieve(t.Context())
			if gotErr != nil || wantErr != nil || gotKeys.AccessKeyID != wantKeys.AccessKeyID || gotKeys.SecretAccessKey != wantKeys.SecretAccessKey || gotKeys.SessionToken != wantKeys.SessionToken {
				t.Errorf("keys %+v %v, want %+v %v", gotKeys, gotErr, wantKeys, wantErr)
			}
			for service, endpoints := range map[string][2]string{
				"DynamoDB": {dynamoAt(t, got), dynamoAt(t, want)}, "SQS": {sqsAt(t, got), sqsAt(t, want)},
			} {
				if endpoints[0] != endpoints[1] {
					t.Errorf("%s at %s, want %s", service, endpoints[0], endpoints[1])
				}
			}
		})
	}
}

func dynamoAt(t *testing.T, config aws.Config) string {
	t.Helper()
	o := dynamodb.NewFromConfig(config).Options()
	at, err := o.EndpointResolverV2.ResolveEndpoint(t.Context(), dynamodb.EndpointParameters{
		Region: &o.Region, Endpoint: o.BaseEndpoint, UseFIPS: aws.Bool(o.EndpointOptions.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled),
		UseDualStack: aws.Bool(o.EndpointOptions.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled),
	})
	return located(t, at.URI, err)
}

func sqsAt(t *testing.T, config aws.Config) string {
	t.Helper()
	o := sqs.NewFromConfig(config).Options()
	at, err := o.EndpointResolverV2.ResolveEndpoint(t.Context(), sqs.EndpointParameters{
		Region: &o.Region, Endpoint: o.BaseEndpoint, UseFIPS: aws.Bool(o.EndpointOptions.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled),
		UseDualStack: aws.Bool(o.EndpointOptions.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled),
	})
	return located(t, at.URI, err)
}

func located(t *testing.T, at url.URL, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return at.String()
}
