package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/attach"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/consolecmd"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/doctor"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/plan"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/proofcmd"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/replay"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/stop"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/why"
	"github.com/joiner-sh/joiner/shared/boot"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "joiner",
		Short: "Show what Joiner does for a cluster, and adopt Karpenter's nodes",
		Long: `Joiner launches the nodes that the pods of a Kubernetes cluster on AWS need, when they need them. This command shows its
decisions from files and without a cloud, with the same code that decides in your account. It also explains a running
installation, adopts the nodes of a cluster that Karpenter ran, and stops voluntary disruption.

Start with a cluster you have:

  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pdb -A -o json > cluster.json
  joiner plan provision -f cluster.json      # which nodes the pending pods need
  joiner plan disrupt -f cluster.json        # which nodes can be removed`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", err, command.CommandPath())
	})
	root.AddCommand(
		plan.New(), why.New(), why.NewSavings(), why.NewReport(), why.NewDecisions(), replay.New(), replay.NewShadow(), consolecmd.New(),
		attach.New(), attach.NewDetach(), attach.NewClusters(), doctor.NewPreflight(), doctor.New(), proofcmd.New(), attach.NewAdopt(),
		stop.New(), stop.NewResume(), stop.NewList(), newVersion(),
	)
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(command.OutOrStdout(), "joiner %s %s/%s %s\n", boot.Version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}
