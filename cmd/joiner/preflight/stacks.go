package preflight

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

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
)

// regionStack is the name of the region's stack.
const regionStack = "joiner"

// clusterStack is the name of a cluster's stack: a stack's name has no _.
func clusterStack(cluster string) string {
	return "joiner-cluster-" + strings.ReplaceAll(cluster, "_", "-")
}

// stack is a stack as CloudFormation describes it; nil where there is none.
func (s *Checker) stack(ctx context.Context, name string) (*types.Stack, error) {
	out, err := cloudformation.NewFromConfig(s.config).DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "ValidationError" && strings.Contains(api.ErrorMessage(), "does not exist") {
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

// made reports whether a stack is there and has its resources, so that their names are its own.
func made(stack *types.Stack) bool {
	never := []types.StackStatus{types.StackStatusRollbackComplete, types.StackStatusReviewInProgress, types.StackStatusCreateFailed, types.StackStatusRollbackFailed, types.StackStatusDeleteFailed}
	return stack != nil && !slices.Contains(never, stack.StackStatus)
}

// stacks looks whether stacks of Joiner's are in a state that the next deployment cannot start from.
func (s *Checker) stacks(ctx context.Context) ([]doctor.Finding, error) {
	var found []doctor.Finding
	for _, name := range []string{regionStack, clusterStack(s.plan.Cluster)} {
		if name == regionStack && s.plan.Foreign {
			continue
		}
		stack, err := s.stack(ctx, name)
		if err != nil {
			return found, err
		}
		found = append(found, checkStack(name, stack))
	}
	return found, nil
}

func checkStack(name string, stack *types.Stack) doctor.Finding {
	f := doctor.Finding{Level: doctor.OK, Object: "stack " + name, Seen: "it does not exist"}
	if stack == nil {
		return f
	}
	f.Seen = "it is " + string(stack.StackStatus)
	remove := "aws cloudformation delete-stack --stack-name " + name
	if aws.ToBool(stack.EnableTerminationProtection) {
		remove = "aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name " + name + " && " + remove
	}
	why := fmt.Sprintf("; aws cloudformation describe-stack-events --stack-name %s says why", name)
	switch status := stack.StackStatus; {
	case status == types.StackStatusRollbackComplete && !aws.ToBool(stack.EnableTerminationProtection):
		f.Level, f.Seen, f.Do = doctor.Warn, f.Seen+": its first deployment failed"+why, "cdk deploy deletes it and starts again, once the cause is fixed; or "+remove
	case slices.Contains([]types.StackStatus{types.StackStatusRollbackComplete, types.StackStatusRollbackFailed, types.StackStatusCreateFailed, types.StackStatusDeleteFailed}, status):
		f.Level, f.Seen, f.Do = doctor.Fail, f.Seen+": nothing can be deployed to it"+why, remove
	case status == types.StackStatusUpdateRollbackFailed:
		f.Level, f.Seen, f.Do = doctor.Fail, f.Seen+why, "aws cloudformation continue-update-rollback --stack-name "+name
	case strings.HasSuffix(string(status), "_IN_PROGRESS"):
		f.Level, f.Do = doctor.Warn, "wait until it is done: aws cloudformation describe-stacks --stack-name "+name+" --query Stacks[0].StackStatus"
	}
	return f
}
