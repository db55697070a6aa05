package replay

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/shadow"
)

const shadowLong = `Compares an upgrade before it is deployed: another version decides beside the deployed one, and never acts. The
deployed version records the input of each of its decisions; "joiner shadow run" of another build replays them with
its own code and stores the differences, and "joiner shadow report" lists them with their price. Inputs that the
deployed version never had are not compared.`

const shadowRunLong = `Replays each recorded decision of a time with this program's own build, of both kinds: launches and disruption. It
reaches neither a cluster, nor the ledger, nor EC2. With --follow it continues each minute with new records, until it is
interrupted, and starts where this build stopped before.

` + installation.RecordsHelp + `

Findings are written to shadow/CLUSTER/DAY/BUILD/ below the folder --out: one file for each decision that differs, and
an index for each day. With --keep they are also written to the same place in the bucket, for 30 days, which needs
s3:PutObject on shadow/*.

Exit status: 0 if all compared decisions are the same, 1 if some differ or the answer cannot be written, 2 if nothing
could be compared.`

const shadowRunExample = `  # the last day, into ./shadow
  joiner shadow run

  # a new version beside the deployed one for a week: in a pod, a CI job or on a laptop
  joiner shadow run --follow --keep --cluster shop

  # with a copy of the bucket
  aws s3 sync s3://joiner-111111111111-us-west-2 bucket && joiner shadow run --dir bucket --since 7d`

const shadowReportLong = `Lists the findings of "joiner shadow run": how many decisions are the same, and for each that differs its time, kind
and price, and the instances and commands that are added, missing, or changed. Prices are per hour: of launches the
instances of the first plan that differs, added up; of disruption the whole cluster once the commands are done, on
average.

It reads the folder --out, which needs no permissions; with --kept the bucket, which needs s3:GetObject and
s3:ListBucket on it, and ssm:GetParameter on /joiner/installation unless --bucket names it. Times in JSON are Unix
seconds, prices are in millionths of a dollar.

Exit status: 0 if all compared decisions are the same, 1 if some differ or the answer cannot be written, 2 if nothing
was compared or it cannot be read.`

const shadowReportExample = `  joiner shadow report
  joiner shadow report --kept --cluster shop --since 7d -o json | jq '.decisions[] | {decision, live, shadow}'`

const (
	followEvery = time.Minute
	followBack  = 3600 // seconds; a record is written within minutes of its decision
)

// shadowFlags are what the command line says.
type shadowFlags struct {
	installation.RecordFlags
	output, since, out, build string
	keep, follow              bool
}

// NewShadow returns the command shadow.
func NewShadow() *cobra.Command {
	command := &cobra.Command{Use: "shadow",
		Short: "Let another version decide beside the deployed one, and list the differences", Long: shadowLong,
		Args: cli.NoArgs}
	command.AddCommand(newShadowRun(), newShadowReport())
	return command
}

func newShadowRun() *cobra.Command {
	f := &shadowFlags{}
	command := &cobra.Command{
		Use: "run", Short: "Replay recorded decisions with this build", Long: shadowRunLong, Example: shadowRunExample,
		Args: cli.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return f.run(command) },
	}
	f.register(command, "24h", "keep", "store findings in the bucket")
	command.Flags().BoolVar(&f.follow, "follow", false, "continue each minute with new records")
	return command
}

func newShadowReport() *cobra.Command {
	f := &shadowFlags{}
	command := &cobra.Command{
		Use: "report", Short: "List the decisions that another version makes differently", Long: shadowReportLong,
		Example: shadowReportExample, Args: cli.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return f.report(command) },
	}
	f.register(command, "7d", "kept", "read findings that --keep stored in the bucket")
	command.Flags().StringVar(&f.build, "build", "", "the `BUILD` that replayed decisions (default: the only one)")
	cli.NoFiles(command, "build")
	return command
}

func (f *shadowFlags) register(command *cobra.Command, since, keep, usage string) {
	f.RecordFlags.Register(command)
	flags := command.Flags()
	flags.StringVar(&f.since, "since", since, "the span, a `DURATION` such as 36h or 7d; records are kept for 30 days")
	flags.StringVar(&f.out, "out", ".", "the `FOLDER` of findings")
	flags.BoolVar(&f.keep, keep, false, usage)
	cli.OutputFlag(command, &f.output, "output format")
	cli.NoFiles(command, "since")
	cli.Must(command.MarkFlagDirname("out"))
	command.MarkFlagsMutuallyExclusive("out", keep)
}

// findings returns where findings are kept.
func (f *shadowFlags) findings(at *installation.Records) *s3snapshot.Store {
	if f.keep {
		return at.Store
	}
	return s3snapshot.New(installation.FolderClient(f.out), installation.FolderBucket)
}

// run makes decisions once more, and reports.
func (f *shadowFlags) run(command *cobra.Command) error {
	from, err := cli.Since(f.since, time.Now())
	if err != nil {
		return err
	}
	ctx, stop := cli.Context(command)
	defer stop()
	at, err := f.Open(ctx)
	if err != nil {
		return err
	}
	flow := &shadow.Flow{Records: at.Store, Findings: f.findings(at), Catalogs: at.Catalogs(ctx), By: boot.Version()}
	if f.follow {
		ticker := time.NewTicker(followEvery)
		defer ticker.Stop()
		err = Follow(ctx, command.ErrOrStderr(), flow, at.Cluster, from, ticker.C)
	} else {
		done := cli.Working(command, "replaying decisions")
		_, err = flow.Run(ctx, at.Cluster, from, time.Now().Unix()+1, nil)
		done()
	}
	if err != nil {
		return err
	}
	return f.print(context.WithoutCancel(ctx), command, flow, at.Cluster, from)
}

// Follow makes decisions once more as they are recorded, from a time on and with each tick, until ctx is over, and says
// so in lines. What cannot be read now is read later.
func Follow(
	ctx context.Context, lines io.Writer, flow *shadow.Flow, cluster string, from int64, ticks <-chan time.Time,
) error {
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
			fmt.Fprintln(lines, "joiner:", err)
		default:
			from, read = max(from, now-followBack), true
		}
		if pass.Compared()+len(pass.Unanswered) > 0 {
			fmt.Fprintln(lines, passText(&pass))
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
		text += ", different " + strings.Join(p.Different, " ")
	}
	if len(p.Unanswered) > 0 {
		text += fmt.Sprintf(", %d could not be replayed: %s", len(p.Unanswered), strings.Join(p.Problems, "; "))
	}
	return text
}

// report lists what was found before.
func (f *shadowFlags) report(command *cobra.Command) error {
	from, err := cli.Since(f.since, time.Now())
	if err != nil {
		return err
	}
	ctx := command.Context()
	at, err := f.found(ctx)
	if err != nil {
		return err
	}
	flow := &shadow.Flow{Findings: at.Store}
	if flow.By, err = f.builds(ctx, at, from); err != nil {
		return err
	}
	return f.print(ctx, command, flow, at.Cluster, from)
}

// found opens where findings were kept.
func (f *shadowFlags) found(ctx context.Context) (*installation.Records, error) {
	if f.keep {
		return f.Open(ctx)
	}
	store := s3snapshot.New(installation.FolderClient(f.out), installation.FolderBucket)
	cluster := f.Cluster
	if cluster == "" {
		names, err := store.ShadowClusters(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--out: %w", err)
		case len(names) == 0:
			return nil, fmt.Errorf("--out: no findings of \"joiner shadow run\" are below %s", f.out)
		case len(names) > 1:
			return nil, fmt.Errorf("--cluster: there are findings about several clusters: name one of %s",
				strings.Join(names, ", "))
		}
		cluster = names[0]
	}
	return &installation.Records{Cluster: cluster, Store: store}, nil
}

// builds returns the build whose findings are asked for.
func (f *shadowFlags) builds(ctx context.Context, at *installation.Records, from int64) (string, error) {
	if f.build != "" {
		return f.build, nil
	}
	var all []string
	for _, day := range shadow.UTCDays(from, time.Now().Unix()+1) {
		names, err := at.Store.Shadows(ctx, at.Cluster, day)
		if err != nil {
			return "", err
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	switch len(all) {
	case 0:
		return "", fmt.Errorf("no decision of cluster %s was replayed in that time; \"joiner shadow run\" does that",
			at.Cluster)
	case 1:
		return all[0], nil
	}
	return "", fmt.Errorf("--build: several builds replayed decisions: name one of %s", strings.Join(all, ", "))
}

// print writes the report, whose verdict is the exit status.
func (f *shadowFlags) print(
	ctx context.Context, command *cobra.Command, flow *shadow.Flow, cluster string, from int64,
) error {
	report, err := flow.Report(ctx, cluster, from, time.Now().Unix()+1)
	if err != nil {
		return err
	}
	if err := cli.Write(command, f.output, report, show.Shadow); err != nil {
		return err
	}
	switch {
	case report.Compared == 0: // the report says why
		return cli.ExitStatus(2)
	case report.Different > 0:
		return cli.ExitStatus(1)
	}
	return nil
}
