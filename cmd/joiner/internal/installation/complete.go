package installation

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/model"
)

// completeWithin is how long a shell waits for names.
const completeWithin = 5 * time.Second

// Names has shells propose what find returns, and nothing where it fails: nobody reads an error there.
func Names(find func(context.Context) ([]string, error)) cobra.CompletionFunc {
	return func(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx := command.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completeWithin)
		defer cancel()
		names, err := find(ctx)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		slices.Sort(names)
		return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteClusters has shells propose the clusters that are attached.
func (f *Flags) CompleteClusters() cobra.CompletionFunc {
	return Names(func(ctx context.Context) ([]string, error) {
		at, err := f.Find(ctx)
		if err != nil {
			return nil, err
		}
		all, err := at.Clusters(ctx, io.Discard)
		var names []string
		for i := range all {
			names = append(names, all[i].Cluster)
		}
		return names, err
	})
}

// CompletePools has shells propose the NodePools that a cluster has nodes of.
func (f *Flags) CompletePools(cluster *string) cobra.CompletionFunc {
	return Names(func(ctx context.Context) ([]string, error) {
		at, err := f.Find(ctx)
		if err != nil {
			return nil, err
		}
		reg, err := at.Ledger.Cluster(ctx, *cluster)
		if err != nil {
			return nil, err
		}
		ledger, err := at.Ledger.Load(ctx, reg)
		if err != nil {
			return nil, err
		}
		return poolsOf(ledger.Claims), nil
	})
}

func poolsOf(claims []model.Claim) []string {
	var names []string
	for i := range claims {
		if claims[i].Pool != "" {
			names = append(names, claims[i].Pool)
		}
	}
	return names
}

// CompleteDecisions has shells propose the decisions of the last day.
func (f *RecordFlags) CompleteDecisions() cobra.CompletionFunc {
	return Names(func(ctx context.Context) ([]string, error) {
		at, err := f.Open(ctx)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		from, to := now.Add(-24*time.Hour).Unix(), now.Add(time.Minute).Unix()
		decisions, err := at.Store.Decisions(ctx, at.Cluster, from, to)
		if err != nil {
			return nil, err
		}
		disruptions, err := at.Store.Disruptions(ctx, at.Cluster, from, to)
		var ids []string
		for i := range decisions {
			ids = append(ids, decisions[i].ID)
		}
		for i := range disruptions {
			ids = append(ids, disruptions[i].ID)
		}
		return ids, err
	})
}

// CompleteClusters has shells propose the clusters that there are records of.
func (f *RecordFlags) CompleteClusters() cobra.CompletionFunc {
	return Names(func(ctx context.Context) ([]string, error) {
		client, bucket, err := f.find(ctx)
		if err != nil {
			return nil, err
		}
		return s3snapshot.New(client, bucket).Clusters(ctx)
	})
}
