package doctor

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/account"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/apiserver"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/shared/model"
)

const doctorLong = `Checks the installation and its clusters, and says what is wrong and how to fix it. For the region: stack, ledger,
bucket, queues, EventBridge rules, stops, clocks, the account's quotas of vCPUs and of Lambda's concurrency, the role
for spot, and the policy of a KMS key. For each cluster: control plane and endpoint, access entries, the permissions
of its roles (simulated), Pod Identity, CustomResourceDefinitions, remains of Karpenter, watcher, conditions of its
EC2NodeClasses, and recent runs of the functions.

It uses your own permissions, in AWS and in the cluster, and writes nothing. What you may not read is reported, and
the other checks go on.

Exit status: 0 if all checks pass; 1 if something needs attention; 2 if something does not work, or the ledger cannot
be found.`

// doctorFlags are what the command line says.
type doctorFlags struct {
	installation.Flags
	reach             apiserver.Flags // how the API server is reached
	namespace, output string
}

// New returns the command doctor.
func New() *cobra.Command {
	f := &doctorFlags{reach: apiserver.Flags{OwnRights: true}}
	command := &cobra.Command{
		Use: "doctor [CLUSTER]", Short: "Check an installation and its clusters, and show how to fix what is wrong",
		Long: doctorLong,
		Example: `  joiner doctor            # the installation and every cluster
  joiner doctor shop -o json
  joiner doctor shop --kubeconfig ~/.kube/config`,
		Args: cli.OptionalArg("CLUSTER"), ValidArgsFunction: f.CompleteClusters(),
		RunE: func(command *cobra.Command, args []string) error { return f.run(command, args) },
	}
	f.Register(command)
	f.reach.Register(command)
	command.Flags().StringVarP(&f.namespace, "namespace", "n", "joiner", "the `NAMESPACE` of the watcher")
	cli.OutputFlag(command, &f.output, "output format")
	cli.NoFiles(command, "namespace")
	return command
}

func (f *doctorFlags) run(command *cobra.Command, args []string) error {
	ctx, stop := cli.Context(command)
	defer stop()
	at, err := f.Open(ctx)
	if err != nil {
		return err
	}
	all, err := at.Clusters(ctx, command.ErrOrStderr())
	if err != nil {
		return err
	}
	if len(args) > 0 {
		reg, err := at.Attached(all, args[0])
		if err != nil {
			return err
		}
		all = []model.Registration{reg}
	}
	r := &region{at: at, reach: &f.reach, namespace: f.namespace}
	checks := r.checks()
	for _, reg := range all {
		checks = append(checks, (&cluster{r, reg}).checks()...)
	}
	done := cli.Working(command, "checking")
	findings := check.Run(ctx, checks, check.Settings{})
	done()
	return printFindings(command, findings, f.output)
}

// checks are those of the installation.
func (r *region) checks() []check.Check {
	checks := []check.Check{
		{Name: "caller", Object: "your AWS permissions", Run: r.caller},
		{Name: "installation", Object: "parameter " + installation.Parameter, Run: r.installation},
		{Name: "ledger", Object: "table " + r.at.Table, Run: r.table},
		{Name: "clock", Object: "this machine", Run: r.clock},
	}
	if r.at.Bucket != "" {
		checks = append(checks, check.Check{Name: "bucket", Object: r.at.Bucket, Run: r.bucket})
	}
	if r.at.Stop != "" {
		checks = append(checks, check.Check{Name: "stop switch", Object: r.at.Stop, Run: r.stopSwitch})
	}
	if len(r.at.Functions) > 0 {
		checks = append(checks, check.Check{Name: "ticks", Object: "rule " + TickRule, Run: r.tickRule})
	}
	if url := r.at.Queues["notices"]; url != "" {
		checks = append(checks, check.Check{Name: "notices", Object: "EventBridge rules",
			Run: func(ctx context.Context) ([]check.Finding, error) {
				return r.notices(ctx, url)
			}})
	}
	checks = append(checks,
		check.Check{Name: "quotas", Object: "vCPUs", Run: r.ofAccount((*account.Account).Quotas)},
		check.Check{Name: "concurrency", Object: "Lambda", Run: r.ofAccount(concurrency)},
		check.Check{Name: "spot role", Object: "the account", Run: r.ofAccount((*account.Account).SpotRole)},
		check.Check{Name: "key", Object: "encryption", Run: r.key})
	for _, id := range slices.Sorted(maps.Keys(r.at.Queues)) {
		if id == "plan" { // each cluster has its own
			continue
		}
		checks = append(checks, check.Check{Name: "queue", Object: id,
			Run: func(ctx context.Context) ([]check.Finding, error) {
				return r.queue(ctx, r.at.Queues[id])
			}})
	}
	return checks
}

// checks are those of the cluster.
func (c *cluster) checks() []check.Check {
	object := "cluster " + c.reg.Cluster
	return []check.Check{
		{Name: "registration", Object: object, Run: c.registered},
		{Name: "control plane", Object: object, Run: c.plane},
		{Name: "endpoint", Object: object, Run: c.endpoint}, {Name: "API server", Object: object, Run: c.server},
		{Name: "access entries", Object: object, Run: c.entries}, {Name: "permissions", Object: object, Run: c.rights},
		{Name: "pod identity", Object: object, Run: c.identity}, {Name: "definitions", Object: object, Run: c.objects},
		{Name: "Karpenter", Object: object, Run: c.karpenter}, {Name: "watcher", Object: object, Run: c.watcher},
		{Name: "ledger items", Object: object, Run: c.ledgerItems}, {Name: "functions", Object: object, Run: c.ticks},
		{Name: "node classes", Object: object, Run: c.classes}, {Name: "stops", Object: object, Run: c.stops},
		{Name: "plan queue", Object: object, Run: c.planQueue},
	}
}

// printFindings writes findings, and is the exit status that they have.
func printFindings(command *cobra.Command, findings []check.Finding, output string) error {
	if err := cli.WriteWith(command, output, findings, check.Write, check.WriteJSON); err != nil {
		return err
	}
	if status := check.ExitStatus(findings); status != 0 {
		return cli.ExitStatus(status)
	}
	return nil
}
