// Command webhook is the function that answers an API server's questions before it stores a NodePool, an EC2NodeClass or a
// NodeClaim made by hand, for clusters where the watcher's own endpoint is not wanted. It is optional and off by default. What it
// says is core/admit's; this wires it.
//
// An API server can prove to no outside webhook who it is, so that a secret in the path is all there is: the function may read the
// region's instance catalog and that secret, and nothing else, writes nothing and calls nothing. Whoever learns the secret can
// have manifests evaluated, at the installation's cost. Two secrets are good at a time, so that they can be changed.
//
// Settings come from the environment:
//
//	JOINER_BUCKET             with the catalogs; required
//	JOINER_WEBHOOK_PARAMETER  name of the SSM parameter (SecureString) with one secret or two, separated by a comma, each as it is or as
//	                          sha256:DIGEST, which is of no use to who reads the parameter: /joiner/webhook
//	JOINER_ACCOUNT            whose catalog is read where the path names no account
//
// The URL is https://HOST/SECRET, or https://HOST/SECRET/ACCOUNT/REGION for a cluster of another account or region.
package main

import (
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/flow/review"
	"github.com/joiner-sh/joiner/shared/model"
)

type settings struct {
	Bucket    string `env:"JOINER_BUCKET,required"`
	Parameter string `env:"JOINER_WEBHOOK_PARAMETER" envDefault:"/joiner/webhook"`
	Account   string `env:"JOINER_ACCOUNT"`
	boot.InstanceSettings
}

// patience is how long the catalog is waited for. API servers wait two seconds in all.
const patience = 1200 * time.Millisecond

func main() {
	var s settings
	config := boot.Start(&s)
	flow := &review.Flow{
		Catalogs:  s3catalog.New(s3.NewFromConfig(config), s.Bucket, s3catalog.Settings{}),
		Offerings: offering.Settings{MemoryOverheadPPM: int64(s.Overhead), ReservedENIs: int64(s.ReservedENIs), NodeClassCEL: s.NodeClassCEL},
		Patience:  patience, Now: time.Now,
	}
	lambda.Start((&handler{
		flow: flow, secrets: newSecrets(ssm.NewFromConfig(config), s.Parameter, time.Now), logger: boot.Logger("webhook"),
		own: model.Registration{Account: s.Account, Region: config.Region},
	}).handle)
}
