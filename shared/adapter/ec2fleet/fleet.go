package ec2fleet

import (
	"context"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Fleet is one account and region seen through one client. It is safe for concurrent use.
type Fleet struct {
	client     *ec2.Client
	slowClient ec2.HTTPClient // that launches go by

	now func() time.Time

	mutex  sync.Mutex
	made   map[string]time.Time // when launch templates that were seen to be there were last used, by name
	born   map[string]time.Time // when this process made launch templates, by name, lately
	unseen map[string]bool      // launch templates that were made and that EC2 did not know
}

// New returns a fleet. Launches go over connections of their own.
func New(client *ec2.Client) *Fleet {
	f := &Fleet{client: client, now: time.Now, made: map[string]time.Time{}, born: map[string]time.Time{}, unseen: map[string]bool{}}
	if client != nil {
		f.slowClient = withoutTimeout(client.Options().HTTPClient)
	}
	return f
}

// withoutTimeout returns a client that waits for an answer for as long as its call may last: an instant fleet is answered once all of it was
// tried, which takes longer than any other call. A client that is not the SDK's own stays what it is.
func withoutTimeout(client ec2.HTTPClient) ec2.HTTPClient {
	if own, ok := client.(*awshttp.BuildableClient); ok {
		return own.WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = 0 })
	}
	return client
}

// TagIntent names the launch an instance came from.
const TagIntent = "joiner.sh/intent"

// CodeOutcomeUnknown is the code of a launch one of whose answers was lost: whatever EC2 said to the call that repeated it, the first
// one may have launched instances.
const CodeOutcomeUnknown = "OutcomeUnknown"

// Launch sends stored request bytes. Only a broken connection is tried again here, since the token in the bytes makes that
// harmless; repeating for any other reason is the caller's protocol, not the SDK's. An error that comes after a lost answer is
// Internal, with CodeOutcomeUnknown: that a repetition is throttled or refused does not say that nothing was launched.
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
			return model.LaunchResult{}, fault.Wrap(fault.Internal, CodeOutcomeUnknown, err, "launch %d instances of intent %s, after an answer was lost", stored.Count, stored.Intent)
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
		types.Filter{Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped"}})
	return found, translate(err, "find instances of intent %s", intent)
}

func instanceOf(described *types.Instance) model.Instance {
	instance := model.Instance{
		ID: aws.ToString(described.InstanceId), Type: string(described.InstanceType),
		CapacityType: capacityTypeOf(described), ImageID: aws.ToString(described.ImageId), SubnetID: aws.ToString(described.SubnetId),
		Reservation: aws.ToString(described.CapacityReservationId), SecurityGroups: groupsOf(described), Tags: map[string]string{},
	}
	if p := described.Placement; p != nil {
		instance.Zone = aws.ToString(p.AvailabilityZone)
		instance.PlacementGroup = aws.ToString(p.GroupId)
		instance.Partition = int64(aws.ToInt32(p.PartitionNumber))
	}
	if described.State != nil {
		instance.State = string(described.State.Name)
	}
	if described.StateReason != nil {
		instance.StateReason = aws.ToString(described.StateReason.Code)
	}
	if described.LaunchTime != nil {
		instance.LaunchedUnix = described.LaunchTime.Unix()
	}
	if described.IamInstanceProfile != nil {
		arn := aws.ToString(described.IamInstanceProfile.Arn) // arn:aws:iam::<account>:instance-profile/<path>/<name>
		instance.Profile = arn[strings.LastIndexByte(arn, '/')+1:]
	}
	for _, tag := range described.Tags {
		instance.Tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return instance
}

// capacityTypeOf tells how an instance was bought. One that happens to run in an open reservation was bought on demand:
// reserved is what may run in its reservation only.
func capacityTypeOf(described *types.Instance) string {
	spec := described.CapacityReservationSpecification
	switch {
	case aws.ToString(described.SpotInstanceRequestId) != "" || described.InstanceLifecycle == types.InstanceLifecycleTypeSpot:
		return model.Spot
	case aws.ToString(described.CapacityReservationId) != "" && spec != nil &&
		spec.CapacityReservationPreference == types.CapacityReservationPreferenceCapacityReservationsOnly:
		return model.Reserved
	}
	return model.OnDemand
}

// groupsOf returns the security groups of the primary network interface, sorted.
func groupsOf(described *types.Instance) []string {
	groups := described.SecurityGroups
	for i := range described.NetworkInterfaces {
		n := &described.NetworkInterfaces[i]
		if a := n.Attachment; a != nil && aws.ToInt32(a.DeviceIndex) == 0 && aws.ToInt32(a.NetworkCardIndex) == 0 {
			groups = n.Groups
		}
	}
	var ids []string
	for _, group := range groups {
		ids = append(ids, aws.ToString(group.GroupId))
	}
	sort.Strings(ids)
	return slices.Compact(ids)
}
