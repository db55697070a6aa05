package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/shadow"
)

const shadowLong = `Stages an upgrade: a version decides beside the one that is deployed, and never acts. The deployed version records what it is asked with
each of its decisions; "joiner shadow run" of another build puts the same questions to its own code and keeps what it decides otherwise,
and "joiner shadow report" lists that with its price. What the deployed version never asked is not seen.`

const shadowRunLong = `Makes each recorded decision of a time once more with this program's own build, of both kinds: what to launch, and what to give back. It
reaches neither a cluster, nor the ledger, nor EC2. With --follow it goes on each minute with what was recorded since, until it is
interrupted, and begins where this build stopped before.

` + recordsLong + `

What it finds goes to shadow/CLUSTER/DAY/BUILD/ below the folder --out: one file for each decision that comes out otherwise, and an index
for each day. With --keep it goes to the same place in the bucket, for 30 days, which takes s3:PutObject on shadow/* as well.

Exit status: 0 where all that was compared comes out the same, 1 where some does not or the answer cannot be written, 2 where nothing could be compared.`

const shadowRunExample = `  # the last day, into ./shadow
  joiner shadow run

  # a new version beside the live one for a week: in a pod, a CI job or on a laptop
  joiner shadow run --follow --keep --cluster shop

  # of a copy of the bucket
  aws s3 sync s3://joiner-111111111111-us-west-2 bucket && joiner shadow run --dir bucket --since 7d`

const shadowReportLong = `Lists what "joiner shadow run" found: how many decisions came out the same, and of each that did not its time, kind and price, and the
machines and commands that are added, not there any more, or changed. Prices are per hour: of launches the machines of the first plan that
differs, added up; of givings back the whole cluster once they are carried out, on average.

It reads the folder --out, which takes no rights; with --kept the bucket, which takes s3:GetObject and s3:ListBucket on it, and
ssm:GetParameter on /joiner/installation where --bucket does not name it. Times in JSON are Unix seconds, prices millionths of a dollar.

Exit status: 0 where all that was compared comes out the same, 1 where some does not or the answer cannot be written, 2 where nothing was compared or it cannot be read.`

const shadowReportExample = `  joiner shadow report
  joiner shadow report --kept --cluster shop --since 7d -o json | jq '.decisions[] | {decision, live, shadow}'`

const (
	followEvery = time.Minute
	followBack  = 3600 // seconds; a record is written within minutes of its decision
)

// shadowFlags are what the command line says.
type shadowFlags struct {
	recordFlags
	output, since, out, build string
	keep, follow              bool
}

func newShadow() *cobra.Command {
	command := &cobra.Command{Use: "shadow", Short: "Let another version decide beside the live one, and list the differences", Long: shadowLong, Args: cobra.NoArgs}
	command.AddCommand(newShadowRun(), newShadowReport())
	return command
}

func newShadowRun() *cobra.Command {
	f := &shadowFlags{}
	command := &cobra.Command{
		Use: "run", Short: "Make recorded decisions once more with this build", Long: shadowRunLong, Example: shadowRunExample, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	f.register(command, "24h", "keep", "keep what is found in the bucket")
	command.Flags().BoolVar(&f.follow, "follow", false, "go on each minute with what was recorded since")
	return command
}

func newShadowReport() *cobra.Command {
	f := &shadowFlags{}
	command := &cobra.Command{
		Use: "report", Short: "List the decisions another version makes otherwise", Long: shadowReportLong, Example: shadowReportExample, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return f.report(command) },
	}
	f.register(command, "7d", "kept", "read what --keep left in the bucket")
	command.Flags().StringVar(&f.build, "build", "", "the `BUILD` that made decisions once more (default: the only one there is)")
	must(command.RegisterFlagCompletionFunc("build", cobra.NoFileCompletions))
	return command
}

func (f *shadowFlags) register(command *cobra.Command, since, keep, usage string) {
	f.recordFlags.register(command)
	flags := command.Flags()
	flags.StringVar(&f.since, "since", since, "how far back to look, a `DURATION` such as 36h or 7d; records are kept for 30 days")
	flags.StringVar(&f.out, "out", ".", "the `FOLDER` that findings are kept below")
	flags.BoolVar(&f.keep, keep, false, usage)
	choice(command, &f.output, "output", "o", outputTable, []string{outputTable, outputJSON}, "how to write the answer")
	must(command.RegisterFlagCompletionFunc("since", cobra.NoFileCompletions))
	must(command.MarkFlagDirname("out"))
	command.MarkFlagsMutuallyExclusive("out", keep)
}

// findings returns where findings are kept.
func (f *shadowFlags) findings(at *records) *s3snapshot.Store {
	if f.keep {
		return at.store
	}
	return s3snapshot.New(clientOfDir(f.out), dirBucket)
}

// run makes decisions once more, and reports.
func (f *shadowFlags) run(command *cobra.Command) error {
	from, err := sinceOf(f.since, time.Now())
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	at, err := f.recordFlags.open(ctx)
	if err != nil {
		return err
	}
	flow := &shadow.Flow{Records: at.store, Findings: f.findings(at), Catalogs: at.catalogs(ctx), By: boot.Build()}
	if f.follow {
		ticker := time.NewTicker(followEvery)
		defer ticker.Stop()
		err = f.goOn(ctx, command, flow, at.cluster, from, ticker.C)
	} else {
		_, err = flow.Run(ctx, at.cluster, from, time.Now().Unix()+1, nil)
	}
	if err != nil {
		return err
	}
	return f.print(context.WithoutCancel(ctx), command, flow, at.cluster, from)
}

// goOn makes decisions once more as they are recorded, until ctx is over. What cannot be read now is read later.
func (f *shadowFlags) goOn(ctx context.Context, command *cobra.Command, flow *shadow.Flow, cluster string, from int64, ticks <-chan time.Time) error {
	seen, read := shadow.Seen{}, false
	for {
		now := time.Now().Unix()
		pass, err := flow.Run(ctx, cluster, from, now+1, seen)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !read:
			return err
		case err != nil:
			fmt.Fprintln(command.ErrOrStderr(), "joiner:", err)
		default:
			from, read = max(from, now-followBack), true
		}
		if pass.Compared()+len(pass.Unanswered) > 0 {
			fmt.Fprintln(command.ErrOrStderr(), passText(&pass))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticks:
		}
	}
}

// passText says in a line what a pass came to.
func passText(p *shadow.Pass) string {
	text := fmt.Sprintf("%d compared: %d the same", p.Compared(), p.Same)
	if len(p.Different) > 0 {
		text += ", otherwise " + strings.Join(p.Different, " ")
	}
	if len(p.Unanswered) > 0 {
		text += fmt.Sprintf(", %d could not be made once more: %s", len(p.Unanswered), strings.Join(p.Problems, "; "))
	}
	return text
}

// report lists what was found before.
func (f *shadowFlags) report(command *cobra.Command) error {
	from, err := sinceOf(f.since, time.Now())
	if err != nil {
		return err
	}
	ctx := command.Context()
	at, err := f.found(ctx)
	if err != nil {
		return err
	}
	flow := &shadow.Flow{Findings: at.store}
	if flow.By, err = f.builds(ctx, at, from); err != nil {
		return err
	}
	return f.print(ctx, command, flow, at.cluster, from)
}

// found opens where findings were kept.
func (f *shadowFlags) found(ctx context.Context) (*records, error) {
	if f.keep {
		return f.recordFlags.open(ctx)
	}
	store := s3snapshot.New(clientOfDir(f.out), dirBucket)
	cluster := f.name
	if cluster == "" {
		names, err := store.ShadowClusters(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--out: %w", err)
		case len(names) == 0:
			return nil, fmt.Errorf("--out: nothing that \"joiner shadow run\" found is below %s", f.out)
		case len(names) > 1:
			return nil, fmt.Errorf("--cluster: there are findings about several clusters: name one of %s", strings.Join(names, ", "))
		}
		cluster = names[0]
	}
	return &records{cluster: cluster, store: store}, nil
}

// builds returns the build whose findings are asked for.
func (f *shadowFlags) builds(ctx context.Context, at *records, from int64) (string, error) {
	if f.build != "" {
		return f.build, nil
	}
	var all []string
	for _, day := range shadow.Days(from, time.Now().Unix()+1) {
		names, err := at.store.Shadows(ctx, at.cluster, day)
		if err != nil {
			return "", err
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	switch len(all) {
	case 0:
		return "", fmt.Errorf("no decision of cluster %s was made once more in that time; \"joiner shadow run\" does it", at.cluster)
	case 1:
		return all[0], nil
	}
	return "", fmt.Errorf("--build: several builds made decisions once more: name one of %s", strings.Join(all, ", "))
}

// print writes the report, whose verdict is the exit status.
func (f *shadowFlags) print(ctx context.Context, command *cobra.Command, flow *shadow.Flow, cluster string, from int64) error {
	report, err := flow.Report(ctx, cluster, from, time.Now().Unix()+1)
	if err != nil {
		return err
	}
	if err := write(command, f.output, report, func(out io.Writer, r *shadow.Report) error { return show.Shadow(out, r) }); err != nil {
		return err
	}
	switch {
	case report.Compared == 0: // the report says why
		return verdict{status: 2}
	case report.Different > 0:
		return verdict{status: 1}
	}
	return nil
}
