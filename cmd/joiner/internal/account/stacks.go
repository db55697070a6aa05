package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
)

// Stack is a stack as CloudFormation describes it; nil where there is none.
func (a *Account) Stack(ctx context.Context, name string) (*types.Stack, error) {
	out, err := cloudformation.NewFromConfig(a.Config).DescribeStacks(ctx,
		&cloudformation.DescribeStacksInput{StackName: &name})
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "ValidationError" &&
		strings.Contains(api.ErrorMessage(), "does not exist") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(out.Stacks) == 0 || out.Stacks[0].StackStatus == types.StackStatusDeleteComplete {
		return nil, nil
	}
	return &out.Stacks[0], nil
}

// Made reports whether a stack is there and has its resources, so that their names are its own.
func Made(stack *types.Stack) bool {
	never := []types.StackStatus{
		types.StackStatusRollbackComplete, types.StackStatusReviewInProgress, types.StackStatusCreateFailed,
		types.StackStatusRollbackFailed, types.StackStatusDeleteFailed,
	}
	return stack != nil && !slices.Contains(never, stack.StackStatus)
}

// CheckStack looks whether a stack, nil = there is none, is in a state that the next deployment can start from.
func CheckStack(name string, stack *types.Stack) check.Finding {
	f := check.Finding{Level: check.OK, Object: "stack " + name, Seen: "it does not exist"}
	if stack == nil {
		return f
	}
	f.Seen = "it is " + string(stack.StackStatus)
	remove := "aws cloudformation delete-stack --stack-name " + name
	if aws.ToBool(stack.EnableTerminationProtection) {
		remove = "aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name " +
			name + " && " + remove
	}
	why := fmt.Sprintf("; aws cloudformation describe-stack-events --stack-name %s says why", name)
	switch status := stack.StackStatus; {
	case status == types.StackStatusRollbackComplete && !aws.ToBool(stack.EnableTerminationProtection):
		f.Level, f.Seen, f.Do = check.Warn, f.Seen+": its first deployment failed"+why,
			"cdk deploy deletes it and starts again, once the cause is fixed; or "+remove
	case slices.Contains([]types.StackStatus{types.StackStatusRollbackComplete, types.StackStatusRollbackFailed,
		types.StackStatusCreateFailed, types.StackStatusDeleteFailed}, status):
		f.Level, f.Seen, f.Do = check.Fail, f.Seen+": nothing can be deployed to it"+why, remove
	case status == types.StackStatusUpdateRollbackFailed:
		f.Level, f.Seen, f.Do = check.Fail, f.Seen+why, "aws cloudformation continue-update-rollback --stack-name "+name
	case strings.HasSuffix(string(status), "_IN_PROGRESS"):
		f.Level, f.Do = check.Warn,
			"wait until it is done: aws cloudformation describe-stacks --stack-name "+name+" --query "+
				"Stacks[0].StackStatus"
	}
	return f
}
