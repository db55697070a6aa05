package ec2

import (
	"reflect"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// overlay lays a request over the data of its launch template. What it says takes the place of what the template says: as a whole, or
// member by member, as EC2 is read.
func (m *Model) overlay(data *LaunchTemplateData, in *runInstancesInput) {
	join := m.reads.Takes(reading.RunInstancesParameters)
	lay(&data.UserData, in.UserData)
	lay(&data.KeyName, in.KeyName)
	lay(&data.EbsOptimized, in.EbsOptimized)
	lay(&data.DisableAPITermination, in.DisableAPITermination)
	lay(&data.IamInstanceProfile, in.IamInstanceProfile) // named in one way or the other
	layStruct(&data.CapacityReservation, in.CapacityReservation, join)
	layStruct(&data.CPUOptions, in.CPUOptions, join)
	layStruct(&data.EnclaveOptions, in.EnclaveOptions, join)
	layStruct(&data.InstanceMarketOptions, in.InstanceMarketOptions, join)
	layStruct(&data.MetadataOptions, in.MetadataOptions, join)
	layStruct(&data.Monitoring, in.Monitoring, join)
	layStruct(&data.Placement, in.Placement, join)
	if len(in.SecurityGroupIDs) > 0 {
		data.SecurityGroupIDs = in.SecurityGroupIDs
	}
	if len(in.NetworkInterfaces) > 0 {
		data.NetworkInterfaces = layInterfaces(data.NetworkInterfaces, in.NetworkInterfaces, join)
	}
	if len(in.TagSpecifications) > 0 && !m.reads.Takes(reading.RunInstancesTags) {
		data.TagSpecifications = nil // the request's are looked at beside them
	}
}

// lay puts a value in the place of another, unless there is none.
func lay[T comparable](under *T, over T) {
	var none T
	if over != none {
		*under = over
	}
}

// layStruct puts a structure in the place of another, or its members in the place of the other's.
func layStruct[T any](under **T, over *T, join bool) {
	switch {
	case over == nil:
	case join && *under != nil:
		joined := joinStructs(**under, *over)
		*under = &joined
	default:
		*under = over
	}
}

// joinStructs returns a structure with the members of over, and those of under where over says nothing.
func joinStructs[T any](under, over T) T {
	out, said := reflect.ValueOf(&under).Elem(), reflect.ValueOf(over)
	for i := range out.NumField() {
		if !said.Field(i).IsZero() {
			out.Field(i).Set(said.Field(i))
		}
	}
	return under
}

// layInterfaces puts interfaces in the place of others, or joins those of one place on one card.
func layInterfaces(under, over []NetworkInterfaceSpec, join bool) []NetworkInterfaceSpec {
	if !join {
		return over
	}
	out := append([]NetworkInterfaceSpec(nil), under...)
next:
	for _, said := range over {
		for i := range out {
			if value(out[i].DeviceIndex) == value(said.DeviceIndex) && value(out[i].NetworkCardIndex) == value(said.NetworkCardIndex) {
				out[i] = joinStructs(out[i], said)
				continue next
			}
		}
		out = append(out, said)
	}
	return out
}
