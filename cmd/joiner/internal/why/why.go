package why

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/source"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/flow/history"
)

// New returns the command why.
func New() *cobra.Command {
	command := &cobra.Command{
		Use:   "why",
		Short: "Show why a pod is pending, or why a node exists, stays or was removed",
		Args:  cli.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newPod(), newNode())
	return command
}

// writeAnswer writes an answer. That there is no such thing is said on standard error, with exit status 1, and to
// programs where they look for the answer.
func writeAnswer[A any](
	command *cobra.Command, output string, answer A, table func(io.Writer, A) error, code string,
) error {
	if code != explain.NotThere {
		return cli.Write(command, output, answer, table)
	}
	var err error
	if output == cli.Table {
		err = cli.Written(table(command.ErrOrStderr(), answer))
	} else {
		err = cli.Write(command, output, answer, table)
	}
	if err != nil {
		return err
	}
	return cli.ExitStatus(1)
}

const podLong = `Shows in one line why a pod is pending and what would help soonest. Below it, the obstacles of each NodePool, the
nearest first: all of them, found by planning as if each obstacle were gone, and the node the pod would get then.
Last, the recent decisions about the pod.

` + source.Help + `

Exit status: 0 if the question was answered; 1 if there is no such pod, or the answer cannot be written; 2 if the
cluster cannot be read.`

const podExample = `  # now, of the installation
  joiner why pod shop/web-5d4f8c7b9f-x2k9z

  # as it was two hours ago
  joiner why pod shop/web-5d4f8c7b9f-x2k9z --at -2h

  # of the cluster kubectl points at, without an installation
  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pv,pvc,storageclasses,namespaces -A -o json |
    joiner why pod shop/web-5d4f8c7b9f-x2k9z -f -`

func newPod() *cobra.Command {
	flags, namespace := &source.Flags{}, ""
	command := &cobra.Command{
		Use:   "pod NAMESPACE/NAME [-f FILE_OR_FOLDER...]",
		Short: "Show why a pod is pending, and what would help soonest",
		Long:  podLong, Example: podExample,
		Args: cli.OneArg("NAMESPACE/NAME"), ValidArgsFunction: flags.CompletePods(&namespace),
		RunE: func(command *cobra.Command, args []string) error {
			in, name, found := strings.Cut(args[0], "/")
			if !found {
				in, name = cmp.Or(namespace, flags.Namespace()), args[0]
			}
			if in == "" || name == "" || strings.Contains(name, "/") {
				return fmt.Errorf("%q: name the pod as NAMESPACE/NAME", args[0])
			}
			if namespace != "" && in != namespace {
				return fmt.Errorf("-n %s: the pod %s is named with another namespace; leave one out", namespace,
					args[0])
			}
			clusterState, _, err := flags.Read(command, history.Query{})
			if err != nil {
				return err
			}
			answer := explain.Pod(clusterState, in, name)
			return writeAnswer(command, flags.Output, answer, show.WhyPod, answer.Cause.Code)
		},
	}
	flags.Register(command)
	flags.RegisterAt(command)
	command.Flags().StringVarP(&namespace, "namespace", "n", "",
		"the pod's `NAMESPACE` (default: that of the kubeconfig, else default)")
	cli.NoFiles(command, "namespace")
	return command
}

const nodeLong = `Shows in one line why a node exists, why it stays, or who removed it and when. Name it by its NodeClaim, node or EC2
instance. Below it, the decision that launched it: for which pods, which instance types would have fit at what price,
and what EC2 refused before; why it is not disrupted; and the command that disrupts or disrupted it, with its savings.

Prices of alternatives are those of the present catalog. With files, the decision that launched a node is unknown.

` + source.Help + `

Exit status: 0 if the question was answered; 1 if there is no such node, or the answer cannot be written; 2 if the
cluster cannot be read.`

const nodeExample = `  joiner why node ip-10-0-1-23.us-west-2.compute.internal
  joiner why node i-0123456789abcdef0 --since 30d
  kubectl get pods,nodes,daemonsets,nodepools,nodeclaims,ec2nodeclasses,pdb -A -o json | joiner why node default-x7k2p -f -`

func newNode() *cobra.Command {
	flags := &source.Flags{}
	since := ""
	command := &cobra.Command{
		Use:   "node NODE|NODECLAIM|INSTANCE [-f FILE_OR_FOLDER...]",
		Short: "Show why a node exists, why it stays, or who removed it",
		Long:  nodeLong, Example: nodeExample,
		Args: cli.OneArg("NODE|NODECLAIM|INSTANCE"), ValidArgsFunction: flags.CompleteNodes(),
		RunE: func(command *cobra.Command, args []string) error {
			back, err := cli.Duration(since)
			if err != nil {
				return fmt.Errorf("--since: %w", err)
			}
			clusterState, flow, err := flags.Read(command, history.Query{Removals: int64(back.Seconds())})
			if err != nil {
				return err
			}
			var answer *explain.NodeAnswer
			if flow != nil {
				if answer, err = flow.Node(command.Context(), clusterState, args[0]); err != nil {
					return err
				}
			} else {
				answer = explain.Node(clusterState, args[0], explain.Find(clusterState, args[0]),
					explain.NodeFacts{Plan: history.PlanDisruption(clusterState)})
			}
			return writeAnswer(command, flags.Output, answer, show.WhyNode,
				answer.Cause.Code)
		},
	}
	flags.Register(command)
	flags.RegisterAt(command)
	command.Flags().StringVar(&since, "since", "7d",
		"the span in which terminated instances are searched, such as 36h or 30d")
	cli.NoFiles(command, "since")
	return command
}
