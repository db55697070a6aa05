package main

import (
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/flow/history"
)

const decisionsLong = `Lists what was decided, the newest first, with the names that "joiner replay" takes: decisions to launch, with the pods that waited and
what came of it, and decisions to give nodes back. Looks that came to nothing are kept once an hour.

It needs the rights ssm:GetParameter on /joiner/*, dynamodb:GetItem and dynamodb:Query on the table, s3:GetObject and s3:ListBucket
on the bucket. With --dir a folder is read in their place, with the bucket's objects as "aws s3 sync" makes them and, as ledger.json, what
"aws dynamodb scan" writes of the table; now is when that file was written. Times in JSON are Unix seconds, prices millionths of a dollar.

Exit status: 0 with an answer; 2 where the installation cannot be read; 1 where the answer cannot be written.`

func newDecisions() *cobra.Command {
	return sinceCommand(cobra.Command{
		Use: "decisions", Short: "List what was decided, to look into or to make once more", Long: decisionsLong,
		Example: `  joiner decisions
  joiner decisions --since 30d --cluster shop -o json | jq '.[] | select(.launched > 10)'`,
	}, (*history.Flow).Decisions, show.Decisions)
}
