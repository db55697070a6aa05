package ec2

import (
	"context"
	"net/http"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

const namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"

// NewHandler serves m on the wire protocol of EC2.
func NewHandler(m *Model) http.Handler {
	return wire.Query{Namespace: namespace, EC2: true, Actions: map[string]wire.QueryAction{
		"AttachVolume":              action(m, "AttachVolume", m.attachVolume),
		"CancelCapacityReservation": action(m, "CancelCapacityReservation", m.cancelCapacityReservation),
		"CopyImage":                 action(m, "CopyImage", m.copyImage),
		"CreateCapacityReservation": action(m, "CreateCapacityReservation", m.createCapacityReservation),
		"CreateFleet":               checked(m, "CreateFleet", m.createFleet, m.tryFleet),
		"CreateInterruptibleCapacityReservationAllocation": action(m, "CreateInterruptibleCapacityReservationAllocation", m.createAllocation),
		"CreateLaunchTemplate":                             checked(m, "CreateLaunchTemplate", m.createLaunchTemplate, m.tryLaunchTemplate),
		"CreateLaunchTemplateVersion":                      action(m, "CreateLaunchTemplateVersion", m.createLaunchTemplateVersion),
		"CreatePlacementGroup":                             action(m, "CreatePlacementGroup", m.createPlacementGroup),
		"CreateSecurityGroup":                              action(m, "CreateSecurityGroup", m.createSecurityGroup),
		"CreateTags":                                       action(m, "CreateTags", m.createTags),
		"CreateVolume":                                     action(m, "CreateVolume", m.createVolume),
		"DeleteLaunchTemplate":                             action(m, "DeleteLaunchTemplate", m.deleteLaunchTemplate),
		"DeletePlacementGroup":                             action(m, "DeletePlacementGroup", m.deletePlacementGroup),
		"DeleteSecurityGroup":                              action(m, "DeleteSecurityGroup", m.deleteSecurityGroup),
		"DeleteTags":                                       action(m, "DeleteTags", m.deleteTags),
		"DeleteVolume":                                     action(m, "DeleteVolume", m.deleteVolume),
		"DescribeAvailabilityZones":                        action(m, "DescribeAvailabilityZones", m.describeAvailabilityZones),
		"DescribeCapacityReservations":                     action(m, "DescribeCapacityReservations", m.describeCapacityReservations),
		"DescribeFleets":                                   action(m, "DescribeFleets", m.describeFleets),
		"DescribeImages":                                   action(m, "DescribeImages", m.describeImages),
		"DescribeInstanceAttribute":                        action(m, "DescribeInstanceAttribute", m.describeInstanceAttribute),
		"DescribeInstanceStatus":                           action(m, "DescribeInstanceStatus", m.describeInstanceStatus),
		"DescribeInstanceTypeOfferings":                    action(m, "DescribeInstanceTypeOfferings", m.describeInstanceTypeOfferings),
		"DescribeInstanceTypes":                            action(m, "DescribeInstanceTypes", m.describeInstanceTypes),
		"DescribeInstances":                                action(m, "DescribeInstances", m.describeInstances),
		"DescribeLaunchTemplateVersions":                   action(m, "DescribeLaunchTemplateVersions", m.describeLaunchTemplateVersions),
		"DescribeLaunchTemplates":                          action(m, "DescribeLaunchTemplates", m.describeLaunchTemplates),
		"DescribeNetworkInterfaces":                        action(m, "DescribeNetworkInterfaces", m.describeNetworkInterfaces),
		"DescribePlacementGroups":                          action(m, "DescribePlacementGroups", m.describePlacementGroups),
		"DescribeRegions":                                  action(m, "DescribeRegions", m.describeRegions),
		"DescribeSecurityGroups":                           action(m, "DescribeSecurityGroups", m.describeSecurityGroups),
		"DescribeSpotInstanceRequests":                     action(m, "DescribeSpotInstanceRequests", m.describeSpotInstanceRequests),
		"DescribeSpotPriceHistory":                         action(m, "DescribeSpotPriceHistory", m.describeSpotPriceHistory),
		"DescribeSubnets":                                  action(m, "DescribeSubnets", m.describeSubnets),
		"DescribeTags":                                     action(m, "DescribeTags", m.describeTags),
		"DescribeVolumes":                                  action(m, "DescribeVolumes", m.describeVolumes),
		"DescribeVpcs":                                     action(m, "DescribeVpcs", m.describeVpcs),
		"DetachVolume":                                     action(m, "DetachVolume", m.detachVolume),
		"EnableImageDeprecation":                           action(m, "EnableImageDeprecation", m.enableImageDeprecation),
		"ModifySubnetAttribute":                            action(m, "ModifySubnetAttribute", m.modifySubnetAttribute),
		"RunInstances":                                     checked(m, "RunInstances", m.runInstances, m.tryRun),
		"StopInstances":                                    action(m, "StopInstances", m.stopInstances),
		"TerminateInstances":                               action(m, "TerminateInstances", m.terminateInstances),
		"UpdateInterruptibleCapacityReservationAllocation": action(m, "UpdateInterruptibleCapacityReservationAllocation", m.updateAllocation),
	}}
}

// action wraps a method: throttling first, then decoding and rights, then
// DryRun, which says that the request would have succeeded and does nothing.
func action[I, O any](m *Model, name string, f func(context.Context, *I) (*O, error)) wire.QueryAction {
	return checked(m, name, f, func(context.Context, *I) error { return nil })
}

// checked is an action whose dry run also finds what is wrong with the request: try does, without changing anything.
func checked[I, O any](m *Model, name string, f func(context.Context, *I) (*O, error), try func(context.Context, *I) error) wire.QueryAction {
	return func(ctx context.Context, form *wire.Form) (any, error) {
		if err := m.admit(ctx, name); err != nil {
			return nil, err
		}
		dry := form.Get("DryRun") == "true"
		delete(form.Children, "DryRun")
		return wire.QueryFunc(func(ctx context.Context, in *I) (*O, error) {
			if err := m.permit(ctx, name, in); err != nil {
				return nil, err
			}
			if dry {
				if err := try(ctx, in); err != nil {
					return nil, err
				}
				return nil, wire.StatusErrorf(http.StatusPreconditionFailed, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
			}
			return f(ctx, in)
		})(ctx, form)
	}
}
