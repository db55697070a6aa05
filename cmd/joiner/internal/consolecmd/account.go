package consolecmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/console"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/replay"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/source"
	"github.com/joiner-sh/joiner/shared/flow/history"
	"github.com/joiner-sh/joiner/shared/model"
)

// fullReadEvery is between two readings of the whole ledger, where the watcher has published nothing new.
const fullReadEvery = 10 * time.Second

// accountSource reads a cluster from an installation.
type accountSource struct {
	flow *history.Flow
	reg  model.Registration
	peek func(ctx context.Context, cluster string) (*model.Manifest, model.DisruptNotes, int64, error)
	from *source.Flags

	mu       sync.Mutex
	shown    *console.Cluster
	manifest model.Manifest // that is shown
	readAt   time.Time
}

// newAccountSource takes the installation of the flags.
func newAccountSource(ctx context.Context, from *source.Flags) (*accountSource, error) {
	at, err := from.Open(ctx)
	if err != nil {
		return nil, err
	}
	flow, reg, err := from.HistoryOf(ctx, at)
	if err != nil {
		return nil, err
	}
	flow.Records = &memory{Records: flow.Records}
	return &accountSource{flow: flow, reg: reg, peek: at.Ledger.Peek, from: from}, nil
}

// Read reads the cluster where its watcher has published something, and every ten seconds; else it asks for one item.
func (a *accountSource) Read(ctx context.Context) (*console.Cluster, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shown != nil && time.Since(a.readAt) < fullReadEvery {
		manifest, _, _, err := a.peek(ctx, a.reg.Cluster)
		if err != nil {
			return nil, err
		}
		if manifest != nil && manifest.Epoch == a.manifest.Epoch && manifest.HeadSeq == a.manifest.HeadSeq {
			return a.shown, nil
		}
	}
	clusterState, err := a.flow.ReadCluster(ctx, a.reg, history.Query{})
	if err != nil {
		return nil, err
	}
	from := fmt.Sprintf("account %s, %s", cmp.Or(a.reg.Account, "not known"), a.reg.Region)
	a.shown, a.readAt = console.NewCluster(a.reg.Cluster, from, clusterState), time.Now()
	a.manifest = *clusterState.Installation.Ledger.Manifest
	return a.shown, nil
}

// Records returns what is recorded.
func (a *accountSource) Records(ctx context.Context, fromUnix, toUnix int64) (out console.Records, err error) {
	if out.Decisions, err = a.flow.Records.Decisions(ctx, a.reg.Cluster, fromUnix, toUnix); err != nil {
		return out, err
	}
	if out.Disruptions, err = a.flow.Records.Disruptions(ctx, a.reg.Cluster, fromUnix, toUnix); err != nil {
		return out, err
	}
	// nothing came of them
	out.Disruptions = slices.DeleteFunc(out.Disruptions,
		func(d model.Disrupted) bool { return len(d.Plan.Commands) == 0 })
	out.Removals, err = a.flow.Records.Removals(ctx, a.reg.Cluster, fromUnix, toUnix)
	return out, err
}

// Replay makes a recorded decision once more, as joiner replay does.
func (a *accountSource) Replay(ctx context.Context, id string) (console.Replayed, error) {
	again := replay.Flags{RecordFlags: installation.RecordFlags{Region: a.from.Installation.Region,
		Profile: a.from.Installation.Profile, Cluster: a.reg.Cluster}}
	answer, err := again.Replay(ctx, id, nil)
	if err != nil {
		return console.Replayed{}, err
	}
	lines := slices.DeleteFunc(answer.Differences(), func(line string) bool { return line == "" })
	return console.Replayed{Identical: answer.Identical, Recorded: answer.Build, Build: answer.By, Differences: lines},
		nil
}
