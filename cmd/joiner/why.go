package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/explain"
)

func newWhy() *cobra.Command {
	command := &cobra.Command{
		Use:   "why",
		Short: "Say why a pod waits, or why a node is there, stays or went",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newWhyPod())
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
			scene, err := flags.scene(command)
			if err != nil {
				return err
			}
			return write(command, flags.output, explain.Pod(scene, namespace, name), show.WhyPod)
		},
	}
	flags.register(command)
	return command
}
