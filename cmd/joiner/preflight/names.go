package preflight

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/account"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/shared/adapter/ekscontrol"
	"github.com/joiner-sh/joiner/shared/wire"
)

// named is something with a fixed name that a stack makes.
type named struct {
	kind, name string
	remove     string // command that takes it away; "" = it is kept, and taken in again
	there      func(ctx context.Context) (bool, error)
}

// Parts of the region's names.
var (
	regionQueues = []string{"joiner-catalog", "joiner-interruption", "joiner-disruption", "joiner-notices",
		"joiner-catalog-dead", "joiner-interruption-dead", "joiner-disruption-dead", "joiner-notices-dead",
		"joiner-plan-dead.fifo"}
	regionFunctions = []string{"provision", "interruption", "catalog", "disrupt"}
	regionValues    = []string{"/joiner/installation", "/joiner/stop"}
)

// ofRegion are the names of the region's stack.
func (s *Checker) ofRegion() []named {
	bucket := fmt.Sprintf("joiner-%s-%s", s.ID, s.Config.Region)
	out := []named{
		{"table", "joiner", "", func(ctx context.Context) (bool, error) { return s.HasTable(ctx, "joiner") }},
		{"bucket", bucket, "", func(ctx context.Context) (bool, error) { return s.HasBucket(ctx, bucket) }},
	}
	for _, queue := range regionQueues {
		out = append(out, s.queue(queue))
	}
	for _, program := range regionFunctions {
		function, role := "joiner-"+program, "joiner-"+program+"-"+s.Config.Region
		out = append(out,
			named{"function", function, "aws lambda delete-function --function-name " + function,
				func(ctx context.Context) (bool, error) { return s.HasFunction(ctx, function) }},
			named{"log group", "/aws/lambda/" + function, "aws logs delete-log-group --log-group-name /aws/lambda/" +
				function, func(ctx context.Context) (bool, error) { return s.HasLogs(ctx, "/aws/lambda/"+function) }},
			s.role(role))
	}
	for _, name := range regionValues {
		out = append(out, named{"parameter", name, "aws ssm delete-parameter --name " + name,
			func(ctx context.Context) (bool, error) { return s.HasParameter(ctx, name) }})
	}
	return out
}

// ofCluster are the names of the cluster's stack.
func (s *Checker) ofCluster() []named {
	out := []named{s.queue(wire.PlanQueue(s.plan.Cluster))}
	if s.plan.Relay {
		out = append(out, s.queue(strings.TrimSuffix(strings.Replace(wire.PlanQueue(s.plan.Cluster), "joiner-plan-",
			"joiner-relay-", 1), ".fifo")))
	}
	entering := map[string]bool{} // roles that have access entries
	roles := []string{s.clusterRole("watcher")}
	add := func(name string, enters bool) { roles, entering[name] = append(roles, name), enters }
	for _, program := range regionFunctions {
		add(s.clusterRole(program), !s.plan.Relay)
	}
	if s.plan.NodeRole == "" {
		add(cmp.Or(s.plan.NodeRoleName, s.clusterRole("node")), true)
	}
	if s.plan.Windows {
		add(s.clusterRole("windows"), true)
	}
	if s.plan.Adopters {
		add(s.clusterRole("adopt"), true)
	}
	for _, name := range roles {
		out = append(out, s.role(name))
		if !entering[name] {
			continue
		}
		arn := s.RoleARN(name)
		out = append(out, named{"access entry", arn, "aws eks delete-access-entry --cluster-name " + s.plan.Cluster +
			" --principal-arn " + arn,
			func(ctx context.Context) (bool, error) { return s.hasEntry(ctx, arn) }})
	}
	if !s.plan.IRSA {
		account := s.plan.Namespace + "/joiner-watcher"
		out = append(out, named{"Pod Identity association", account,
			fmt.Sprintf("aws eks list-pod-identity-associations --cluster-name %s --namespace %s, and aws eks "+
				"delete-pod-identity-association", s.plan.Cluster, s.plan.Namespace),
			func(ctx context.Context) (bool, error) {
				n, err := ekscontrol.New(eks.NewFromConfig(s.Config)).PodIdentityAssociations(ctx, s.plan.Cluster,
					s.plan.Namespace, "joiner-watcher")
				return n > 0, absent(err)
			}})
	}
	return out
}

func (s *Checker) regionNames(ctx context.Context) ([]check.Finding, error) {
	return s.taken(ctx, regionStack, s.ofRegion())
}

func (s *Checker) clusterNames(ctx context.Context) ([]check.Finding, error) {
	return s.taken(ctx, clusterStack(s.plan.Cluster), s.ofCluster())
}

// taken looks which names of a stack something else has already: making it would fail over each. Where the stack is
// there they are its own.
func (s *Checker) taken(ctx context.Context, name string, all []named) ([]check.Finding, error) {
	stack, err := s.Stack(ctx, name)
	if err != nil {
		return nil, err
	}
	if account.Made(stack) {
		return check.One(check.OK, "stack "+name+" has them", ""), nil
	}
	var found []check.Finding
	var failed error
	for i := range all {
		n := &all[i]
		there, err := n.there(ctx)
		if err != nil {
			failed = fmt.Errorf("check for %s %s: %w", n.kind, n.name, err)
			continue
		}
		if !there {
			continue
		}
		f := check.Finding{Level: check.Fail, Object: n.kind + " " + n.name, Seen: "it exists, and stack " + name +
			" does not, which creates one of that name", Do: n.remove}
		if n.remove == "" {
			f.Seen += ": an earlier installation left it"
			f.Do = s.deploy("--import-existing-resources") +
				" imports it with its data; or delete it: docs/tasks/remove.md, \"Install again\""
		}
		found = append(found, f)
	}
	if len(found) == 0 && failed == nil {
		found = check.One(check.OK, fmt.Sprintf("%d names of stack %s are free", len(all), name), "")
	}
	return found, failed
}

func (s *Checker) queue(name string) named {
	remove := fmt.Sprintf("aws sqs delete-queue --queue-url $(aws sqs get-queue-url --queue-name %s --query QueueUrl "+
		"--output text), and wait a minute", name)
	return named{"queue", name, remove, func(ctx context.Context) (bool, error) { return s.HasQueue(ctx, name) }}
}

func (s *Checker) role(name string) named {
	return named{"role", name, "delete it in the IAM console, with its policies and instance profiles",
		func(ctx context.Context) (bool, error) { return s.HasRole(ctx, name) }}
}

// RegionNames are the names that the region's stack makes and that are looked for.
func (s *Checker) RegionNames() []string { return namesOf(s.ofRegion()) }

// ClusterNames are the same of the cluster's stack. Access entries and Pod Identity associations are called like what
// they are of, and left out.
func (s *Checker) ClusterNames() []string { return namesOf(s.ofCluster()) }

func namesOf(all []named) []string {
	var out []string
	for i := range all {
		if all[i].kind != "access entry" && all[i].kind != "Pod Identity association" {
			out = append(out, all[i].name)
		}
	}
	return out
}
