package preflight

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/account"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/ekscontrol"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// ConnectFunc opens the API server of a cluster by the caller's own permissions.
type ConnectFunc func(reg model.Registration) (*ekscluster.Client, error)

// Checker is an account, a region and a cluster as the caller may see them. It may be used from many goroutines.
type Checker struct {
	*account.Account
	plan    Plan
	connect ConnectFunc

	once    sync.Once
	cluster *types.Cluster
	unread  error // why the cluster could not be described
}

// New returns what is to be looked at, in an account.
func New(a *account.Account, plan Plan, connect ConnectFunc) *Checker {
	return &Checker{Account: a, plan: plan, connect: connect}
}

// described is the cluster as EKS describes it. It is asked once.
func (s *Checker) described(ctx context.Context) (*types.Cluster, error) {
	s.once.Do(func() {
		out, err := eks.NewFromConfig(s.Config).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &s.plan.Cluster})
		if s.unread = err; err == nil {
			s.cluster = out.Cluster
		}
	})
	return s.cluster, s.unread
}

// reached is the cluster's API server, by the caller's permissions.
func (s *Checker) reached(ctx context.Context) (*ekscluster.Client, error) {
	reg := model.Registration{Cluster: s.plan.Cluster, Region: s.Config.Region, Account: s.ID}
	plane, err := ekscontrol.New(eks.NewFromConfig(s.Config)).Describe(ctx, reg)
	if err != nil {
		return nil, err
	}
	reg.ARN, reg.Endpoint, reg.CA, reg.Version = plane.ARN, plane.Endpoint, plane.CA, plane.Version
	return s.connect(reg)
}

// deploy is the command that deploys, with more options.
func (s *Checker) deploy(options string) string {
	return strings.TrimSpace("npx cdk deploy --all -c cluster=" + s.plan.Cluster + " " + options)
}

// regionStack is the name of the region's stack.
const regionStack = "joiner"

// clusterStack is the name of a cluster's stack: a stack's name has no _.
func clusterStack(cluster string) string {
	return "joiner-cluster-" + strings.ReplaceAll(cluster, "_", "-")
}

// clusterRole is the name of a role of the cluster's: that of its plan queue says how its name is shortened.
func (s *Checker) clusterRole(program string) string {
	short := strings.TrimSuffix(strings.TrimPrefix(wire.PlanQueue(s.plan.Cluster), "joiner-plan-"), ".fifo")
	return "joiner-" + short + "-" + s.Config.Region + "-" + program
}

// hasEntry reports whether a principal has an access entry of the cluster. A cluster that knows none, or that there is
// none, has none.
func (s *Checker) hasEntry(ctx context.Context, principal string) (bool, error) {
	_, err := ekscontrol.New(eks.NewFromConfig(s.Config)).AccessEntryGroups(ctx, s.plan.Cluster, principal)
	return err == nil, absent(err)
}

// absent is nil where an error says that there is no such thing, or that the cluster's mode knows none.
func absent(err error) error {
	var api smithy.APIError
	mode := errors.As(err, &api) && api.ErrorCode() == "InvalidRequestException"
	if mode || fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// groupsOf are the cluster's security groups, the one that EKS made first.
func groupsOf(vpc *types.VpcConfigResponse) []string {
	if own := aws.ToString(vpc.ClusterSecurityGroupId); own != "" {
		return []string{own}
	}
	return vpc.SecurityGroupIds
}

// elsewhere is nil where the cluster is not there: another check says so.
func (s *Checker) elsewhere(err error) error {
	var none *types.ResourceNotFoundException
	if errors.As(err, &none) {
		return nil
	}
	return err
}
