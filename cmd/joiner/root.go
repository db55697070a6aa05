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
		Short: "Shows what Joiner would do for a cluster, and takes over Karpenter's",
		Long: `Joiner gives a Kubernetes cluster on AWS the nodes its pods need, when they need them. This command shows what it
would decide, with the very code that decides in your account, from files and without a cloud, takes over the nodes of
a cluster that Karpenter ran, and stops the giving back of nodes where people want it to.

Start with a cluster you have:

  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pdb -A -o json > cluster.json
  joiner plan provision -f cluster.json      # which nodes the waiting pods need
  joiner plan disrupt -f cluster.json        # which nodes can go`,
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
			_, err := fmt.Fprintf(command.OutOrStdout(), "joiner %s %s/%s %s\n", boot.Build(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}
