package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/adapter/ssmswitch"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/flow/history"
	"github.com/joiner-sh/joiner/shared/model"
)

// sourceFlags say where to read a cluster from, and of which time.
type sourceFlags struct {
	planFlags
	policies policyFlags
	place    place
	name     string // of the cluster
}

const sourceLong = `The cluster is read from the installation: its ledger (DynamoDB), and snapshots, records and the catalog (S3). That
needs the permissions ssm:GetParameter on /joiner/*, dynamodb:GetItem and dynamodb:Query on the table, s3:GetObject
and s3:ListBucket on the bucket, and nothing else; it changes nothing. With --dir it reads a folder instead, with the
bucket's objects as "aws s3 sync" writes them and, as ledger.json, the output of "aws dynamodb scan" of the table; the
current time is then when that file was written. With -f it reads files instead, as "joiner plan provision" takes
them, and does not call AWS. Files have the objects of the cluster; only an installation knows what was launched,
failed or postponed lately.

Times in JSON are Unix seconds, prices and costs are in millionths of a dollar.`

func (f *sourceFlags) register(command *cobra.Command) {
	f.registerFiles(command)
	f.registerAccount(command)
}

// registerFiles adds the flags of a cluster given as files.
func (f *sourceFlags) registerFiles(command *cobra.Command) {
	f.asSeen = true
	flags := command.Flags()
	flags.StringArrayVarP(&f.files, "filename", "f", nil, "`FILE`, folder, or - for standard input, instead of the installation; may be repeated")
	flags.StringVar(&f.catalog, "catalog", "", "with -f: JSON `FILE` of instance types and prices (default: the built-in catalog)")
	must(command.MarkFlagFilename("filename", "json", "yaml", "yml", "gz"))
	must(command.MarkFlagFilename("catalog", "json", "gz"))
	f.policies.register(command)
}

// registerAccount adds the flags of what an installation alone can answer.
func (f *sourceFlags) registerAccount(command *cobra.Command) {
	f.registerCluster(command)
	f.place.registerDir(command)
	choice(command, &f.output, "output", "o", outputTable, []string{outputTable, outputJSON}, "output format")
}

// registerCluster adds the flags that say which cluster of which installation.
func (f *sourceFlags) registerCluster(command *cobra.Command) {
	command.Flags().StringVar(&f.name, "cluster", "", "the `CLUSTER`, as it was attached (default: the only one)")
	must(command.RegisterFlagCompletionFunc("cluster", cobra.NoFileCompletions))
	f.place.register(command)
}

func (f *sourceFlags) registerAt(command *cobra.Command) {
	command.Flags().StringVar(&f.now, "at", "", "the `TIME` of the question, such as 2026-01-02T15:04:05Z or -2h (default: now)")
	must(command.RegisterFlagCompletionFunc("at", cobra.NoFileCompletions))
}

// when returns the time that is asked about: --at, of which a negative duration counts from now.
func when(flag string, now time.Time) (time.Time, error) {
	if flag == "" {
		return now, nil
	}
	if before, isDuration := strings.CutPrefix(flag, "-"); isDuration {
		d, err := duration(before)
		if err != nil {
			return now, fmt.Errorf("--at: %q: not a time; write one such as 2026-01-02T15:04:05Z or -2h", flag)
		}
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, flag)
	if err != nil {
		return now, fmt.Errorf("--at: %q: not a time; write one such as 2026-01-02T15:04:05Z or -2h", flag)
	}
	return at, nil
}

// duration reads 90m, 36h, or 7d.
func duration(text string) (time.Duration, error) {
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err != nil || fmt.Sprint(n) != days || n < 0 {
			return 0, fmt.Errorf("%q: not a duration; write one such as 7d or 36h", text)
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q: not a duration; write one such as 7d or 36h", text)
	}
	return d, nil
}

// history opens the installation and finds the cluster.
func (f *sourceFlags) history(ctx context.Context) (*history.Flow, model.Registration, error) {
	at, err := f.installation(ctx)
	if err != nil {
		return nil, model.Registration{}, err
	}
	return f.historyOf(ctx, at)
}

// installation opens one whose bucket is known.
func (f *sourceFlags) installation(ctx context.Context) (*session, error) {
	at, err := f.place.open(ctx)
	if err != nil {
		return nil, err
	}
	if at.Bucket == "" {
		return nil, fmt.Errorf("the bucket of snapshots and records is unknown: %w", at.unread)
	}
	return at, nil
}

// objects reaches the installation's S3.
func (o *session) objects() *s3.Client {
	if o.dir != "" {
		return clientOfDir(o.dir)
	}
	return s3.NewFromConfig(o.config, func(options *s3.Options) { options.UsePathStyle = options.BaseEndpoint != nil })
}

// snapshots returns a store of snapshots and records that has nothing in memory.
func (o *session) snapshots() *s3snapshot.Store { return s3snapshot.New(o.objects(), o.Bucket) }

// historyOf reads an installation, and finds the cluster in it.
func (f *sourceFlags) historyOf(ctx context.Context, at *session) (*history.Flow, model.Registration, error) {
	store := at.snapshots()
	now, err := f.place.now()
	if err != nil {
		return nil, model.Registration{}, err
	}
	flow := &history.Flow{
		Registry: at.ledger, Ledger: at.ledger, Snapshots: store, Records: store, Catalogs: s3catalog.New(at.objects(), at.Bucket, s3catalog.Settings{}),
		Now: func() time.Time { return now },
	}
	if at.Stop != "" {
		parameters := ssmswitch.New(ssm.NewFromConfig(at.config))
		flow.Switch = func(ctx context.Context) (string, error) { return parameters.Parameter(ctx, at.Stop) }
	}
	reg, err := flow.Registration(ctx, f.name)
	return flow, reg, err
}

// cluster reads the cluster. Of an installation the flow that has read it comes with it; of files none does.
func (f *sourceFlags) cluster(command *cobra.Command, query history.Query) (*explain.Cluster, *history.Flow, error) {
	now, err := f.place.now()
	if err != nil {
		return nil, nil, err
	}
	at, err := when(f.now, now)
	if err != nil {
		return nil, nil, err
	}
	if len(f.files) > 0 {
		if f.place.dir != "" {
			return nil, nil, errors.New("-f, --dir: give files of a cluster or the folder of an installation, not both")
		}
		clusterState, err := f.ofFiles(command, at)
		return clusterState, nil, err
	}
	if f.now != "" {
		query.AtUnix = at.Unix()
	}
	flow, reg, err := f.history(command.Context())
	if err != nil {
		return nil, nil, err
	}
	clusterState, err := flow.ReadCluster(command.Context(), reg, query)
	return clusterState, flow, err
}

// ofFiles reads the cluster from files.
func (f *sourceFlags) ofFiles(command *cobra.Command, at time.Time) (*explain.Cluster, error) {
	cluster, err := f.policies.cluster(command.InOrStdin(), &f.planFlags, at)
	if err != nil {
		return nil, err
	}
	offered, err := f.policies.catalogInput(&f.planFlags, cluster, at)
	if err != nil {
		return nil, err
	}
	warn(command.ErrOrStderr(), cluster.Warnings, offered.warnings)
	claims, _ := cluster.LedgerClaims()
	return f.clusterOf(cluster, claims, &offered, at), nil
}

// clusterOf joins what files say with what can be bought.
func (f *sourceFlags) clusterOf(cluster *read.Cluster, claims []model.Claim, offered *catalogInput, at time.Time) *explain.Cluster {
	catalogs, problems := offered.catalogs(cluster.Snapshot, claims)
	for i := range claims {
		claims[i].Price = model.MicroUSD(costs(&claims[i], catalogs[claims[i].Class]))
	}
	return &explain.Cluster{Ask: pack.Input{
		Snapshot: cluster.Snapshot, Catalogs: catalogs, ClassProblems: problems, Claims: claims,
		Usage: usage(cluster.Snapshot, claims, catalogs), NowUnix: at.Unix(),
		IgnorePreferences: f.policies.preferences == ignore, BestEffortMinValues: f.policies.minValues == bestEffort,
	}}
}

// write writes an answer as the command line asks for.
func write[A any](command *cobra.Command, output string, answer A, table func(io.Writer, A) error) error {
	err := error(nil)
	if output == outputJSON {
		err = show.Indented(command.OutOrStdout(), answer)
	} else {
		err = table(command.OutOrStdout(), answer)
	}
	if err != nil {
		return writeError{err}
	}
	return nil
}
