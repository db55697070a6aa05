package lint

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/input"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/admit"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/offering"
)

const long = `Says of NodePools, EC2NodeClasses, NodeClaims that people make, NodeOverlays and CapacityBuffers what
an API server, the
admission webhook and the functions would say of them: errors, which are refused or have no effect, warnings, which are
allowed and may not be meant, and infos, of which nothing need be done. Of pods and of workloads it says
which annotations have no effect. It does not call
AWS, and changes nothing.

The input is that of "joiner plan provision": files, folders, what kustomize builds, or a cluster. Which instance types
match a NodePool is said by the built-in catalog of EC2 types, without --catalog. Whether an EC2NodeClass exists is
looked at where the input has one at least, or is a cluster.

Exit status: 0 without errors; 1 with some, with --strict also with warnings, or if the answer cannot be written; 2 if
the input cannot be read.`

const example = `  # manifests, before they are applied
  joiner lint -f nodepools.yaml -f ec2nodeclass.yaml
  joiner lint -R -f manifests/ --strict

  # what is applied
  joiner lint --context shop`

// answer is what is written as JSON.
type answer struct {
	Objects  int       `json:"objects"` // that were looked at
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Findings []finding `json:"findings"`
}

// New returns the command lint.
func New() *cobra.Command {
	flags, strict := &input.Flags{}, false
	command := &cobra.Command{
		Use:   "lint [-f FILE_OR_FOLDER...]",
		Short: "Check NodePools, EC2NodeClasses and annotations before they are applied",
		Long:  long, Example: example, Args: cli.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return run(command, flags, strict) },
	}
	flags.Register(command)
	command.Flags().BoolVar(&strict, "strict", false, "exit status 1 with warnings, too")
	return command
}

func run(command *cobra.Command, flags *input.Flags, strict bool) error {
	now, err := flags.At()
	if err != nil {
		return err
	}
	l, objects := &linter{}, 0
	cluster, err := flags.Cluster(command.InOrStdin(), now)
	switch {
	case err == nil:
		objects = cluster.Objects
		if err := l.check(cluster, flags, now); err != nil {
			return err
		}
	case !l.ofMistakes(err):
		return err
	}
	a := answer{Objects: objects, Errors: l.count(levelError), Warnings: l.count(levelWarning),
		Findings: append([]finding{}, l.sorted()...)}
	if err := cli.Write(command, flags.Output, a, write); err != nil {
		return err
	}
	if a.Errors > 0 || strict && a.Warnings > 0 {
		return cli.ExitStatus(1)
	}
	return nil
}

// check finds what is wrong with what was read.
func (l *linter) check(cluster *read.Cluster, flags *input.Flags, now time.Time) error {
	offered, err := flags.Offered(cluster.Snapshot, now)
	if err != nil {
		return err
	}
	s := cluster.Snapshot
	l.known = admit.Facts{
		InstanceTypes: offered.InstanceTypes(),
		Settings:      offering.Settings{NowUnix: now.Unix(), Region: offered.Region()},
		Objects:       len(s.Classes) > 0, Pools: s.Pools, Classes: s.Classes, Budgets: s.Budgets,
		Nodes: map[string]int{},
	}
	for i := range s.Nodes {
		l.known.Nodes[s.Nodes[i].Pool()]++
	}
	for i := range cluster.Manifest {
		if err := l.ofObject(&cluster.Manifest[i]); err != nil {
			return err
		}
	}
	l.ofSnapshot(s, &offered)
	l.ofNotes(cluster.Notes)
	return nil
}

// write writes findings for people.
func write(out io.Writer, a answer) error {
	var items [][2]string
	for i := range a.Findings {
		f := &a.Findings[i]
		head := f.Level + ": "
		if f.Object != "" {
			head += f.Object + ": "
		}
		text := f.Finding.String()
		if f.At != "" {
			text += " (" + f.At + ")"
		}
		items = append(items, [2]string{head, text})
	}
	return show.Findings(out, items, fmt.Sprintf("%s, %s, %s.", explain.Many(a.Objects, "object"),
		explain.Many(a.Errors, "error"), explain.Many(a.Warnings, "warning")))
}
