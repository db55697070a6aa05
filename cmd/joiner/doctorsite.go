package main

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
	"github.com/joiner-sh/joiner/cmd/joiner/preflight"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/model"
)

// site is the account, or one of its clusters, as joiner preflight looks at it.
func (p *target) site(ctx context.Context, plan preflight.Plan, region string) (*preflight.Checker, error) {
	config := p.at.config.Copy()
	if region != "" {
		config.Region = region
	}
	return preflight.New(ctx, config, plan, func(ctx context.Context, reg model.Registration) (*ekscluster.Client, error) {
		sites := adoptClients{flags: p.reach, config: config}
		return sites.open(ctx, reg)
	})
}

// ofAccount is a check of preflight's that still counts where the installation is.
func (p *target) ofAccount(check func(*preflight.Checker, context.Context) ([]doctor.Finding, error)) func(context.Context) ([]doctor.Finding, error) {
	return func(ctx context.Context) ([]doctor.Finding, error) {
		site, err := p.site(ctx, preflight.Plan{}, "")
		if err != nil {
			return nil, err
		}
		return check(site, ctx)
	}
}

// key looks at the key that encrypts the table, where it is people's own: it encrypts all that the installation stores.
func (p *target) key(ctx context.Context) ([]doctor.Finding, error) {
	out, err := dynamodb.NewFromConfig(p.at.config).DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &p.at.Table})
	if err != nil {
		return nil, err
	}
	if out.Table.SSEDescription == nil || aws.ToString(out.Table.SSEDescription.KMSMasterKeyArn) == "" {
		return one(doctor.OK, "stored data is encrypted with AWS's own keys", ""), nil
	}
	site, err := p.site(ctx, preflight.Plan{}, "")
	if err != nil {
		return nil, err
	}
	return site.KMSKey(ctx, aws.ToString(out.Table.SSEDescription.KMSMasterKeyArn))
}

// ofCluster is the site of a cluster, with what of its deployment decides: whether functions come by a relay, or from within a VPC.
func (p *target) ofCluster(ctx context.Context, reg model.Registration) (*preflight.Checker, error) {
	plan := preflight.Plan{Cluster: reg.Cluster, Relay: reg.RelayURL != ""}
	if function := p.at.Functions["provision"]; function != "" && !plan.Relay {
		out, err := lambda.NewFromConfig(p.at.config).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &function})
		var none *lambdatypes.ResourceNotFoundException
		switch {
		case errors.As(err, &none): // then it is in no VPC; that it does nothing is said by when it was last at work
		case err != nil:
			return nil, err
		case out.VpcConfig != nil:
			plan.Subnets = out.VpcConfig.SubnetIds
		}
	}
	return p.site(ctx, plan, reg.Region)
}

// endpoint looks whether functions may reach the API server by what EKS says of its endpoint.
func (p *target) endpoint(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	site, err := p.ofCluster(ctx, reg)
	if err != nil {
		return nil, err
	}
	return site.Endpoint(ctx)
}

// left looks at what Karpenter left in the cluster.
func (p *target) left(ctx context.Context, reg model.Registration) ([]doctor.Finding, error) {
	site, err := p.site(ctx, preflight.Plan{Cluster: reg.Cluster}, reg.Region)
	if err != nil {
		return nil, err
	}
	sites := adoptClients{flags: p.reach, config: p.at.config}
	client, err := sites.open(ctx, reg)
	if err != nil {
		return nil, err
	}
	return site.Left(ctx, client)
}
