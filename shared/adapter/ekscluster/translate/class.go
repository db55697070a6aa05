package translate

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	"github.com/joiner-sh/joiner/shared/api/condition"
	"github.com/joiner-sh/joiner/shared/model"
)

const bytesPerGiB = 1 << 30

// Class returns an EC2NodeClass with the status last written to it. What cannot be honored is in Unsupported, and what
// is wrong with its kubelet configuration in Invalid. The drift hash leaves the cluster's certificate authority out.
func Class(class *awsv1.EC2NodeClass) model.Class {
	spec := &class.Spec
	out := model.Class{
		Name:                     class.Name,
		UID:                      string(class.UID),
		Generation:               class.Generation,
		DeletedUnix:              unix(class.DeletionTimestamp),
		Annotations:              ownAnnotations(class.Annotations),
		Family:                   string(class.AMIFamily()),
		UserData:                 value(spec.UserData),
		Role:                     spec.Role,
		InstanceProfile:          value(spec.InstanceProfile),
		Tags:                     nonEmpty(spec.Tags),
		DetailedMonitoring:       value(spec.DetailedMonitoring),
		AssociatePublicIPAddress: spec.AssociatePublicIPAddress,
		InstanceStorePolicy:      string(value(spec.InstanceStorePolicy)),
		Context:                  value(spec.Context),
		Unsupported:              storePolicy(class),
		Status:                   classStatus(class),
	}
	selectors(&out, spec)
	network(&out, spec)
	if spec.CPUOptions != nil {
		out.NestedVirtualization = value(spec.CPUOptions.NestedVirtualization)
	}
	for i := range spec.BlockDeviceMappings {
		out.BlockDevices = append(out.BlockDevices, blockDevice(&spec.BlockDeviceMappings[i]))
	}
	if m := spec.MetadataOptions; m != nil {
		out.Metadata = model.MetadataOptions{
			HTTPEndpoint:            value(m.HTTPEndpoint),
			HTTPProtocolIPv6:        value(m.HTTPProtocolIPv6),
			HTTPPutResponseHopLimit: value(m.HTTPPutResponseHopLimit),
			HTTPTokens:              value(m.HTTPTokens),
		}
	}
	out.Kubelet, out.Invalid = kubelet(spec.Kubelet, class.AMIFamily())
	if hash, err := class.Hash(""); err == nil { // the only error is kubelet's, which is reported above
		out.Hash = hash
	}
	return out
}

func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// storePolicy returns a sentence where the local disks are to become an array on instances that nothing makes one of:
// planning would count on room that is not there.
func storePolicy(class *awsv1.EC2NodeClass) []string {
	switch policy := class.Spec.InstanceStorePolicy; class.AMIFamily() {
	case awsv1.FamilyAL2, awsv1.FamilyAL2023, awsv1.FamilyBottlerocket:
		return nil
	default:
		if policy == nil {
			return nil
		}
		return []string{sentence("spec.instanceStorePolicy", *policy,
			fmt.Sprintf("amiFamily %s does not set up the disks", class.AMIFamily()),
			"Remove the field and mount them in spec.userData, or use AL2, AL2023 or Bottlerocket.")}
	}
}

func selectors(out *model.Class, spec *awsv1.EC2NodeClassSpec) {
	for i := range spec.SubnetSelectorTerms {
		t := &spec.SubnetSelectorTerms[i]
		out.Subnets = append(out.Subnets, model.SelectorTerm{Tags: nonEmpty(t.Tags), ID: t.ID})
	}
	for i := range spec.SecurityGroupSelectorTerms {
		t := &spec.SecurityGroupSelectorTerms[i]
		out.SecurityGroups = append(out.SecurityGroups,
			model.SelectorTerm{Tags: nonEmpty(t.Tags), ID: t.ID, Name: t.Name})
	}
	for i := range spec.CapacityReservationSelectorTerms {
		t := &spec.CapacityReservationSelectorTerms[i]
		out.Reservations = append(out.Reservations, model.SelectorTerm{
			Tags: nonEmpty(t.Tags), ID: t.ID, Owner: t.OwnerID, MatchCriteria: string(t.InstanceMatchCriteria),
		})
	}
	if g := spec.PlacementGroupSelector; g != nil {
		out.PlacementGroup = &model.SelectorTerm{Name: g.Name, ID: g.ID}
	}
	for i := range spec.AMISelectorTerms {
		t := &spec.AMISelectorTerms[i]
		out.Images = append(out.Images, model.SelectorTerm{
			Tags: nonEmpty(t.Tags), ID: t.ID, Name: t.Name, Owner: t.Owner, Alias: t.Alias,
			SSMParameter: t.SSMParameter,
		})
	}
}

func network(out *model.Class, spec *awsv1.EC2NodeClassSpec) {
	if spec.IPPrefixCount != nil {
		count := int64(*spec.IPPrefixCount)
		out.IPPrefixCount = &count
	}
	for _, i := range spec.NetworkInterfaces {
		out.NetworkInterfaces = append(out.NetworkInterfaces, model.NetworkInterface{
			Card: int64(i.NetworkCardIndex), Device: int64(i.DeviceIndex), Type: string(i.InterfaceType),
		})
	}
	if t := spec.ConnectionTracking; t != nil {
		out.ConnectionTracking = &model.ConnectionTracking{
			TCPEstablishedSeconds: int64(value(t.TCPEstablishedTimeout)),
			UDPStreamSeconds:      int64(value(t.UDPStreamTimeout)),
			UDPSeconds:            int64(value(t.UDPTimeout)),
		}
	}
}

func blockDevice(m *awsv1.BlockDeviceMapping) model.BlockDevice {
	out := model.BlockDevice{DeviceName: value(m.DeviceName), RootVolume: m.RootVolume}
	if v := m.EBS; v != nil {
		out.VolumeSizeGiB = gibibytes(v.VolumeSize)
		out.VolumeType = value(v.VolumeType)
		out.IOPS = value(v.IOPS)
		out.Throughput = value(v.Throughput)
		out.SnapshotID = value(v.SnapshotID)
		out.KMSKeyID = value(v.KMSKeyID)
		out.Encrypted = v.Encrypted
		out.DeleteOnTermination = v.DeleteOnTermination
		out.InitializationRate = int64(value(v.VolumeInitializationRate))
	}
	return out
}

// gibibytes rounds up, as EC2 sells whole GiB only; 0 for none and for what does not fit.
func gibibytes(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	bytes, ok := count(*q, 0, roundUp)
	if !ok || bytes <= 0 {
		return 0
	}
	return (bytes-1)/bytesPerGiB + 1
}

func classStatus(class *awsv1.EC2NodeClass) model.ClassStatus {
	out := model.ClassStatus{InstanceProfile: class.Status.InstanceProfile}
	for _, s := range class.Status.Subnets {
		out.Subnets = append(out.Subnets, model.Subnet{ID: s.ID, Zone: s.Zone, ZoneID: s.ZoneID})
	}
	for _, g := range class.Status.SecurityGroups {
		out.SecurityGroups = append(out.SecurityGroups, model.SecurityGroup{ID: g.ID, Name: g.Name})
	}
	for _, a := range class.Status.AMIs {
		out.Images = append(out.Images, model.Image{
			ID: a.ID, Name: a.Name, Deprecated: a.Deprecated, Requirements: nodeRequirements(a.Requirements),
		})
	}
	for _, r := range class.Status.CapacityReservations {
		reservation := model.Reservation{
			ID: r.ID, InstanceType: r.InstanceType, Zone: r.AvailabilityZone, Owner: r.OwnerID,
			MatchCriteria: string(r.InstanceMatchCriteria),
			Block:         r.ReservationType == awsv1.ReservationCapacityBlock, Interruptible: r.Interruptible,
		}
		if r.EndTime != nil {
			reservation.EndUnix = r.EndTime.Unix()
		}
		out.Reservations = append(out.Reservations, reservation)
	}
	dependents := awsv1.Conditions(true).Dependents // what others may have left beside them says nothing
	for _, c := range class.Status.Conditions {
		if c.Type == condition.Ready {
			out.ObservedGeneration = c.ObservedGeneration
			continue
		}
		if c.Status != metav1.ConditionTrue && slices.Contains(dependents, c.Type) {
			out.Problems = append(out.Problems, model.ClassProblem{
				Condition: c.Type, Reason: c.Reason, Message: c.Message, Unknown: c.Status == metav1.ConditionUnknown,
			})
		}
	}
	return out
}
