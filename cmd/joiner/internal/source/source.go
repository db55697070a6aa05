package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/cli"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/input"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/ssmswitch"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/flow/history"
	"github.com/joiner-sh/joiner/shared/model"
)

// Flags say where to read a cluster from, and of which time.
type Flags struct {
	input.Flags
	Installation installation.Flags
	Name         string // of the cluster; "" = the only one
}

// Help says what both ways need.
const Help = `The cluster is read from the installation: its ledger (DynamoDB), and snapshots, records and the catalog (S3). That
needs the permissions ssm:GetParameter on /joiner/*, dynamodb:GetItem and dynamodb:Query on the table, s3:GetObject
and s3:ListBucket on the bucket, and nothing else; it changes nothing. With --dir it reads a folder instead, with the
bucket's objects as "aws s3 sync" writes them and, as ledger.json, the output of "aws dynamodb scan" of the table; the
current time is then when that file was written. With -f it reads files instead, as "joiner plan provision" takes
them, and with --context or --kubeconfig the cluster itself, and does not call AWS. These have the objects of the
cluster; only an installation knows what was launched, failed or postponed lately.

Times in JSON are Unix seconds, prices and costs are in millionths of a dollar.`

// Register adds the flags of both ways.
func (f *Flags) Register(command *cobra.Command) {
	f.RegisterInstead(command)
	f.RegisterAccount(command)
}

// RegisterAccount adds the flags of what an installation alone can answer.
func (f *Flags) RegisterAccount(command *cobra.Command) {
	f.RegisterCluster(command)
	f.Installation.RegisterDir(command)
	cli.OutputFlag(command, &f.Output, "output format")
}

// RegisterCluster adds the flags that say which cluster of which installation.
func (f *Flags) RegisterCluster(command *cobra.Command) {
	command.Flags().StringVar(&f.Name, "cluster", "", "the `CLUSTER`, as it was attached (default: the only one)")
	cli.Must(command.RegisterFlagCompletionFunc("cluster", f.Installation.CompleteClusters()))
	f.Installation.Register(command)
}

// CompletePods has shells propose the pods of the cluster, as NAMESPACE/NAME, or by their names in a namespace.
func (f *Flags) CompletePods(namespace *string) cobra.CompletionFunc {
	return f.complete(func(s *model.Snapshot) (names []string) {
		for i := range s.Pods {
			switch pod := &s.Pods[i]; {
			case pod.Buffer != "":
			case *namespace == "":
				names = append(names, pod.Key())
			case pod.Namespace == *namespace:
				names = append(names, pod.Name)
			}
		}
		return names
	})
}

// CompleteNodes has shells propose the nodes of the cluster.
func (f *Flags) CompleteNodes() cobra.CompletionFunc {
	return f.complete(func(s *model.Snapshot) (names []string) {
		for i := range s.Nodes {
			names = append(names, s.Nodes[i].Name)
		}
		return names
	})
}

// complete has shells propose what a snapshot says. Standard input is not read for it.
func (f *Flags) complete(names func(*model.Snapshot) []string) cobra.CompletionFunc {
	return installation.Names(func(ctx context.Context) ([]string, error) {
		if slices.Contains(f.Files, read.Stdin) {
			return nil, nil
		}
		silent := &cobra.Command{}
		silent.SetContext(ctx)
		silent.SetErr(io.Discard)
		state, _, err := f.Read(silent, history.Query{})
		if err != nil {
			return nil, err
		}
		return names(state.Ask.Snapshot), nil
	})
}

// RegisterAt adds the flag of the time that is asked about.
func (f *Flags) RegisterAt(command *cobra.Command) {
	command.Flags().StringVar(&f.Now, "at", "",
		"the `TIME` of the question, such as 2026-01-02T15:04:05Z or -2h (default: now)")
	cli.NoFiles(command, "at")
}

// History opens the installation and finds the cluster.
func (f *Flags) History(ctx context.Context) (*history.Flow, model.Registration, error) {
	at, err := f.Open(ctx)
	if err != nil {
		return nil, model.Registration{}, err
	}
	return f.HistoryOf(ctx, at)
}

// Open opens an installation whose bucket is known.
func (f *Flags) Open(ctx context.Context) (*installation.Session, error) {
	at, err := f.Installation.Open(ctx)
	if err != nil {
		return nil, err
	}
	if at.Bucket == "" {
		return nil, fmt.Errorf("the bucket of snapshots and records is unknown: %w", at.Unread)
	}
	return at, nil
}

// HistoryOf reads an installation, and finds the cluster in it.
func (f *Flags) HistoryOf(ctx context.Context, at *installation.Session) (*history.Flow, model.Registration, error) {
	store := at.Snapshots()
	now, err := f.Installation.Now()
	if err != nil {
		return nil, model.Registration{}, err
	}
	flow := &history.Flow{
		Registry: at.Ledger, Ledger: at.Ledger, Snapshots: store, Records: store,
		Catalogs: s3catalog.New(at.Objects(), at.Bucket, s3catalog.Settings{}),
		Now:      func() time.Time { return now },
	}
	if at.Stop != "" {
		parameters := ssmswitch.New(ssm.NewFromConfig(at.Config))
		flow.Switch = func(ctx context.Context) (string, error) { return parameters.Parameter(ctx, at.Stop) }
	}
	reg, err := flow.Registration(ctx, f.Name)
	return flow, reg, err
}

// Read reads the cluster. Of an installation the flow that has read it comes with it; of files none does.
func (f *Flags) Read(command *cobra.Command, query history.Query) (*explain.Cluster, *history.Flow, error) {
	now, err := f.Installation.Now()
	if err != nil {
		return nil, nil, err
	}
	at, err := cli.At(f.Now, now)
	if err != nil {
		return nil, nil, err
	}
	if f.Given() {
		if f.Installation.Dir != "" {
			return nil, nil, errors.New("-f, --dir: give files of a cluster or the folder of an installation, not both")
		}
		clusterState, err := f.OfFiles(command, at)
		return clusterState, nil, err
	}
	if f.Now != "" {
		query.AtUnix = at.Unix()
	}
	flow, reg, err := f.History(command.Context())
	if err != nil {
		return nil, nil, err
	}
	clusterState, err := flow.ReadCluster(command.Context(), reg, query)
	return clusterState, flow, err
}

// OfFiles reads the cluster from files.
func (f *Flags) OfFiles(command *cobra.Command, at time.Time) (*explain.Cluster, error) {
	cluster, err := f.Cluster(command.InOrStdin(), at)
	if err != nil {
		return nil, err
	}
	offered, err := f.Offered(cluster.Snapshot, at)
	if err != nil {
		return nil, err
	}
	cli.Warn(command.ErrOrStderr(), cluster.Warnings, offered.Warnings)
	claims, _ := cluster.LedgerClaims()
	return f.ClusterOf(cluster, claims, &offered, at), nil
}

// ClusterOf joins what files say with what can be bought.
func (f *Flags) ClusterOf(
	cluster *read.Cluster, claims []model.Claim, offered *input.Offered, at time.Time,
) *explain.Cluster {
	catalogs, problems := offered.Catalogs(cluster.Snapshot, claims)
	for i := range claims {
		types := model.CatalogOf(catalogs, claims[i].Class, claims[i].Pool)
		claims[i].Price = model.MicroUSD(input.Cost(&claims[i], types))
	}
	return &explain.Cluster{Ask: pack.Input{
		Snapshot: cluster.Snapshot, Catalogs: catalogs, ClassProblems: problems, Claims: claims,
		Usage: input.Usage(cluster.Snapshot, claims, catalogs), NowUnix: at.Unix(),
		IgnorePreferences: f.IgnorePreferences(), BestEffortMinValues: f.BestEffortMinValues(),
	}}
}
