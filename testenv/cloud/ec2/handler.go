package ec2

import (
	"context"
	"net/http"

	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

const namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"

// NewHandler serves m on the wire protocol of EC2.
func NewHandler(m *Model) http.Handler {
	return wire.Query{Namespace: namespace, EC2: true, Actions: map[string]wire.QueryAction{
		"CreateFleet":                    action(m, "CreateFleet", m.createFleet),
		"CreateLaunchTemplate":           action(m, "CreateLaunchTemplate", m.createLaunchTemplate),
		"CreateLaunchTemplateVersion":    action(m, "CreateLaunchTemplateVersion", m.createLaunchTemplateVersion),
		"CreateTags":                     action(m, "CreateTags", m.createTags),
		"DeleteLaunchTemplate":           action(m, "DeleteLaunchTemplate", m.deleteLaunchTemplate),
		"DeleteTags":                     action(m, "DeleteTags", m.deleteTags),
		"DescribeAvailabilityZones":      action(m, "DescribeAvailabilityZones", m.describeAvailabilityZones),
		"DescribeCapacityReservations":   action(m, "DescribeCapacityReservations", m.describeCapacityReservations),
		"DescribeFleets":                 action(m, "DescribeFleets", m.describeFleets),
		"DescribeImages":                 action(m, "DescribeImages", m.describeImages),
		"DescribeInstanceStatus":         action(m, "DescribeInstanceStatus", m.describeInstanceStatus),
		"DescribeInstanceTypeOfferings":  action(m, "DescribeInstanceTypeOfferings", m.describeInstanceTypeOfferings),
		"DescribeInstanceTypes":          action(m, "DescribeInstanceTypes", m.describeInstanceTypes),
		"DescribeInstances":              action(m, "DescribeInstances", m.describeInstances),
		"DescribeLaunchTemplateVersions": action(m, "DescribeLaunchTemplateVersions", m.describeLaunchTemplateVersions),
		"DescribeLaunchTemplates":        action(m, "DescribeLaunchTemplates", m.describeLaunchTemplates),
		"DescribePlacementGroups":        action(m, "DescribePlacementGroups", m.describePlacementGroups),
		"DescribeSecurityGroups":         action(m, "DescribeSecurityGroups", m.describeSecurityGroups),
		"DescribeSpotPriceHistory":       action(m, "DescribeSpotPriceHistory", m.describeSpotPriceHistory),
		"DescribeSubnets":                action(m, "DescribeSubnets", m.describeSubnets),
		"DescribeTags":                   action(m, "DescribeTags", m.describeTags),
		"DescribeVpcs":                   action(m, "DescribeVpcs", m.describeVpcs),
		"RunInstances":                   action(m, "RunInstances", m.runInstances),
		"TerminateInstances":             action(m, "TerminateInstances", m.terminateInstances),
	}}
}

// action wraps a method: throttling first, then decoding, then DryRun, which
// says that the request would have succeeded and does nothing.
func action[I, O any](m *Model, name string, f func(context.Context, *I) (*O, error)) wire.QueryAction {
	return func(ctx context.Context, form *wire.Form) (any, error) {
		if err := m.admit(name); err != nil {
			return nil, err
		}
		dry := form.Get("DryRun") == "true"
		delete(form.Children, "DryRun")
		return wire.QueryFunc(func(ctx context.Context, in *I) (*O, error) {
			if dry {
				return nil, wire.StatusErrorf(http.StatusPreconditionFailed, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
			}
			return f(ctx, in)
		})(ctx, form)
	}
}
