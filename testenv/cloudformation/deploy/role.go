package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/testenv/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

// sessionLife is how long services take on a role: processes get their keys once, and a demonstration runs for hours.
const sessionLife = 12 * time.Hour

// makeRole makes a role. What it may do, and whom it trusts, package rights has read before.
func makeRole(_ context.Context, r resource) error {
	var p struct{ RoleName, Path string }
	if err := r.decode(&p); err != nil {
		return err
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	if len(name) > 64 {
		return fmt.Errorf("RoleName %s has %d characters; a role's has at most 64", name, len(name))
	}
	r.account.Cloud.STS.AddRole(sts.Role{Name: name, Path: p.Path, Account: r.account.account()})
	return nil
}

// takeOn checks that a service may take on a role, for a resource of the account where source is not "". As long as what was said of
// the role does not act yet it is asked again, as CloudFormation does.
func (a *Account) takeOn(service, role, source string) error {
	asked := wire.Access{Action: "sts:AssumeRole", Resource: role, Context: map[string][]string{}}
	if source != "" {
		asked.Context["aws:sourcearn"], asked.Context["aws:sourceaccount"] = []string{source}, []string{a.account()}
	}
	for !a.Cloud.Policies.Would(policy.Service(service), asked).Allowed() && a.Cloud.Policies.Settling(role) {
		time.Sleep(100 * time.Millisecond)
	}
	if d := a.Cloud.Policies.Decide(policy.Service(service), asked); !d.Allowed() {
		return fmt.Errorf("%s cannot take on role %s: %v", service, role, d)
	}
	return nil
}

// keys are those of a role that a service has taken on.
func (a *Account) keys(role, session string) (sts.Credentials, error) {
	return a.Cloud.STS.Assume(role, session, sessionLife)
}

// makeInstanceProfile makes a profile that holds a role.
func makeInstanceProfile(_ context.Context, r resource) error {
	var p struct {
		InstanceProfileName string
		Roles               []string
	}
	if err := r.decode(&p); err != nil {
		return err
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	if len(p.Roles) != 1 {
		return fmt.Errorf("it has %d Roles; a profile holds one", len(p.Roles))
	}
	r.account.EC2.AddInstanceProfile(name, p.Roles[0])
	return nil
}

// makeAccessEntry lets a role into a cluster.
func makeAccessEntry(_ context.Context, r resource) error {
	var p struct {
		ClusterName, PrincipalArn, Type, Username string
		KubernetesGroups                          []string
	}
	if err := r.decode(&p); err != nil {
		return err
	}
	return r.account.EKS.AddAccessEntry(eks.AccessEntry{
		Cluster: p.ClusterName, PrincipalARN: p.PrincipalArn, Type: p.Type, Username: p.Username, Groups: p.KubernetesGroups,
	})
}

// makePodIdentity gives pods of a service account a role, which must let EKS take it on for them, or another one that this role may take
// on, of any account. Source: Amazon EKS user guide, "Access AWS resources using EKS Pod Identity target IAM roles".
func makePodIdentity(_ context.Context, r resource) error {
	var p struct{ ClusterName, Namespace, ServiceAccount, RoleArn, TargetRoleArn string }
	if err := r.decode(&p); err != nil {
		return err
	}
	if p.ClusterName == "" || p.Namespace == "" || p.ServiceAccount == "" || p.RoleArn == "" {
		return errors.New("ClusterName, Namespace, ServiceAccount and RoleArn are required")
	}
	cluster := "arn:aws:eks:" + r.account.Cloud.Region() + ":" + r.account.account() + ":cluster/" + p.ClusterName
	if err := r.account.takeOn("pods.eks.amazonaws.com", p.RoleArn, cluster); err != nil {
		return err
	}
	r.account.identities[identity{p.ClusterName, p.Namespace, p.ServiceAccount}] = podRole{p.RoleArn, p.TargetRoleArn}
	return r.account.EKS.AddPodIdentity(eks.PodIdentity{Cluster: p.ClusterName, Namespace: p.Namespace, ServiceAccount: p.ServiceAccount, RoleARN: p.RoleArn})
}
