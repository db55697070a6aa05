package why

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/source"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/flow/history"
	"github.com/joiner-sh/joiner/shared/model"
)

const reportLong = `Shows what NodePools, namespaces and workloads cost, and where most is wasted: nodes with their unrequested capacity
and why they stay, and workloads that cost far more than their requests would cost on a fitting instance type.

The price of an instance is divided among its pods by their requests. A pod's share is the largest of its shares of
the node's capacity for pods: of CPU, of memory, of each device (the dominant share of Ghodsi et al., "Dominant
Resource Fairness", NSDI 2011). If the shares of a node exceed the whole, they are scaled down to it; the rest is
idle, and is shown separately.

Launch and termination times are exact; requests are read once a --step and are taken to stay in between. Prices are
those at launch. With -f the answer is per hour, of the cluster in the files, and nodes of NodePools are priced by the
catalog.

` + source.Help + `

Exit status: 0 with an answer; 2 if the cluster cannot be read; 1 if the answer cannot be written.`

// NewReport returns the command report.
func NewReport() *cobra.Command {
	flags := &source.Flags{}
	since, step, by := "", time.Duration(0), ""
	command := &cobra.Command{
		Use:   "report [-f FILE_OR_FOLDER...]",
		Short: "Show what NodePools, namespaces and workloads cost, and what is wasted",
		Long:  reportLong, Args: cli.NoArgs,
		Example: `  joiner report
  joiner report --since 30d --step 6h --by namespace
  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pdb -A -o json | joiner report -f - --by workload`,
		RunE: func(command *cobra.Command, _ []string) error {
			from, err := sinceOf(flags, since)
			if err != nil {
				return err
			}
			cost, err := costs(command, flags, from, step)
			if err != nil {
				return err
			}
			return cli.Write(command, flags.Output, cost, func(out io.Writer, c *explain.Cost) error {
				return show.Costs(out, c, by, flags.Given())
			})
		},
	}
	flags.Register(command)
	sinceFlag(command, &since)
	command.Flags().DurationVar(&step, "step", time.Hour, "how often requests are read, a `DURATION`")
	cli.NoFiles(command, "step")
	cli.Choice(command, &by, "by", show.ByPool, []string{show.ByPool, show.ByNamespace, show.ByWorkload},
		"what the table lists")
	return command
}

// costs asks the installation, or sums up files.
func costs(command *cobra.Command, flags *source.Flags, fromUnix int64, step time.Duration) (*explain.Cost, error) {
	if !flags.Given() {
		flow, reg, err := flags.History(command.Context())
		if err != nil {
			return nil, err
		}
		return flow.Costs(command.Context(), reg, fromUnix, int64(step.Seconds()))
	}
	clusterState, err := flags.OfFiles(command, time.Now())
	if err != nil {
		return nil, err
	}
	now, claims := clusterState.Ask.NowUnix, []model.Claim{}
	for _, claim := range clusterState.Ask.Claims {
		if claim.NodeName != "" { // as long as it has been there: an hour is reported
			claim.LaunchedUnix = 1
			claims = append(claims, claim)
		}
	}
	hour := []explain.Sample{{FromUnix: now - 3600, Seconds: 3600, Snapshot: clusterState.Ask.Snapshot}}
	cost := explain.Costs(explain.InstanceLifetimes(nil, nil, claims), hour, clusterState.Ask.Catalogs)
	cost.Block(history.PlanDisruption(clusterState))
	return cost, nil
}
