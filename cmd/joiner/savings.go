package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/flow/history"
	"github.com/joiner-sh/joiner/shared/model"
)

const savingsLong = `Says what each giving back of nodes saved, against the pods it moved. A move saves what the nodes it gave back would have cost since,
less what the machines it bought in their place cost, the time when both ran included. So what was spent and what was saved come
together to what the same days would have cost without the moves.

A move is regretted where what it gave up is bought again within the hour: a machine for pods of the same workloads, or a
replacement that is itself given back. It saves nothing from then on.

Prices are those machines were launched at. Reserved capacity is paid for whether or not it is used, so that giving it back saves
nothing; it is counted apart. Of Savings Plans and Reserved Instances nothing is known: where they cover what was given back, less
is saved than this says.

It needs the rights ssm:GetParameter on /joiner/*, dynamodb:GetItem and dynamodb:Query on the table, s3:GetObject and s3:ListBucket
on the bucket. With --dir a folder is read in their place, with the bucket's objects as "aws s3 sync" makes them and, as ledger.json, what
"aws dynamodb scan" writes of the table; now is when that file was written. Times in JSON are Unix seconds, prices and sums millionths of a dollar.

Exit status: 0 with an answer; 2 where the installation cannot be read; 1 where the answer cannot be written.`

func newSavings() *cobra.Command {
	return sinceCommand(cobra.Command{
		Use: "savings", Short: "Say what giving nodes back saved, against what it disturbed", Long: savingsLong,
		Example: `  joiner savings
  joiner savings --since 30d --cluster shop -o json | jq .saved/1e6
  aws s3 sync s3://joiner-111111111111-us-west-2 copy && aws dynamodb scan --table-name joiner >copy/ledger.json && joiner savings --dir copy`,
	}, (*history.Flow).Savings, show.Savings)
}

// sinceCommand is a command that asks an installation what was from --since up to now.
func sinceCommand[A any](command cobra.Command, ask func(*history.Flow, context.Context, model.Registration, int64) (A, error), table func(io.Writer, A) error) *cobra.Command {
	flags := &sourceFlags{}
	since := ""
	command.Args = cobra.NoArgs
	command.RunE = func(command *cobra.Command, _ []string) error {
		from, err := flags.since(since)
		if err != nil {
			return err
		}
		flow, reg, err := flags.history(command.Context())
		if err != nil {
			return err
		}
		answer, err := ask(flow, command.Context(), reg, from)
		if err != nil {
			return err
		}
		return write(command, flags.output, answer, table)
	}
	flags.registerAccount(&command)
	sinceFlag(&command, &since)
	return &command
}

func sinceFlag(command *cobra.Command, since *string) {
	command.Flags().StringVar(since, "since", "7d", "how far back to look, a `DURATION` such as 36h or 30d; records are kept for 30 days")
	must(command.RegisterFlagCompletionFunc("since", cobra.NoFileCompletions))
}

// since returns the time that --since names, counted from when what is read was so.
func (f *sourceFlags) since(since string) (int64, error) {
	now, err := f.place.now()
	if err != nil {
		return 0, err
	}
	return sinceOf(since, now)
}

// sinceOf returns the time that --since names, counted from now.
func sinceOf(since string, now time.Time) (int64, error) {
	back, err := duration(since)
	if err != nil {
		return 0, fmt.Errorf("--since: %w", err)
	}
	if back == 0 {
		return 0, errors.New("--since: give more than 0")
	}
	return now.Add(-back).Unix(), nil
}

const reportLong = `Says what NodePools, namespaces and workloads cost, and where most is wasted: nodes with what nobody uses of them and why they stay, and
workloads that pay far more than their requests would cost on machines of the right shape.

A machine's price is shared out among its pods by their requests. A pod's share is the largest of its parts of what the node has for
pods: of CPU, of memory, of each device (the dominant share of Ghodsi et al., "Dominant Resource Fairness", NSDI 2011). Where the
shares of a node come to more than the whole they are scaled down to it; what they leave is idle, and is told apart.

When machines came and went is exact; requests are looked at once a --step and taken to stay in between. Prices are those machines
were launched at. With -f the answer is per hour, of the cluster as the files show it, and nodes of NodePools are priced by the
catalogue.

` + sourceLong + `

Exit status: 0 with an answer; 2 where the cluster cannot be read; 1 where the answer cannot be written.`

func newReport() *cobra.Command {
	flags := &sourceFlags{}
	since, step, by := "", time.Duration(0), ""
	command := &cobra.Command{
		Use: "report [-f FILE_OR_FOLDER...]", Short: "Say what NodePools, namespaces and workloads cost, and what is wasted",
		Long: reportLong, Args: cobra.NoArgs,
		Example: `  joiner report
  joiner report --since 30d --step 6h --by namespace
  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pdb -A -o json | joiner report -f - --by workload`,
		RunE: func(command *cobra.Command, _ []string) error {
			from, err := flags.since(since)
			if err != nil {
				return err
			}
			cost, err := flags.costs(command, from, step)
			if err != nil {
				return err
			}
			return write(command, flags.output, cost, func(out io.Writer, c *explain.Cost) error { return show.Costs(out, c, by, len(flags.files) > 0) })
		},
	}
	flags.register(command)
	sinceFlag(command, &since)
	command.Flags().DurationVar(&step, "step", time.Hour, "how often requests are looked at, a `DURATION`")
	must(command.RegisterFlagCompletionFunc("step", cobra.NoFileCompletions))
	choice(command, &by, "by", "", show.ByPool, []string{show.ByPool, show.ByNamespace, show.ByWorkload}, "what the table lists")
	return command
}

// costs asks the installation, or sums up files.
func (f *sourceFlags) costs(command *cobra.Command, fromUnix int64, step time.Duration) (*explain.Cost, error) {
	if len(f.files) == 0 {
		flow, reg, err := f.history(command.Context())
		if err != nil {
			return nil, err
		}
		return flow.Costs(command.Context(), reg, fromUnix, int64(step.Seconds()))
	}
	clusterState, err := f.ofFiles(command, time.Now())
	if err != nil {
		return nil, err
	}
	now, claims := clusterState.Ask.NowUnix, []model.Claim{}
	for _, claim := range clusterState.Ask.Claims {
		if claim.NodeName != "" { // as long as it has been there: an hour is told of
			claim.LaunchedUnix = 1
			claims = append(claims, claim)
		}
	}
	cost := explain.Costs(explain.Lives(nil, nil, claims), []explain.Sample{{FromUnix: now - 3600, Seconds: 3600, Snapshot: clusterState.Ask.Snapshot}}, clusterState.Ask.Catalogs)
	cost.Block(history.Replan(clusterState))
	return cost, nil
}
