package why

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/source"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
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

// NewSavings returns the command savings.
func NewSavings() *cobra.Command {
	flags, since := &source.Flags{}, ""
	command := &cobra.Command{
		Use: "savings", Short: "Show what disruption commands saved, and how many pods they moved", Long: savingsLong,
		Args: cli.NoArgs,
		Example: `  joiner savings
  joiner savings --since 30d --cluster shop -o json | jq .savedMicroUSD/1e6
  aws s3 sync s3://joiner-111111111111-us-west-2 copy && aws dynamodb scan --table-name joiner >copy/ledger.json && joiner savings --dir copy`,
	}
	command.RunE = func(command *cobra.Command, _ []string) error {
		answer, err := askSince(command, flags, since, (*history.Flow).Savings)
		if err != nil {
			return err
		}
		return cli.Write(command, flags.Output, answer, show.Savings)
	}
	flags.RegisterAccount(command)
	sinceFlag(command, &since)
	return command
}

// askSince asks an installation what was from --since up to now.
func askSince[A any](
	command *cobra.Command, flags *source.Flags, since string,
	ask func(*history.Flow, context.Context, model.Registration, int64) (A, error),
) (answer A, err error) {
	from, err := sinceOf(flags, since)
	if err != nil {
		return answer, err
	}
	flow, reg, err := flags.History(command.Context())
	if err != nil {
		return answer, err
	}
	return ask(flow, command.Context(), reg, from)
}

func sinceFlag(command *cobra.Command, since *string) {
	command.Flags().StringVar(since, "since", "7d",
		"the span, a `DURATION` such as 36h or 30d; records are kept for 30 days")
	cli.NoFiles(command, "since")
}

// sinceOf returns the time that --since names, counted from when what is read was so.
func sinceOf(flags *source.Flags, since string) (int64, error) {
	now, err := flags.Installation.Now()
	if err != nil {
		return 0, err
	}
	return cli.Since(since, now)
}
