package ec2fleet

import (
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// instancesAPage is the most that EC2 takes: lists that are not asked for in pages may be throttled or time out (Amazon
// EC2 API reference, DescribeInstances; "Query requests", pagination).
const instancesAPage = 1000

// describe returns the instances that pass all the filters, by id, each once: pages may overlap.
func (f *Fleet) describe(ctx context.Context, filters ...types.Filter) ([]model.Instance, error) {
	pages := ec2.NewDescribeInstancesPaginator(f.client,
		&ec2.DescribeInstancesInput{Filters: filters, MaxResults: aws.Int32(instancesAPage)})
	var found []model.Instance
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, reservation := range page.Reservations {
			for i := range reservation.Instances {
				found = append(found, instanceOf(&reservation.Instances[i]))
			}
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].ID < found[j].ID })
	return slices.CompactFunc(found, func(a, b model.Instance) bool { return a.ID == b.ID }), nil
}

func instanceOf(described *types.Instance) model.Instance {
	instance := model.Instance{
		ID: aws.ToString(described.InstanceId), Type: string(described.InstanceType),
		CapacityType: capacityTypeOf(described), ImageID: aws.ToString(described.ImageId),
		SubnetID:    aws.ToString(described.SubnetId),
		Reservation: aws.ToString(described.CapacityReservationId), SecurityGroups: groupsOf(described),
		Tags: map[string]string{},
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
	case aws.ToString(described.SpotInstanceRequestId) != "",
		described.InstanceLifecycle == types.InstanceLifecycleTypeSpot:
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
