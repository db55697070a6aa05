// Command joiner is Joiner's command line. It shows what the functions would decide, from files alone, and takes over clusters
// that Karpenter ran. It uses the very packages the functions use.
//
//	joiner plan provision -f cluster.yaml        which nodes the waiting pods need, and what they cost
//	joiner plan disrupt -f cluster.yaml          which nodes can go, what that saves, and why the others stay
//	joiner lint -f nodepool.yaml                 what an API server and the functions would say of manifests
//	joiner top                                   nodes, their load and price, and pending pods, in the terminal
//	joiner types --nodepool NODEPOOL             the instance types that can be bought, with labels and prices
//	joiner why pod NAMESPACE/NAME                what a pod waits for, and what would help soonest
//	joiner console                               the cluster in a browser
//	joiner why node NODE|NODECLAIM|INSTANCE      why it is there, why it stays, or who took it away
//	joiner savings                               what disrupting nodes saved, against what it disturbed
//	joiner report                                what NodePools, namespaces and workloads cost, and what is wasted
//	joiner replay DECISION                       a recorded decision made once more, and how it differs
//	joiner shadow run|report                     another version decides beside the live one, and what it does otherwise
//	joiner stop disruption --cluster CLUSTER     nothing is disrupted voluntarily, until joiner resume disruption
//	joiner stops                                 where that is so
//	joiner attach CLUSTER                        the cluster is the installation's from now on
//	joiner detach CLUSTER                        it leaves; with --hand-over its instances stay
//	joiner clusters                              what is attached, and how it is
//	joiner preflight CLUSTER                     what would make a deployment fail, before it is made
//	joiner doctor [CLUSTER]                      what is not as it should be, and what to do about it
//	joiner proof                                 whether AWS does in your account what is assumed of it
//	joiner adopt CLUSTER                         which nodes of Karpenter's become ours; with --yes they do
//	joiner completion bash|zsh|fish|powershell   shell completion
//	joiner version
//
// Exit status, where a command does not say otherwise: 0, 2 where the input, the cluster or the command line cannot be
// read, 1 where the result cannot be written or what was asked for is not there.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
)

func main() {
	tuneGC()
	klog.SetLogger(logr.Discard()) // errors are returned, and said once
	os.Exit(runAs(os.Args[0], os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// runAs runs the command line of a program that is called by a name.
func runAs(program string, args []string, in io.Reader, out, errs io.Writer) int {
	command := newRoot(program)
	command.SetArgs(args)
	command.SetIn(in)
	command.SetOut(out)
	command.SetErr(errs)
	err := command.Execute()
	if err == nil {
		return 0
	}
	if status := cli.ExitStatus(0); errors.As(err, &status) {
		return int(status)
	}
	fmt.Fprintln(errs, "joiner:", err)
	if errors.As(err, &cli.WriteError{}) || errors.As(err, &cli.NotFound{}) {
		return 1
	}
	return 2
}

// tuneGC lets the heap grow quickly while it is small, where collecting garbage would cost more than it frees, and holds
// it back when it is large. GOGC and GOMEMLIMIT say otherwise where they are set.
func tuneGC() {
	const (
		growPercent = 400
		limitBytes  = 940 << 20
	)
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(growPercent)
		debug.SetMemoryLimit(limitBytes)
	}
}
