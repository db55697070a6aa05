package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

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
	root.AddCommand(newPlan(), newWhy(), newSavings(), newReport(), newDecisions(), newReplay(), newShadow(), newConsole(), newAttach(), newDetach(), newClusters(), newPreflight(), newDoctor(), newProof(), newAdopt(), newStop(), newResume(), newStops(), newVersion())
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
