package ec2fleet

import (
	"context"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// Fleet is one account and region seen through one client. It is safe for concurrent use.
type Fleet struct {
	client *ec2.Client

	mutex sync.Mutex
	made  map[string]bool // launch templates known to exist, by name
}

// New returns a fleet.
func New(client *ec2.Client) *Fleet { return &Fleet{client: client, made: map[string]bool{}} }

// TagIntent names the launch an instance came from.
const TagIntent = "joiner.sh/intent"

// Launch sends stored request bytes. Only a broken connection is tried again here, since the token in the bytes makes that
// harmless; repeating for any other reason is the caller's protocol, not the SDK's.
func (f *Fleet) Launch(ctx context.Context, request []byte) (model.LaunchResult, error) {
	stored, err := decodeRequest(request)
	if err != nil {
		return model.LaunchResult{}, err
	}
	out, err := f.client.CreateFleet(ctx, stored.input(), func(o *ec2.Options) { o.Retryer = onlyConnections })
	if err != nil {
		if templateGone(code(err)) {
			f.forget(stored)
		}
		return model.LaunchResult{}, translate(err, "launch %d instances of intent %s", stored.Count, stored.Intent)
	}
	result := stored.result(out)
	if slices.ContainsFunc(result.Errors, func(e model.LaunchError) bool { return templateGone(e.Code) }) {
		f.forget(stored)
	}
	return result, nil
}

// onlyConnections tries again what broke on its way, and nothing that EC2 answered.
var onlyConnections = retry.NewStandard(func(o *retry.StandardOptions) {
	o.MaxAttempts = 3
	o.Retryables = []retry.IsErrorRetryable{retry.NoRetryCanceledError{}, retry.RetryableConnectionError{}}
})

// Find returns the instances that carry the intent's tag and are not on their way out, by id.
func (f *Fleet) Find(ctx context.Context, intent string) ([]model.Instance, error) {
	found, err := f.describe(ctx,
		types.Filter{Name: aws.String("tag:" + TagIntent), Values: []string{intent}},
		types.Filter{Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped"}})
	return found, translate(err, "find instances of intent %s", intent)
}

func instanceOf(described *types.Instance) model.Instance {
	instance := model.Instance{
		ID: aws.ToString(described.InstanceId), Type: string(described.InstanceType),
		CapacityType: model.OnDemand, ImageID: aws.ToString(described.ImageId), SubnetID: aws.ToString(described.SubnetId),
		Tags: map[string]string{},
	}
	if described.Placement != nil {
		instance.Zone = aws.ToString(described.Placement.AvailabilityZone)
	}
	if aws.ToString(described.SpotInstanceRequestId) != "" || described.InstanceLifecycle == types.InstanceLifecycleTypeSpot {
		instance.CapacityType = model.Spot
	}
	if described.State != nil {
		instance.State = string(described.State.Name)
	}
	if described.LaunchTime != nil {
		instance.LaunchedUnix = described.LaunchTime.Unix()
	}
	for _, tag := range described.Tags {
		instance.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return instance
}
