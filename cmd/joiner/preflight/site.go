package preflight

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster"
	"github.com/joiner-sh/joiner/shared/adapter/ekscontrol"
	"github.com/joiner-sh/joiner/shared/model"
)

// ConnectFunc opens the API server of a cluster by the caller's own permissions.
type ConnectFunc func(ctx context.Context, reg model.Registration) (*ekscluster.Client, error)

// Checker is an account, a region and a cluster as the caller may see them. It may be used from many goroutines.
type Checker struct {
	config             aws.Config
	plan               Plan
	connect            ConnectFunc
	account, partition string
	caller             string // ARN

	once    sync.Once
	cluster *types.Cluster
	unread  error // why the cluster could not be described
}

// New returns what is to be looked at. It asks who the caller is, and fails where AWS does not say so: without credentials nothing
// can be looked at.
func New(ctx context.Context, config aws.Config, plan Plan, connect ConnectFunc) (*Checker, error) {
	out, err := sts.NewFromConfig(config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, fmt.Errorf("AWS does not accept your credentials; set AWS_PROFILE, or log in (aws sso login): %w", err)
	}
	arn := aws.ToString(out.Arn)
	partition, _, _ := strings.Cut(strings.TrimPrefix(arn, "arn:"), ":")
	return &Checker{config: config, plan: plan, connect: connect, account: aws.ToString(out.Account), partition: partition, caller: arn}, nil
}

// Checks are all that is looked at before anything is deployed.
func (s *Checker) Checks() []doctor.Check {
	account, cluster := "account "+s.account+" in "+s.config.Region, "cluster "+s.plan.Cluster
	checks := []doctor.Check{
		{Name: "caller", Object: "your AWS permissions", Run: s.who},
		{Name: "region", Object: s.config.Region, Run: s.region},
		{Name: "bootstrap", Object: account, Run: s.bootstrap},
		{Name: "stacks", Object: account, Run: s.stacks},
		{Name: "quotas", Object: "vCPUs", Run: s.quotas},
		{Name: "spot role", Object: spotRole, Run: s.SpotRole},
	}
	if !s.plan.Foreign { // else functions and what they store are in the installation's account
		checks = append(checks, doctor.Check{Name: "names", Object: account, Run: s.regionNames}, doctor.Check{Name: "concurrency", Object: "Lambda", Run: s.concurrency})
	}
	if s.plan.KMSKeyARN != "" && !s.plan.Foreign {
		checks = append(checks, doctor.Check{Name: "key", Object: s.plan.KMSKeyARN, Run: func(ctx context.Context) ([]doctor.Finding, error) { return s.KMSKey(ctx, s.plan.KMSKeyARN) }})
	}
	return append(checks,
		doctor.Check{Name: "control plane", Object: cluster, Run: s.plane},
		doctor.Check{Name: "endpoint", Object: cluster, Run: s.Endpoint},
		doctor.Check{Name: "pod identity", Object: cluster, Run: s.agent},
		doctor.Check{Name: "network", Object: cluster, Run: s.network},
		doctor.Check{Name: "node role", Object: cluster, Run: s.nodeRole},
		doctor.Check{Name: "names", Object: cluster, Run: s.clusterNames},
		doctor.Check{Name: "Karpenter", Object: cluster, Run: s.karpenter},
	)
}

func one(level doctor.Level, seen, do string) []doctor.Finding {
	return []doctor.Finding{{Level: level, Seen: seen, Do: do}}
}

// described is the cluster as EKS describes it. It is asked once.
func (s *Checker) described(ctx context.Context) (*types.Cluster, error) {
	s.once.Do(func() {
		out, err := eks.NewFromConfig(s.config).DescribeCluster(ctx, &eks.DescribeClusterInput{Name: &s.plan.Cluster})
		if s.unread = err; err == nil {
			s.cluster = out.Cluster
		}
	})
	return s.cluster, s.unread
}

// reached is the cluster's API server, by the caller's permissions.
func (s *Checker) reached(ctx context.Context) (*ekscluster.Client, error) {
	reg := model.Registration{Cluster: s.plan.Cluster, Region: s.config.Region, Account: s.account}
	plane, err := ekscontrol.New(eks.NewFromConfig(s.config)).Describe(ctx, reg)
	if err != nil {
		return nil, err
	}
	reg.ARN, reg.Endpoint, reg.CA, reg.Version = plane.ARN, plane.Endpoint, plane.CA, plane.Version
	return s.connect(ctx, reg)
}

// who says whose permissions are used.
func (s *Checker) who(context.Context) ([]doctor.Finding, error) {
	return one(doctor.OK, s.caller+" in "+s.config.Region, ""), nil
}

// deploy is the command that deploys, with more options.
func (s *Checker) deploy(options string) string {
	return strings.TrimSpace("npx cdk deploy --all -c cluster=" + s.plan.Cluster + " " + options)
}
