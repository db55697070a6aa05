package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
)

// leastMinor is the minor version of Kubernetes 1 from which ValidatingAdmissionPolicies are v1, which the chart makes.
const leastMinor = 30

// podIdentityAgent is the add-on by which pods get roles.
const podIdentityAgent = "eks-pod-identity-agent"

// plane looks whether the cluster is one that can be attached.
func (s *Checker) plane(ctx context.Context) ([]check.Finding, error) {
	cluster, err := s.described(ctx)
	var none *types.ResourceNotFoundException
	if errors.As(err, &none) {
		return check.One(check.Fail, "EKS has no cluster of that name in "+s.Config.Region,
			"aws eks list-clusters --region "+s.Config.Region+"; another region by --region or AWS_REGION"), nil
	}
	if err != nil {
		return nil, err
	}
	var found []check.Finding
	fail := func(do, format string, args ...any) {
		found = append(found, check.Finding{Level: check.Fail, Seen: fmt.Sprintf(format, args...), Do: do})
	}
	name := s.plan.Cluster
	if cluster.Status != types.ClusterStatusActive {
		fail("aws eks wait cluster-active --name "+name, "it is %s", cluster.Status)
	}
	version := aws.ToString(cluster.Version)
	if minor, err := strconv.Atoi(strings.TrimPrefix(version, "1.")); err == nil && minor < leastMinor {
		fail(fmt.Sprintf("aws eks update-cluster-version --name %s --kubernetes-version 1.%d", name,
			minor+1), "it runs Kubernetes %s, and the chart takes 1.%d and newer", version, leastMinor)
	}
	if access := cluster.AccessConfig; access != nil && access.AuthenticationMode == types.AuthenticationModeConfigMap {
		fail("aws eks update-cluster-config --name "+name+" --access-config authenticationMode=API_AND_CONFIG_MAP",
			"its authentication mode is CONFIG_MAP: it has no access entries, with which functions and nodes "+
				"authenticate")
	}
	if network := cluster.KubernetesNetworkConfig; network != nil && network.IpFamily == types.IpFamilyIpv6 &&
		!s.plan.IPv6 && s.plan.NodeRole == "" {
		fail(s.deploy("-c ipv6=true"),
			"its pods have IPv6 addresses, which the role of nodes may assign only with that option: nodes would stay "+
				"NotReady")
	}
	if len(found) == 0 {
		found = check.One(check.OK, "Kubernetes "+version+", and it has access entries", "")
	}
	return found, nil
}

// Endpoint looks whether functions reach the API server the way the plan says, and which option fits where they do not.
func (s *Checker) Endpoint(ctx context.Context) ([]check.Finding, error) {
	cluster, err := s.described(ctx)
	if err != nil {
		return nil, s.elsewhere(err)
	}
	vpc := cluster.ResourcesVpcConfig
	if vpc == nil {
		return check.One(check.Warn, "EKS does not return its network configuration", "run it again"), nil
	}
	anybody := vpc.EndpointPublicAccess && slices.Contains(vpc.PublicAccessCidrs, "0.0.0.0/0")
	ways := "it is private"
	if vpc.EndpointPublicAccess {
		ways = "it is public for " + strings.Join(vpc.PublicAccessCidrs, ", ")
		if vpc.EndpointPrivateAccess {
			ways += ", and private"
		}
	}
	switch {
	case s.plan.Relay:
		return check.One(check.OK,
			ways+"; functions use the relay of the watcher, which needs nodes that Joiner does not launch", ""), nil
	case len(s.plan.Subnets) > 0 && vpc.EndpointPrivateAccess:
		return check.One(check.OK, ways+"; functions run in the VPC", ""), nil
	case anybody:
		return check.One(check.OK, ways, ""), nil
	case len(s.plan.Subnets) > 0:
		return check.One(check.Fail, ways+": functions in the VPC use the addresses of its NAT gateways",
			fmt.Sprintf("aws eks update-cluster-config --name %s --resources-vpc-config endpointPrivateAccess=true",
				s.plan.Cluster)), nil
	}
	return check.One(check.Fail, ways+": functions outside of your VPC have no fixed addresses, and cannot reach it",
		s.deploy("-c relay=true")+", if the watcher has nodes that Joiner does not launch; or "+
			s.deploy(fmt.Sprintf("-c subnetIds=%s -c securityGroupIds=%s", strings.Join(vpc.SubnetIds, ","),
				strings.Join(groupsOf(vpc), ",")))+": docs/tasks/private-clusters.md"), nil
}

func (s *Checker) agent(ctx context.Context) ([]check.Finding, error) {
	if s.plan.IRSA {
		return check.One(check.OK, "none is needed: the watcher gets its role by the cluster's OIDC provider", ""), nil
	}
	return s.PodIdentityAgent(ctx, check.Fail)
}

// PodIdentityAgent looks for the add-on by which the watcher gets its role. level is how bad it is where that is
// missing.
func (s *Checker) PodIdentityAgent(ctx context.Context, level check.Level) ([]check.Finding, error) {
	cluster, err := s.described(ctx)
	if err != nil {
		return nil, s.elsewhere(err)
	}
	if cluster.ComputeConfig != nil && aws.ToBool(cluster.ComputeConfig.Enabled) {
		return check.One(check.OK, "EKS Auto Mode includes the agent of Pod Identity", ""), nil
	}
	out, err := eks.NewFromConfig(s.Config).DescribeAddon(ctx,
		&eks.DescribeAddonInput{ClusterName: &s.plan.Cluster, AddonName: aws.String(podIdentityAgent)})
	var none *types.ResourceNotFoundException
	if errors.As(err, &none) {
		return check.One(level, "the add-on "+podIdentityAgent+" is not installed: the watcher gets no role in AWS",
				fmt.Sprintf("aws eks create-addon --cluster-name %s --addon-name %s", s.plan.Cluster,
					podIdentityAgent)),
			nil
	}
	if err != nil {
		return nil, err
	}
	if out.Addon.Status != types.AddonStatusActive {
		return check.One(check.Warn, fmt.Sprintf("the add-on %s is %s", podIdentityAgent, out.Addon.Status),
			fmt.Sprintf("aws eks describe-addon --cluster-name %s --addon-name %s says why", s.plan.Cluster,
				podIdentityAgent)), nil
	}
	return check.One(check.OK, "the add-on "+podIdentityAgent+" is installed", ""), nil
}
