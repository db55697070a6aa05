package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/joiner-sh/joiner/shared/boot"
)

// awsChain is the configuration of the SDK's standard chain: environment, profile, the role of the pod's service
// account.
func awsChain(ctx context.Context) aws.Config {
	return boot.MustConfig(awsconfig.LoadDefaultConfig(ctx, awsconfig.WithHTTPClient(boot.HTTPClient())))
}
