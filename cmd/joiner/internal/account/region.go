package account

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
)

// Where CDK's bootstrap stack says which version it is, and the least that the stacks take. Source: CDK developer
// guide, "Bootstrapping": the default synthesizer asks for version 6.
const (
	bootstrapParameter = "/cdk-bootstrap/hnb659fds/version"
	leastBootstrap     = 6
)

// partitionOfChina has no Pod Identity. Source: Amazon Web Services in China, "Amazon EKS".
const partitionOfChina = "aws-cn"

// Region looks whether the account has the region, and whether what Joiner uses is there; irsa = the watcher has its
// role by the cluster's OIDC provider.
func (a *Account) Region(ctx context.Context, irsa bool) ([]check.Finding, error) {
	out, err := ec2.NewFromConfig(a.Config).DescribeRegions(ctx,
		&ec2.DescribeRegionsInput{AllRegions: aws.Bool(true), RegionNames: []string{a.Config.Region}})
	if err != nil {
		return nil, err
	}
	if len(out.Regions) == 0 || aws.ToString(out.Regions[0].OptInStatus) == "not-opted-in" {
		return check.One(check.Fail, "the account has not opted in to it",
			"aws account enable-region --region-name "+a.Config.Region+", and wait some minutes"), nil
	}
	if a.Partition == partitionOfChina && !irsa {
		return check.One(check.Fail, "EKS has no Pod Identity in China, with which the watcher gets its role",
			"deploy with -c irsaProvider=PROVIDER and install the chart with serviceAccount.annotations: "+
				"docs/getting-started.md, \"IRSA instead of Pod Identity\""), nil
	}
	return check.One(check.OK, "the account has it enabled ("+aws.ToString(out.Regions[0].OptInStatus)+")", ""), nil
}

// Bootstrap looks for CDK's bootstrap stack, which holds the functions' code and the roles that cdk deploy takes on.
func (a *Account) Bootstrap(ctx context.Context) ([]check.Finding, error) {
	do := fmt.Sprintf("make prepare, or npx cdk bootstrap aws://%s/%s outside of infra/cdk", a.ID, a.Config.Region)
	out, err := ssm.NewFromConfig(a.Config).GetParameter(ctx,
		&ssm.GetParameterInput{Name: aws.String(bootstrapParameter)})
	var none *ssmtypes.ParameterNotFound
	if errors.As(err, &none) {
		return check.One(check.Fail, "CDK's bootstrap stack does not exist (SSM parameter "+bootstrapParameter+")", do),
			nil
	}
	if err != nil {
		return nil, err
	}
	text := aws.ToString(out.Parameter.Value)
	if version, err := strconv.Atoi(text); err != nil || version < leastBootstrap {
		return check.One(check.Fail,
			fmt.Sprintf("CDK's bootstrap stack is of version %s, and the stacks need %d or newer", text,
				leastBootstrap), do), nil
	}
	return check.One(check.OK, "CDK's bootstrap stack is of version "+text, ""), nil
}
