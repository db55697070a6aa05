package why

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/source"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/flow/history"
)

const decisionsLong = `Lists recorded decisions, the newest first, with the ids that "joiner replay" takes: launches, with the pending pods
and the result, and disruption commands. Runs without effect are kept once an hour.

It needs the permissions ssm:GetParameter on /joiner/*, dynamodb:GetItem and dynamodb:Query on the table, s3:GetObject
and s3:ListBucket on the bucket. With --dir it reads a folder instead, with the bucket's objects as "aws s3 sync"
writes them and, as ledger.json, the output of "aws dynamodb scan" of the table; the current time is then when that
file was written. Times in JSON are Unix seconds, prices are in millionths of a dollar.

Exit status: 0 with an answer; 2 if the installation cannot be read; 1 if the answer cannot be written.`

// NewDecisions returns the command decisions.
func NewDecisions() *cobra.Command {
	flags, list, since := &source.Flags{}, &cli.List{}, ""
	command := &cobra.Command{
		Use: "decisions", Short: "List recorded decisions, to inspect or to replay", Long: decisionsLong,
		Example: `  joiner decisions
  joiner decisions --since 30d --cluster shop -o json | jq '.[] | select(.launched > 10)'
  joiner decisions -o name --since 1d | xargs -n 1 joiner replay`,
		Args: cli.NoArgs,
	}
	command.RunE = func(command *cobra.Command, _ []string) error {
		answer, err := askSince(command, flags, since, (*history.Flow).Decisions)
		if err != nil {
			return err
		}
		return cli.WriteRows(command, list, answer, func(out io.Writer, decided []explain.Decided) error {
			return show.Decisions(out, decided, !list.NoHeaders)
		}, nil, func(d explain.Decided) string { return d.ID })
	}
	flags.RegisterCluster(command)
	flags.Installation.RegisterDir(command)
	list.Register(command)
	sinceFlag(command, &since)
	return command
}
