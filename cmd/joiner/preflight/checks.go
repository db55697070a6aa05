package preflight

import (
	"context"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/account"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
)

// Checks are all that is looked at before anything is deployed.
func (s *Checker) Checks() []check.Check {
	where, cluster := "account "+s.ID+" in "+s.Config.Region, "cluster "+s.plan.Cluster
	region := func(ctx context.Context) ([]check.Finding, error) { return s.Region(ctx, s.plan.IRSA) }
	checks := []check.Check{
		{Name: "caller", Object: "your AWS permissions", Run: s.who},
		{Name: "region", Object: s.Config.Region, Run: region},
		{Name: "bootstrap", Object: where, Run: s.Bootstrap},
		{Name: "stacks", Object: where, Run: s.stacks},
		{Name: "quotas", Object: "vCPUs", Run: s.QuotasBefore},
		{Name: "spot role", Object: account.SpotRoleName, Run: s.SpotRole},
	}
	if !s.plan.Foreign { // else functions and what they store are in the installation's account
		checks = append(checks, check.Check{Name: "names", Object: where, Run: s.regionNames},
			check.Check{Name: "concurrency", Object: "Lambda", Run: s.concurrency})
	}
	if arn := s.plan.KMSKeyARN; arn != "" && !s.plan.Foreign {
		key := func(ctx context.Context) ([]check.Finding, error) { return s.KMSKey(ctx, arn) }
		checks = append(checks, check.Check{Name: "key", Object: arn, Run: key})
	}
	if s.plan.SelfManaged { // what EKS would be asked nobody can say
		return append(checks, check.Check{Name: "control plane", Object: cluster, Run: s.selfManaged})
	}
	return append(checks,
		check.Check{Name: "control plane", Object: cluster, Run: s.plane},
		check.Check{Name: "endpoint", Object: cluster, Run: s.Endpoint},
		check.Check{Name: "pod identity", Object: cluster, Run: s.agent},
		check.Check{Name: "network", Object: cluster, Run: s.network},
		check.Check{Name: "node role", Object: cluster, Run: s.nodeRole},
		check.Check{Name: "names", Object: cluster, Run: s.clusterNames},
		check.Check{Name: "Karpenter", Object: cluster, Run: s.karpenter},
	)
}

// selfManaged looks whether the watcher of a cluster that EKS does not run gets a role, and says what is not checked.
func (s *Checker) selfManaged(context.Context) ([]check.Finding, error) {
	if !s.plan.IRSA {
		return check.One(check.Fail, "EKS does not run it, so there is no Pod Identity for the watcher",
			s.deploy("-c selfManaged=true -c irsaProvider=PROVIDER")+": docs/tasks/self-managed.md"), nil
	}
	return check.One(check.OK,
		"EKS does not run it: its version, endpoint, subnets and role of nodes are not checked", ""), nil
}

// who says whose permissions are used.
func (s *Checker) who(context.Context) ([]check.Finding, error) {
	return check.One(check.OK, s.Caller+" in "+s.Config.Region, ""), nil
}

// concurrency looks whether the account's quota of concurrent executions lets functions reserve what the plan says, or
// run at all.
func (s *Checker) concurrency(ctx context.Context) ([]check.Finding, error) {
	reserve, bound := 0, ""
	if s.plan.Reserve {
		reserve = s.plan.ReservedConcurrency()
	}
	if !s.plan.Batches {
		bound = s.deploy("-c batches=2")
	}
	return s.Concurrency(ctx, reserve, bound)
}

// stacks looks whether stacks of Joiner's are in a state that the next deployment cannot start from.
func (s *Checker) stacks(ctx context.Context) ([]check.Finding, error) {
	var found []check.Finding
	for _, name := range []string{regionStack, clusterStack(s.plan.Cluster)} {
		if name == regionStack && s.plan.Foreign {
			continue
		}
		stack, err := s.Stack(ctx, name)
		if err != nil {
			return found, err
		}
		found = append(found, account.CheckStack(name, stack))
	}
	return found, nil
}
