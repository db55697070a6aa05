package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
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
	arn := r.account.Cloud.STS.AddRole(sts.Role{Name: name, Path: p.Path, Account: r.account.account()})
	r.account.roles[name] = arn
	trust, err := r.stack.Resolve(r.stack.Resources[r.id].Properties["AssumeRolePolicyDocument"])
	if err != nil {
		return err
	}
	text, err := json.Marshal(trust)
	if err != nil {
		return err
	}
	r.account.EC2.AddRole(ec2.Role{Name: name, Path: p.Path, Trust: string(text)})
	return nil
}

func roleExists(_ context.Context, r resource) (bool, error) {
	name, err := r.name()
	_, known := r.account.EC2.LookupRole(name)
	return known || r.account.roles[name] != "", err
}

// removeRole deletes a role, which no instance profile may hold.
func removeRole(_ context.Context, r resource) error {
	name, err := r.name()
	if err != nil {
		return err
	}
	for _, profile := range r.account.EC2.InstanceProfiles() {
		if profile.Role == name {
			return fmt.Errorf("cannot delete role %s: instance profile %s holds it; take it out first", name, profile.Name)
		}
	}
	r.account.EC2.RemoveRole(name)
	if arn := r.account.roles[name]; arn != "" {
		r.account.Cloud.STS.RemoveRole(arn)
		r.account.Cloud.Policies.RemoveRole(arn)
	}
	delete(r.account.roles, name)
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

type profileProperties struct {
	InstanceProfileName string
	Roles               []string
}

// makeInstanceProfile makes a profile that holds a role.
func makeInstanceProfile(ctx context.Context, r resource) error {
	return changeInstanceProfile(ctx, r, nil)
}

func instanceProfileExists(_ context.Context, r resource) (bool, error) {
	name, err := r.name()
	return slices.ContainsFunc(r.account.EC2.InstanceProfiles(), func(one ec2.Profile) bool { return one.Name == name }), err
}

// changeInstanceProfile has a profile hold a role.
func changeInstanceProfile(_ context.Context, r resource, _ properties) error {
	var p profileProperties
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

// removeInstanceProfile takes the role out and deletes the profile.
func removeInstanceProfile(_ context.Context, r resource) error {
	name, err := r.name()
	if err == nil {
		r.account.EC2.RemoveInstanceProfile(name)
	}
	return err
}

type entryProperties struct {
	ClusterName, PrincipalArn, Type, Username string
	KubernetesGroups                          []string
}

func accessEntryExists(_ context.Context, r resource) (bool, error) {
	var p entryProperties
	err := r.decode(&p)
	_, _, there := r.account.EKS.Lookup(p.ClusterName, p.PrincipalArn)
	return there, err
}

// changeAccessEntry gives a role other groups, or another name.
func changeAccessEntry(ctx context.Context, r resource, old properties) error {
	if err := removeAccessEntry(ctx, resource{r.account, r.stack, r.id, old}); err != nil {
		return err
	}
	return makeAccessEntry(ctx, r)
}

// removeAccessEntry lets a role in no more. An entry that is gone is as good.
func removeAccessEntry(_ context.Context, r resource) error {
	var p entryProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	r.account.EKS.RemoveAccessEntry(p.ClusterName, p.PrincipalArn)
	return nil
}

// makeAccessEntry lets a role into a cluster.
func makeAccessEntry(_ context.Context, r resource) error {
	var p entryProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	return r.account.EKS.AddAccessEntry(eks.AccessEntry{
		Cluster: p.ClusterName, PrincipalARN: p.PrincipalArn, Type: p.Type, Username: p.Username, Groups: p.KubernetesGroups,
	})
}

type podProperties struct{ ClusterName, Namespace, ServiceAccount, RoleArn, TargetRoleArn string }

// makePodIdentity gives pods of a service account a role, which must let EKS take it on for them, or another one that this role may take
// on, of any account. Source: Amazon EKS user guide, "Access AWS resources using EKS Pod Identity target IAM roles".
func makePodIdentity(ctx context.Context, r resource) error {
	return changePodIdentity(ctx, r, nil)
}

func podIdentityExists(_ context.Context, r resource) (bool, error) {
	var p podProperties
	err := r.decode(&p)
	return r.account.EKS.HasPodIdentity(p.ClusterName, p.Namespace, p.ServiceAccount), err
}

// removePodIdentity takes the role from the service account. An association that is gone, as with its cluster, is as good.
func removePodIdentity(_ context.Context, r resource) error {
	var p podProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	delete(r.account.identities, identity{p.ClusterName, p.Namespace, p.ServiceAccount})
	r.account.EKS.RemovePodIdentity(p.ClusterName, p.Namespace, p.ServiceAccount)
	return nil
}

// changePodIdentity gives the service account another role.
func changePodIdentity(_ context.Context, r resource, _ properties) error {
	var p podProperties
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
