package ssmswitch

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
)

// Parameters are an account and region's. They keep nothing in memory.
type Parameters struct{ client *ssm.Client }

// New returns the parameters a client reads.
func New(client *ssm.Client) Parameters { return Parameters{client} }

// Parameter returns the value of one. NotFound where there is none of that name.
func (p Parameters) Parameter(ctx context.Context, name string) (string, error) {
	out, err := p.client.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	switch {
	case sdkerr.Code(err) == "ParameterNotFound":
		return "", fault.Wrap(fault.NotFound, "ParameterNotFound", err, "read parameter %s", name)
	case err != nil:
		return "", fault.Wrap(fault.Internal, "", err, "read parameter %s", name)
	case out.Parameter == nil || out.Parameter.Value == nil:
		return "", fault.New(fault.Internal, "", "read parameter %s: the answer has no value", name)
	}
	return aws.ToString(out.Parameter.Value), nil
}
