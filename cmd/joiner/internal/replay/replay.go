package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/input"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const replayLong = `Replays a recorded decision with this program's own code, from the recorded input, and shows how the result differs
from the recorded one. The same build gives the same plan, byte for byte. Another build, or the pools and classes of
--with, may not: then it shows which instances, commands and pods differ, and by what price. It changes nothing.

` + installation.RecordsHelp + `

Exit status: 0 if the result is the same, 1 if it is not or the answer cannot be written, 2 if the decision cannot be
replayed.`

const replayExample = `  joiner replay 01JB2S6CZ8E4W9D2N0K7Q5T3VA
  joiner replay 01JB2S6CZ8E4W9D2N0K7Q5T3VA --with cheaper-pool.yaml -o json
  aws s3 sync s3://joiner-111111111111-us-west-2 bucket && joiner replay 01JB2S6CZ8E4W9D2N0K7Q5T3VA --cluster prod --dir bucket`

// Answer is what a decision made once more comes to.
type Answer struct {
	Decision  string             `json:"decision"`
	Cluster   string             `json:"cluster"`
	Kind      string             `json:"kind"` // provision or disrupt
	AtUnix    int64              `json:"at"`
	Build     string             `json:"build,omitempty"` // that decided
	By        string             `json:"by"`              // that decided once more
	With      []string           `json:"with,omitempty"`  // "NodePool default": what was changed
	Identical bool               `json:"identical"`
	Rounds    []model.Difference `json:"rounds"` // one for each plan; the disruption function makes one
}

// Flags say which records are replayed, and with which files of NodePools in place of the recorded ones.
type Flags struct {
	installation.RecordFlags
	output string
	with   []string
}

// New returns the command replay.
func New() *cobra.Command {
	flags := &Flags{}
	command := &cobra.Command{
		Use: "replay DECISION [--with FILE_OR_FOLDER...]", Short: "Replay a recorded decision, and show how it differs",
		Long: replayLong, Example: replayExample, Args: cli.OneArg("DECISION"),
		ValidArgsFunction: flags.CompleteDecisions(),
		RunE: func(command *cobra.Command, args []string) error {
			done := cli.Working(command, "replaying the decision")
			answer, err := flags.Replay(command.Context(), args[0], command.InOrStdin())
			done()
			if err != nil {
				return err
			}
			if err := cli.Write(command, flags.output, answer, showReplay); err != nil {
				return err
			}
			if !answer.Identical {
				return cli.ExitStatus(1)
			}
			return nil
		},
	}
	flags.Register(command)
	cli.OutputFlag(command, &flags.output, "output format")
	command.Flags().StringArrayVar(&flags.with, "with", nil,
		"`FILE` or folder of NodePools and NodeOverlays to decide with, instead of the recorded ones; may be "+
			"repeated")
	cli.Must(command.MarkFlagFilename("with", "json", "yaml", "yml"))
	return command
}

// Replay makes the decision once more; in is what --with reads for "-".
func (f *Flags) Replay(ctx context.Context, id string, in io.Reader) (*Answer, error) {
	at, err := f.Open(ctx)
	if err != nil {
		return nil, err
	}
	store, cluster, catalogs := at.Store, at.Cluster, at.Catalogs(ctx)
	answer := &Answer{Decision: id, Cluster: cluster, By: boot.Version()}
	provisioned, err := store.FindDecision(ctx, cluster, id)
	switch {
	case err == nil:
		answer.Kind, answer.AtUnix, answer.Build = model.KindProvision, provisioned.AtUnix, provisioned.Build
		facts, err := f.facts(catalogs, provisioned.Input, provisioned.Catalog, answer, in)
		if err != nil {
			return nil, err
		}
		_, answer.Rounds = replay.ReplayAndCompare(&provisioned, facts)
	case fault.Is(err, fault.NotFound):
		evaluated, err := store.FindDisruption(ctx, cluster, id)
		if fault.Is(err, fault.NotFound) {
			return nil, fmt.Errorf("no decision %s of cluster %s is stored; they are kept for 30 days", id, cluster)
		}
		if err != nil {
			return nil, err
		}
		answer.Kind, answer.AtUnix, answer.Build = model.KindDisrupt, evaluated.AtUnix, evaluated.Build
		facts, err := f.facts(catalogs, evaluated.Recorded, evaluated.Catalog, answer, in)
		if err != nil {
			return nil, err
		}
		plan := replay.ReplayDisruption(&evaluated, facts)
		answer.Rounds = append(answer.Rounds, replay.CompareDisruption(&evaluated.Plan, &plan))
	default:
		return nil, err
	}
	answer.Identical = !slices.ContainsFunc(answer.Rounds, func(d model.Difference) bool { return !d.Identical })
	return answer, nil
}

// facts finds what the decision went by, with what --with says.
func (f *Flags) facts(
	catalogs replay.Sources, recorded *model.DecisionInput, catalog model.CatalogUse, answer *Answer, in io.Reader,
) (replay.Facts, error) {
	facts, err := catalogs.Facts(recorded, catalog)
	if err != nil {
		return facts, fmt.Errorf("decision %s cannot be replayed: %w", answer.Decision, err)
	}
	if len(f.with) == 0 {
		return facts, nil
	}
	pools, classes, overlays, err := read.Changes("--with", f.with, read.Options{Stdin: in, NowUnix: answer.AtUnix})
	if err != nil {
		return facts, err
	}
	if len(classes) > 0 { // what a class found is part of the question
		return facts,
			errors.New("--with: an EC2NodeClass stays as it was resolved then; give only NodePools and NodeOverlays")
	}
	snapshot := *facts.Snapshot
	answer.With = input.Apply(&snapshot, pools, nil, overlays).Names
	facts.Snapshot = &snapshot
	return facts, nil
}

// showReplay writes the answer for people.
func showReplay(out io.Writer, a *Answer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Decision %s (%s) of cluster %s, %s, by build %s\n", a.Decision, a.Kind, a.Cluster,
		time.Unix(a.AtUnix, 0).UTC().Format(time.RFC3339), a.Build)
	with := ""
	if len(a.With) > 0 {
		with = " with " + strings.Join(a.With, ", ") + " changed"
	}
	if a.Identical {
		fmt.Fprintf(&b, "replayed by build %s%s: identical\n", a.By, with)
	} else {
		fmt.Fprintf(&b, "replayed by build %s%s: it differs\n", a.By, with)
	}
	for _, line := range a.Differences() {
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// Differences says how each plan comes out otherwise, a line for each thing; empty where none does.
func (a *Answer) Differences() []string {
	var out []string
	for i := range a.Rounds {
		d := &a.Rounds[i]
		if d.Identical {
			continue
		}
		out = append(out, "", fmt.Sprintf("Plan %d: $%.4f per hour, was $%.4f", i+1, d.PriceIs.USD(), d.PriceWas.USD()))
		for _, line := range show.Difference(d) {
			out = append(out, "  "+line)
		}
	}
	return out
}
