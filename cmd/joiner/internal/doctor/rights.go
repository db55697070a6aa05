package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/shared/model"
)

// right is something a function does for a cluster, or must not be able to do.
type right struct {
	program, action, resource string
	context                   map[string]string
	must                      bool // else it must not
}

// rightsOf are those that tell whether a cluster's roles are as they should be. All of them are asked of a simulation.
func rightsOf(reg *model.Registration) []right {
	partition, _, _ := strings.Cut(strings.TrimPrefix(cmp.Or(reg.ARN, reg.Roles.Provision), "arn:"), ":")
	ec2 := func(kind string) string {
		return fmt.Sprintf("arn:%s:ec2:%s:%s:%s/*", partition, reg.Region, reg.Account, kind)
	}
	tags := func(of string, more ...string) map[string]string {
		out := map[string]string{"aws:RequestedRegion": reg.Region}
		for _, tag := range [][2]string{
			{"kubernetes.io/cluster/" + reg.Cluster, "owned"}, {"eks:eks-cluster-name", reg.Cluster},
			{model.LabelNodePool, "doctor"}, {"joiner.sh/intent", "doctor"},
			{model.LabelNodeClass, "doctor"}, {"topology.kubernetes.io/region", reg.Region},
		} {
			out["aws:"+of+"Tag/"+tag[0]] = tag[1]
		}
		for i := 0; i+1 < len(more); i += 2 {
			out[more[i]] = more[i+1]
		}
		return out
	}
	here := map[string]string{"aws:RequestedRegion": reg.Region}
	return append([]right{
		{"provision", "ec2:DescribeInstances", "*", here, true},
		{"provision", "ec2:CreateLaunchTemplate", ec2("launch-template"), tags("Request"), true},
		{"provision", "ec2:CreateFleet", ec2("fleet"), tags("Request"), true},
		{"provision", "ec2:RunInstances", ec2("instance"), tags("Request", "ec2:MetadataHttpTokens", "required"), true},
		{"provision", "ec2:TerminateInstances", ec2("instance"), tags("Resource"), false},
		{"interruption", "ec2:DescribeInstances", "*", here, true},
		{"interruption", "ec2:TerminateInstances", ec2("instance"), tags("Resource"), true},
		{"interruption", "ec2:RunInstances", ec2("instance"), tags("Request", "ec2:MetadataHttpTokens", "required"),
			false},
		{"catalog", "ec2:DescribeSubnets", "*", here, true},
		{"catalog", "iam:CreateInstanceProfile", fmt.Sprintf("arn:%s:iam::%s:instance-profile/karpenter/%s/%s/doctor",
			partition, reg.Account, reg.Region, reg.Cluster), tags("Request"), true},
		{"catalog", "ec2:TerminateInstances", ec2("instance"), tags("Resource"), false},
		{"disrupt", "ec2:TerminateInstances", ec2("instance"), tags("Resource"), false},
	}, ofEKS(reg, here)...)
}

// ofEKS are the rights that only a cluster of EKS needs.
func ofEKS(reg *model.Registration, here map[string]string) []right {
	if reg.SelfManaged {
		return nil
	}
	return []right{{"catalog", "eks:DescribeCluster", reg.ARN, here, true}}
}

// rights asks IAM what the cluster's roles may do, without anything being done.
func (c *cluster) rights(ctx context.Context) ([]check.Finding, error) {
	if c.reg.Roles == (model.Roles{}) {
		return check.One(check.Warn,
			"it has no roles of its own: functions act in it with their own permissions, whichever cluster they are "+
				"for", "deploy the cluster's stack, which creates them"), nil
	}
	client, roles := iam.NewFromConfig(c.at.Config), map[string]string{}
	for _, r := range c.at.ProgramRoles(&c.reg) {
		roles[r.Program] = r.Role
	}
	var found []check.Finding
	for _, r := range rightsOf(&c.reg) {
		role := roles[r.program]
		if role == "" {
			continue
		}
		decision, err := simulate(ctx, client, role, r)
		if err != nil {
			return found, err
		}
		switch may := decision == types.PolicyEvaluationDecisionTypeAllowed; {
		case r.must && !may:
			found = append(found, check.Finding{
				Level: check.Fail, Seen: fmt.Sprintf("function %s may not %s: role %s says %s", r.program, r.action,
					role, decision),
				Do: "deploy the cluster's stack again, which creates the role; if the role is yours, " +
					"docs/threat-model.md, Permissions, lists what it needs, and a permissions boundary or a service " +
					"control policy may deny it",
			})
		case !r.must && may:
			found = append(found, check.Finding{
				Level: check.Warn, Seen: fmt.Sprintf("function %s may %s by role %s, and never needs to", r.program,
					r.action, role),
				Do: "remove that permission: a role that launches instances should not be able to terminate them, and " +
					"" +
					"the other way round",
			})
		}
	}
	if len(found) == 0 {
		found = check.One(check.OK,
			"each role has the permissions of its function, according to IAM's policy simulation", "")
	}
	return found, nil
}

func simulate(
	ctx context.Context, client *iam.Client, role string, r right,
) (types.PolicyEvaluationDecisionType, error) {
	in := &iam.SimulatePrincipalPolicyInput{PolicySourceArn: &role, ActionNames: []string{r.action},
		ResourceArns: []string{r.resource}}
	for _, key := range slices.Sorted(maps.Keys(r.context)) {
		in.ContextEntries = append(in.ContextEntries, types.ContextEntry{
			ContextKeyName: aws.String(key), ContextKeyType: types.ContextKeyTypeEnumString,
			ContextKeyValues: []string{r.context[key]},
		})
	}
	out, err := client.SimulatePrincipalPolicy(ctx, in)
	if err != nil {
		return "", err
	}
	if len(out.EvaluationResults) != 1 {
		return "", fmt.Errorf("simulate %s of role %s: IAM gives %d results", r.action, role,
			len(out.EvaluationResults))
	}
	return out.EvaluationResults[0].EvalDecision, nil
}
