package preflight

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
)

// Where CDK's bootstrap stack says which version it is, and the least that the stacks take. Source: CDK developer guide, "Bootstrapping":
// the default synthesizer asks for version 6.
const (
	bootstrapParameter = "/cdk-bootstrap/hnb659fds/version"
	leastBootstrap     = 6
)

// partitionOfChina has no Pod Identity. Source: Amazon Web Services in China, "Amazon EKS".
const partitionOfChina = "aws-cn"

// region looks whether the account has the region, and whether what Joiner uses is there.
func (s *Checker) region(ctx context.Context) ([]doctor.Finding, error) {
	out, err := ec2.NewFromConfig(s.config).DescribeRegions(ctx, &ec2.DescribeRegionsInput{AllRegions: aws.Bool(true), RegionNames: []string{s.config.Region}})
	if err != nil {
		return nil, err
	}
	if len(out.Regions) == 0 || aws.ToString(out.Regions[0].OptInStatus) == "not-opted-in" {
		return one(doctor.Fail, "the account has not opted in to it", "aws account enable-region --region-name "+s.config.Region+", and wait some minutes"), nil
	}
	if s.partition == partitionOfChina && !s.plan.IRSA {
		return one(doctor.Fail, "EKS has no Pod Identity in China, with which the watcher gets its role",
			"deploy with -c irsaProvider=PROVIDER and install the chart with serviceAccount.annotations: docs/getting-started.md, \"IRSA instead of Pod Identity\""), nil
	}
	return one(doctor.OK, "the account has it enabled ("+aws.ToString(out.Regions[0].OptInStatus)+")", ""), nil
}

// bootstrap looks for CDK's bootstrap stack, which holds the functions' code and the roles that cdk deploy takes on.
func (s *Checker) bootstrap(ctx context.Context) ([]doctor.Finding, error) {
	do := fmt.Sprintf("make prepare, or npx cdk bootstrap aws://%s/%s outside of infra/cdk", s.account, s.config.Region)
	out, err := ssm.NewFromConfig(s.config).GetParameter(ctx, &ssm.GetParameterInput{Name: aws.String(bootstrapParameter)})
	var none *ssmtypes.ParameterNotFound
	if errors.As(err, &none) {
		return one(doctor.Fail, "CDK's bootstrap stack does not exist (SSM parameter "+bootstrapParameter+")", do), nil
	}
	if err != nil {
		return nil, err
	}
	text := aws.ToString(out.Parameter.Value)
	if version, err := strconv.Atoi(text); err != nil || version < leastBootstrap {
		return one(doctor.Fail, fmt.Sprintf("CDK's bootstrap stack is of version %s, and the stacks need %d or newer", text, leastBootstrap), do), nil
	}
	return one(doctor.OK, "CDK's bootstrap stack is of version "+text, ""), nil
}
