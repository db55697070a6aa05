package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/flow/history"
)

func newWhy() *cobra.Command {
	command := &cobra.Command{
		Use:   "why",
		Short: "Show why a pod is pending, or why a node exists, stays or was removed",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newWhyPod(), newWhyNode())
	return command
}

const whyPodLong = `Shows in one line why a pod is pending and what would help soonest. Below it, the obstacles of each NodePool, the
nearest first: all of them, found by planning as if each obstacle were gone, and the node the pod would get then.
Last, the recent decisions about the pod.

` + sourceLong + `

Exit status: 0 if the question was answered, even if there is no such pod; 2 if the cluster cannot be read; 1 if the
answer cannot be written.`

const whyPodExample = `  # now, of the installation
  joiner why pod shop/web-5d4f8c7b9f-x2k9z

  # as it was two hours ago
  joiner why pod shop/web-5d4f8c7b9f-x2k9z --at -2h

  # of the cluster kubectl points at, without an installation
  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pv,pvc,storageclasses,namespaces -A -o json |
    joiner why pod shop/web-5d4f8c7b9f-x2k9z -f -`

func newWhyPod() *cobra.Command {
	flags := &sourceFlags{}
	command := &cobra.Command{
		Use: "pod NAMESPACE/NAME [-f FILE_OR_FOLDER...]", Short: "Show why a pod is pending, and what would help soonest",
		Long: whyPodLong, Example: whyPodExample, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error {
			namespace, name, found := strings.Cut(args[0], "/")
			if !found {
				namespace, name = "default", args[0]
			}
			if namespace == "" || name == "" || strings.Contains(name, "/") {
				return fmt.Errorf("%q: name the pod as NAMESPACE/NAME", args[0])
			}
			clusterState, _, err := flags.cluster(command, history.Query{})
			if err != nil {
				return err
			}
			return write(command, flags.output, explain.Pod(clusterState, namespace, name), show.WhyPod)
		},
	}
	flags.register(command)
	flags.registerAt(command)
	return command
}

const whyNodeLong = `Shows in one line why a node exists, why it stays, or who removed it and when. Name it by its NodeClaim, node or EC2
instance. Below it, the decision that launched it: for which pods, which instance types would have fit at what price,
and what EC2 refused before; why it is not disrupted; and the command that disrupts or disrupted it, with its savings.

Prices of alternatives are those of the present catalog. With files, the decision that launched a node is unknown.

` + sourceLong + `

Exit status: 0 if the question was answered, even if there is no such node; 2 if the cluster cannot be read; 1 if the
answer cannot be written.`

const whyNodeExample = `  joiner why node ip-10-0-1-23.us-west-2.compute.internal
  joiner why node i-0123456789abcdef0 --since 30d
  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pdb -A -o json | joiner why node default-x7k2p -f -`

func newWhyNode() *cobra.Command {
	flags := &sourceFlags{}
	since := ""
	command := &cobra.Command{
		Use: "node NODE|NODECLAIM|INSTANCE [-f FILE_OR_FOLDER...]", Short: "Show why a node exists, why it stays, or who removed it",
		Long: whyNodeLong, Example: whyNodeExample, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(command *cobra.Command, args []string) error {
			back, err := duration(since)
			if err != nil {
				return fmt.Errorf("--since: %w", err)
			}
			clusterState, flow, err := flags.cluster(command, history.Query{Removals: int64(back.Seconds())})
			if err != nil {
				return err
			}
			var answer *explain.NodeAnswer
			if flow != nil {
				if answer, err = flow.Node(command.Context(), clusterState, args[0]); err != nil {
					return err
				}
			} else {
				answer = explain.Node(clusterState, args[0], explain.Find(clusterState, args[0]), explain.NodeFacts{Plan: history.PlanDisruption(clusterState)})
			}
			return write(command, flags.output, answer, show.WhyNode)
		},
	}
	flags.register(command)
	flags.registerAt(command)
	command.Flags().StringVar(&since, "since", "7d", "the span in which terminated instances are searched, such as 36h or 30d")
	must(command.RegisterFlagCompletionFunc("since", cobra.NoFileCompletions))
	return command
}
