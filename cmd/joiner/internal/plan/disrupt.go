package plan

import (
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/input"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

const disruptLong = `Reads a cluster and shows which nodes voluntary disruption would remove now: empty nodes, drifted nodes,
nodes that expire within budgets, and nodes whose pods fit elsewhere for less. It shows their replacements, the pods
that move, and the savings, and why every other node stays. It does not call AWS, and changes nothing.

The input (-f) is that of "joiner plan provision". Include PodDisruptionBudgets, which restrict evictions, and
NodeClaims, which have the age of a node, its last pod event, and its drift. For a node of a NodePool without one, a
claim is made up from the node's labels, with a warning. Without its NodePool and EC2NodeClass (or a --catalog) a node
stays. The headroom of CapacityBuffers moves as pods do, and a node with headroom is not empty.

All nodes that can be disrupted at once, within the present budgets, are one plan. Its commands run in their order,
and each is valid after those before it. The replacements of a command are ready before any of its nodes is drained.
The reasons against a node are listed for each node: an annotation, a PodDisruptionBudget, a budget of its NodePool,
pods that were bound or left less than consolidateAfter ago, pods that fit nowhere else.

--with takes NodePools, EC2NodeClasses and NodeOverlays that are not applied yet. The plan is then that of the cluster
with them, and "drift" has the nodes that would have drifted, by the rule that the functions use, to preview an edit
before applying it. For an EC2NodeClass only its spec is compared; its selectors are not resolved.

"joiner plan provision --help" describes the catalog of instance types (--catalog).

Exit status: 0 with a plan, even if it is empty; 2 if the input cannot be read, with file, document and field on
standard error; 1 if the plan cannot be written.`

const disruptExample = `  # the cluster kubectl points at, as it is now
  joiner plan disrupt

  # as somebody else has listed it
  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pdb,pv,pvc,storageclasses -A -o json |
    joiner plan disrupt -f -

  # what an edit of a NodePool would replace
  joiner plan disrupt -f cluster.yaml --with nodepool.yaml

  # what could be removed at two in the morning, and what it saves in a month of 730 hours
  joiner plan disrupt -f cluster.yaml --now 2026-03-01T02:00:00Z -o json |
    jq '(.priceBeforeMicroUSDPerHour - .priceAfterMicroUSDPerHour) * 730 / 1e6'`

// disruptFlags are what the command line says.
type disruptFlags struct {
	input.Flags
	with       []string
	spotToSpot bool
}

func newDisrupt() *cobra.Command {
	flags := &disruptFlags{}
	command := &cobra.Command{
		Use:   "disrupt [-f FILE_OR_FOLDER...]",
		Short: "Show which nodes can be disrupted, their replacements, and the savings",
		Long:  disruptLong, Example: disruptExample, Args: cli.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return flags.run(command) },
	}
	flags.Register(command)
	command.Flags().StringArrayVar(&flags.with, "with", nil,
		"`FILE` of NodePools, classes, NodeOverlays to plan as if applied; repeatable")
	command.Flags().BoolVar(&flags.spotToSpot, "spot-to-spot", false, "replace spot nodes by cheaper spot nodes")
	cli.Must(command.MarkFlagFilename("with", "json", "yaml", "yml", "gz"))
	return command
}

func (f *disruptFlags) run(command *cobra.Command) error {
	if slices.Contains(f.Files, read.Stdin) && slices.Contains(f.with, read.Stdin) {
		return errors.New("--with -: standard input is read by -f already; give one of them a file")
	}
	now, err := f.At()
	if err != nil {
		return err
	}
	cluster, err := f.Cluster(command.InOrStdin(), now)
	if err != nil {
		return err
	}
	var pools []model.Pool
	var classes []model.Class
	var overlays []model.Overlay
	if len(f.with) > 0 {
		if pools, classes, overlays, err = read.Changes("--with", f.with,
			read.Options{Stdin: command.InOrStdin(), NowUnix: now.Unix()}); err != nil {
			return err
		}
	}
	change := input.Apply(cluster.Snapshot, pools, classes, overlays)
	offered, err := f.Offered(cluster.Snapshot, now)
	if err != nil {
		return err
	}
	claims, madeUp := cluster.LedgerClaims()
	result, catalogs := f.plan(cluster.Snapshot, claims, change, &offered, now)
	cli.Warn(command.ErrOrStderr(), cluster.Warnings, input.Unclaimed(madeUp), input.Unpriced(claims, catalogs),
		change.Warnings, offered.Warnings)
	return cli.WriteWith(command, f.Output, result, show.Disrupt, show.DisruptJSON)
}

// plan makes the plan, of what each class can buy, which it returns too. Its time is counted from the decoded input on.
func (f *disruptFlags) plan(
	snapshot *model.Snapshot, claims []model.Claim, change *input.Changes, offered *input.Offered, now time.Time,
) (*show.DisruptResult, map[string][]model.InstanceType) {
	start := time.Now()
	catalogs, problems := offered.Catalogs(snapshot, claims)
	drift := change.Drift(claims, catalogs, now.Unix())
	held := input.Usage(snapshot, claims, catalogs)
	settings := disruption.Settings{
		SpotToSpot: f.spotToSpot, IgnorePreferences: f.IgnorePreferences(),
		BestEffortMinValues: f.BestEffortMinValues(),
	}
	result := &show.DisruptResult{Changed: change.Names, With: len(f.with) > 0, Drift: drift, Claims: claims,
		Snapshot: snapshot}
	result.Plan = disruption.Plan(disruption.Input{
		Snapshot: snapshot, Catalogs: catalogs, ClassProblems: problems, Claims: claims, Usage: held,
		NowUnix: now.Unix(), Settings: settings, Salt: "plan",
	})
	if waits(snapshot) {
		result.Headroom = headroom(snapshot)
		result.Waiting = pack.Plan(pack.Input{
			Snapshot: snapshot, Catalogs: catalogs, ClassProblems: problems, Claims: claims, Usage: held,
			NowUnix:           now.Unix(),
			IgnorePreferences: settings.IgnorePreferences, BestEffortMinValues: settings.BestEffortMinValues,
		})
	}
	result.PlanSeconds = time.Since(start).Seconds()
	return result, catalogs
}

// waits reports whether any pod waits for capacity.
func waits(snapshot *model.Snapshot) bool {
	for i := range snapshot.Pods {
		if pod := &snapshot.Pods[i]; pod.NodeName == "" && !pod.Terminal() {
			if ok, _ := pack.Provisionable(snapshot, i); ok {
				return true
			}
		}
	}
	return false
}
