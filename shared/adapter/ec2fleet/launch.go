package ec2fleet

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// CodeOutcomeUnknown is the code of a launch one of whose answers was lost: whatever EC2 said to the call that repeated
// it, the first one may have launched instances.
const CodeOutcomeUnknown = "OutcomeUnknown"

// Launch sends stored request bytes. Only a broken connection is tried again here, since the token in the bytes makes
// that harmless; repeating for any other reason is the caller's protocol, not the SDK's. An error that comes after a
// lost answer is Internal, with CodeOutcomeUnknown: that a repetition is throttled or refused does not say that nothing
// was launched.
func (f *Fleet) Launch(ctx context.Context, request []byte) (model.LaunchResult, error) {
	stored, err := decodeRequest(request)
	if err != nil {
		return model.LaunchResult{}, err
	}
	f.await(ctx, stored)
	var broken atomic.Bool
	out, err := f.client.CreateFleet(ctx, stored.input(), func(o *ec2.Options) {
		o.Retryer, o.HTTPClient = onlyConnections(&broken), f.slowClient
	})
	if err != nil {
		if templateGone(sdkerr.Code(err)) {
			f.missing(stored)
		}
		if broken.Load() {
			return model.LaunchResult{}, fault.Wrap(fault.Internal, CodeOutcomeUnknown, err,
				"launch %d instances of intent %s, after an answer was lost", stored.Count, stored.Intent)
		}
		return model.LaunchResult{}, translate(err, "launch %d instances of intent %s", stored.Count, stored.Intent)
	}
	result := stored.result(out)
	if slices.ContainsFunc(result.Errors, func(e model.LaunchError) bool { return templateGone(e.Code) }) {
		f.missing(stored)
	}
	return result, nil
}

// onlyConnections tries again what broke on its way, which it notes in broken, and nothing that EC2 answered.
func onlyConnections(broken *atomic.Bool) aws.RetryerV2 {
	connection := retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		verdict := retry.RetryableConnectionError{}.IsErrorRetryable(err)
		if verdict == aws.TrueTernary {
			broken.Store(true)
		}
		return verdict
	})
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = 3
		o.Retryables = []retry.IsErrorRetryable{retry.NoRetryCanceledError{}, connection}
	})
}

// FindInstances returns the instances that carry the intent's tag and are not on their way out, by id.
func (f *Fleet) FindInstances(ctx context.Context, intent string) ([]model.Instance, error) {
	found, err := f.describe(ctx,
		types.Filter{Name: aws.String("tag:" + TagIntent), Values: []string{intent}},
		types.Filter{Name: aws.String("instance-state-name"),
			Values: []string{"pending", "running", "stopping", "stopped"}})
	return found, translate(err, "find instances of intent %s", intent)
}
