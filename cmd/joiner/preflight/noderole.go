package preflight

import (
	"cmp"
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
)

// karpenterNodeRole is the name that Karpenter's guide gives to the role of a cluster's nodes. The functions may give
// instances that one, too.
func (s *Checker) karpenterNodeRole() string { return "KarpenterNodeRole-" + s.plan.Cluster }

// nodeRole looks whether the role that instances get is there where people name their own, and whether nodes that have
// it may join.
func (s *Checker) nodeRole(ctx context.Context) ([]check.Finding, error) {
	name, theirs := s.plan.NodeRole, s.plan.NodeRole != ""
	if !theirs {
		name = s.karpenterNodeRole()
	}
	there, err := s.HasRole(ctx, name)
	if err != nil {
		return nil, err
	}
	if !there && theirs {
		return check.One(check.Fail, "there is no role "+name+", which -c nodeRole names",
			"name one that exists, or leave -c nodeRole out: the stack creates "+cmp.Or(s.plan.NodeRoleName,
				s.clusterRole("node"))), nil
	}
	if !there {
		return check.One(check.OK, "the stack creates "+cmp.Or(s.plan.NodeRoleName, s.clusterRole("node")), ""), nil
	}
	arn := s.RoleARN(name)
	enters, err := s.hasEntry(ctx, arn)
	if err != nil {
		return nil, err
	}
	if !enters {
		return check.One(check.Warn,
			fmt.Sprintf(
				"role %s has no access entry: nodes with it join only if the ConfigMap kube-system/aws-auth names it",
				name),
			fmt.Sprintf("kubectl get configmap aws-auth -n kube-system -o yaml; if it does not: aws eks "+
				"create-access-entry --cluster-name %s --principal-arn %s --type EC2_LINUX", s.plan.Cluster, arn)), nil
	}
	if theirs {
		return check.One(check.OK, "role "+name+" exists, and its nodes may join", ""), nil
	}
	return check.One(check.OK,
		fmt.Sprintf("the stack creates %s; EC2NodeClasses that name %s, as Karpenter's guide does, go on to work",
			cmp.Or(s.plan.NodeRoleName, s.clusterRole("node")), name), ""), nil
}
