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

const savingsLong = `Shows what each disruption command saved, and how many pods it moved. A command saves what the removed nodes would
have cost since, less what their replacements cost, including the time when both ran. So the amount spent and the
amount saved add up to what the same days would have cost without the commands.

A command is regretted if removed capacity is launched again within an hour: an instance for pods of the same
workloads, or if a replacement is itself disrupted. It saves nothing from then on.

Prices are those at launch. Reserved capacity is paid for whether or not it is used, so that removing it saves
nothing; it is counted separately. Savings Plans and Reserved Instances are unknown: if they cover removed instances,
the savings are less than shown.

It needs the permissions ssm:GetParameter on /joiner/*, dynamodb:GetItem and dynamodb:Query on the table, s3:GetObject
and s3:ListBucket on the bucket. With --dir it reads a folder instead, with the bucket's objects as "aws s3 sync"
writes them and, as ledger.json, the output of "aws dynamodb scan" of the table; the current time is then when that
file was written. Times in JSON are Unix seconds, prices and sums are in millionths of a dollar.

Exit status: 0 with an answer; 2 if the installation cannot be read; 1 if the answer cannot be written.`

func newSavings() *cobra.Command {
	return sinceCommand(cobra.Command{
		Use: "savings", Short: "Show what disruption commands saved, and how many pods they moved", Long: savingsLong,
		Example: `  joiner savings
  joiner savings --since 30d --cluster shop -o json | jq .savedMicroUSD/1e6
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
	command.Flags().StringVar(since, "since", "7d", "the span, a `DURATION` such as 36h or 30d; records are kept for 30 days")
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

const reportLong = `Shows what NodePools, namespaces and workloads cost, and where most is wasted: nodes with their unrequested capacity
and why they stay, and workloads that cost far more than their requests would cost on a fitting instance type.

The price of an instance is divided among its pods by their requests. A pod's share is the largest of its shares of
the node's capacity for pods: of CPU, of memory, of each device (the dominant share of Ghodsi et al., "Dominant
Resource Fairness", NSDI 2011). If the shares of a node exceed the whole, they are scaled down to it; the rest is
idle, and is shown separately.

Launch and termination times are exact; requests are read once a --step and are taken to stay in between. Prices are
those at launch. With -f the answer is per hour, of the cluster in the files, and nodes of NodePools are priced by the
catalog.

` + sourceLong + `

Exit status: 0 with an answer; 2 if the cluster cannot be read; 1 if the answer cannot be written.`

func newReport() *cobra.Command {
	flags := &sourceFlags{}
	since, step, by := "", time.Duration(0), ""
	command := &cobra.Command{
		Use: "report [-f FILE_OR_FOLDER...]", Short: "Show what NodePools, namespaces and workloads cost, and what is wasted",
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
	command.Flags().DurationVar(&step, "step", time.Hour, "how often requests are read, a `DURATION`")
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
		if claim.NodeName != "" { // as long as it has been there: an hour is reported
			claim.LaunchedUnix = 1
			claims = append(claims, claim)
		}
	}
	cost := explain.Costs(explain.InstanceLifetimes(nil, nil, claims), []explain.Sample{{FromUnix: now - 3600, Seconds: 3600, Snapshot: clusterState.Ask.Snapshot}}, clusterState.Ask.Catalogs)
	cost.Block(history.PlanDisruption(clusterState))
	return cost, nil
}
