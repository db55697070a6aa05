package main

import (
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/attach"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/consolecmd"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/doctor"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/lint"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/plan"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/proofcmd"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/replay"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/stop"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/top"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/types"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/why"
)

// newRoot returns the command of the program, by the name that it is called.
func newRoot(program string) *cobra.Command {
	root := &cobra.Command{
		Use:   "joiner",
		Short: "Show what Joiner does for a cluster, and adopt Karpenter's nodes",
		Long: `Joiner launches the nodes that the pods of a Kubernetes cluster on AWS need, when they need them. This command shows its
decisions from files and without a cloud, with the same code that decides in your account. It also explains a running
installation, adopts the nodes of a cluster that Karpenter ran, and stops voluntary disruption.

Start with the cluster that your kubeconfig names:

  joiner plan provision                      # which nodes the pending pods need
  joiner plan disrupt                        # which nodes can be removed
  joiner plan provision -f deployment.yaml -f nodepools.yaml`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       cli.VersionText(),
		Args:          cli.NoArgs, // with RunE, so that a misspelt command is a mistake
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(cli.FlagError)
	root.AddCommand(
		plan.New(), lint.New(), top.New(), types.New(), why.New(), why.NewSavings(),
		why.NewReport(), why.NewDecisions(), replay.New(), replay.NewShadow(), consolecmd.New(),
		attach.New(), attach.NewDetach(), attach.NewClusters(), doctor.NewPreflight(), doctor.New(),
		proofcmd.New(), attach.NewAdopt(),
		stop.New(), stop.NewResume(), stop.NewList(), cli.NewVersion(),
	)
	cli.Prepare(root, program)
	return root
}
