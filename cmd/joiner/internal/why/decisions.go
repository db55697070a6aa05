package why

import (
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
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
	return sinceCommand(cobra.Command{
		Use: "decisions", Short: "List recorded decisions, to inspect or to replay", Long: decisionsLong,
		Example: `  joiner decisions
  joiner decisions --since 30d --cluster shop -o json | jq '.[] | select(.launched > 10)'`,
	}, (*history.Flow).Decisions, show.Decisions)
}
