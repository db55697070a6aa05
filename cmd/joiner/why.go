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
		Short: "Say why a pod waits, or why a node is there, stays or went",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newWhyPod(), newWhyNode())
	return command
}

const whyPodLong = `Says in one line what a pod waits for and what would help soonest. Below it, what each NodePool says, the nearest first:
all that is in the way there, found by asking the planner as if each obstacle were gone, and what the pod would get then. Last,
what was decided about the pod lately.

` + sourceLong + `

Exit status: 0 where the question was answered, also if there is no such pod; 2 where the cluster cannot be read; 1 where the answer
cannot be written.`

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
		Use: "pod NAMESPACE/NAME [-f FILE_OR_FOLDER...]", Short: "Say what a pod waits for, and what would help soonest",
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

const whyNodeLong = `Says in one line why a node is there, why it stays, or who took it away and when; it is named as a NodeClaim, a node or an EC2
instance. Below it, the decision that launched it: for which pods, which machine types would have done at what price, and what EC2
refused on the way; why it is not given back; and the command that gives or gave it back, with what that saves.

Prices of alternatives are those of the catalogue as it is now. Of files the decision that launched a node is not known.

` + sourceLong + `

Exit status: 0 where the question was answered, also if there is no such node; 2 where the cluster cannot be read; 1 where the answer
cannot be written.`

const whyNodeExample = `  joiner why node ip-10-0-1-23.us-west-2.compute.internal
  joiner why node i-0123456789abcdef0 --since 30d
  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pdb -A -o json | joiner why node default-x7k2p -f -`

func newWhyNode() *cobra.Command {
	flags := &sourceFlags{}
	since := ""
	command := &cobra.Command{
		Use: "node NODE|NODECLAIM|INSTANCE [-f FILE_OR_FOLDER...]", Short: "Say why a node is there, why it stays, or who took it away",
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
				answer = explain.Node(clusterState, args[0], explain.Find(clusterState, args[0]), explain.NodeFacts{Plan: history.Replan(clusterState)})
			}
			return write(command, flags.output, answer, show.WhyNode)
		},
	}
	flags.register(command)
	flags.registerAt(command)
	command.Flags().StringVar(&since, "since", "7d", "how far back machines that ended are looked for, such as 36h or 30d")
	must(command.RegisterFlagCompletionFunc("since", cobra.NoFileCompletions))
	return command
}
