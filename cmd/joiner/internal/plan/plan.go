package plan

import (
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
)

// New returns the command plan.
func New() *cobra.Command {
	command := &cobra.Command{
		Use:   "plan",
		Short: "Show what Joiner would do, from files and without a cloud",
		Long: `Shows what Joiner would do with a cluster that is given as files or by a kubeconfig. It does not call AWS, and changes
nothing.`,
		Args: cli.NoArgs, // with RunE, so that a misspelt command is a mistake
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newProvision(), newDisrupt())
	return command
}
