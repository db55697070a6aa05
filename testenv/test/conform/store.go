package conform

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/flow/publish"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/wire"
)

// StorePort is where the watcher publishes and planners read, and where decisions are kept.
type StorePort interface {
	publish.SnapshotStore
	port.Snapshots
	provision.Decisions
	disrupt.Decisions
	// Decided returns a decision that was kept. NotFound where there is none.
	Decided(ctx context.Context, cluster string, atUnix int64, id string) (model.Decision, error)
	// Disrupted returns a decision about giving back that was kept. NotFound where there is none.
	Disrupted(ctx context.Context, cluster string, atUnix int64, id string) (model.Disrupted, error)
}

// Store is the contract of a store. start returns an empty one for each case.
func Store(t *testing.T, start func(t *testing.T) StorePort) {
	for name, rule := range map[string]func(bucket){
		"a base comes back as it went in":                     storeKeepsBases,
		"segments carry a base on, one after the other":       storeAppliesDeltas,
		"a snapshot that was read stays what it is":           storeSharesWhatStays,
		"the same bytes are no error and others are Conflict": storeNeverOverwrites,
		"what the pointer names and is not there is NotFound": storeMisses,
		"a pointer that makes no sense is Invalid":            storeRefusesManifests,
		"epochs and clusters are apart":                       storeKeepsApart,
		"a decision is kept, and the later one of its id":     storeKeepsDecisions,
		"a decision about giving back is kept beside others":  storeKeepsDisruptions,
	} {
		t.Run(name, func(t *testing.T) { rule(bucket{start(t), t}) })
	}
}

type bucket struct {
	StorePort
	t *testing.T
}

// storeSnapshot has n pods, pod-0 to pod-<n-1>.
func storeSnapshot(cluster string, epoch, seq int64, n int) *model.Snapshot {
	s := &model.Snapshot{
		Cluster: cluster, Epoch: epoch, Seq: seq, AtUnix: ledgerBegin,
		Shapes: []model.PodShape{{Namespace: "default", Requests: model.Resources{model.Pods: 1}}},
	}
	for i := range n {
		s.Pods = append(s.Pods, model.Pod{Namespace: "default", Name: fmt.Sprintf("pod-%d", i), UID: fmt.Sprintf("uid-%d", i)})
	}
	return s
}

// base publishes a snapshot and returns the pointer to it.
func (b bucket) base(s *model.Snapshot) model.Manifest {
	b.t.Helper()
	data, err := wire.EncodeSnapshot(s)
	if err != nil {
		b.t.Fatal(err)
	}
	key, err := b.PutSnapshot(b.t.Context(), s.Cluster, s.Epoch, s.Seq, data)
	if err != nil {
		b.t.Fatal(err)
	}
	return model.Manifest{Cluster: s.Cluster, Epoch: s.Epoch, SnapshotKey: key, SnapshotSeq: s.Seq, HeadSeq: s.Seq}
}

// storeDelta is a segment that adds one pod of a name.
func storeDelta(t *testing.T, cluster string, epoch, seq int64, pod string) []byte {
	t.Helper()
	data, err := wire.EncodeDelta(&wire.Delta{
		Cluster: cluster, Epoch: epoch, Seq: seq, AtUnix: ledgerBegin, FirstShape: 1, Pods: []model.Pod{{Namespace: "default", Name: pod}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (b bucket) delta(manifest *model.Manifest, pod string) {
	b.t.Helper()
	manifest.HeadSeq++
	data := storeDelta(b.t, manifest.Cluster, manifest.Epoch, manifest.HeadSeq, pod)
	if err := b.PutDelta(b.t.Context(), manifest.Cluster, manifest.Epoch, manifest.HeadSeq, data); err != nil {
		b.t.Fatal(err)
	}
}

func (b bucket) at(manifest model.Manifest) *model.Snapshot {
	b.t.Helper()
	s, err := b.SnapshotAt(b.t.Context(), manifest)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b bucket) want(kind fault.Kind, what string, err error) {
	b.t.Helper()
	if !fault.Is(err, kind) {
		b.t.Errorf("%s: %v, want %s", what, err, kind)
	}
}

func storeKeepsBases(b bucket) {
	want := storeSnapshot("web", 3, 7, 5)
	manifest := b.base(want)
	for range 2 {
		if got := b.at(manifest); !reflect.DeepEqual(got, want) {
			b.t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func storeAppliesDeltas(b bucket) {
	manifest := b.base(storeSnapshot("web", 3, 7, 1))
	for i := 1; i < 6; i++ {
		b.delta(&manifest, fmt.Sprintf("pod-%d", i))
		if i%2 == 1 { // some are read one by one, some two at once
			if got := b.at(manifest); got.Seq != manifest.HeadSeq || len(got.Pods) != i+1 || got.Pods[i].Name != fmt.Sprintf("pod-%d", i) {
				b.t.Fatalf("at %d: %d with %d pods", manifest.HeadSeq, got.Seq, len(got.Pods))
			}
		}
	}
}

func storeSharesWhatStays(b bucket) {
	manifest := b.base(storeSnapshot("web", 1, 1, 2))
	first := b.at(manifest)
	b.delta(&manifest, "pod-9")
	if later := b.at(manifest); len(later.Pods) != 3 || len(first.Pods) != 2 || first.Seq != 1 {
		b.t.Errorf("%d pods at %d, and %d at %d", len(later.Pods), later.Seq, len(first.Pods), first.Seq)
	}
}

func storeNeverOverwrites(b bucket) {
	s := storeSnapshot("web", 1, 1, 2)
	manifest := b.base(s)
	b.base(s) // an answer that was lost
	other, err := wire.EncodeSnapshot(storeSnapshot("web", 1, 1, 3))
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = b.PutSnapshot(b.t.Context(), "web", 1, 1, other)
	b.want(fault.Conflict, "another base", err)
	b.delta(&manifest, "pod-8")
	same, changed := storeDelta(b.t, "web", 1, 2, "pod-8"), storeDelta(b.t, "web", 1, 2, "pod-9")
	if err := b.PutDelta(b.t.Context(), "web", 1, 2, same); err != nil {
		b.t.Errorf("the same segment: %v", err)
	}
	b.want(fault.Conflict, "another segment", b.PutDelta(b.t.Context(), "web", 1, 2, changed))
	if got := b.at(manifest); len(got.Pods) != 3 || got.Pods[2].Name != "pod-8" {
		b.t.Errorf("%+v", got.Pods)
	}
}

func storeMisses(b bucket) {
	manifest := b.base(storeSnapshot("web", 1, 1, 2))
	second := b.base(storeSnapshot("web", 2, 2, 2)) // its key without its number is that of any base of the epoch
	never := path.Dir(second.SnapshotKey) + "/" + path.Base(manifest.SnapshotKey)
	_, err := b.SnapshotAt(b.t.Context(), model.Manifest{Cluster: "web", Epoch: 2, SnapshotKey: never, SnapshotSeq: 1, HeadSeq: 1})
	b.want(fault.NotFound, "a base that never was", err)
	manifest.HeadSeq = 2
	_, err = b.SnapshotAt(b.t.Context(), manifest)
	b.want(fault.NotFound, "a segment that never was", err)
}

func storeRefusesManifests(b bucket) {
	manifest := b.base(storeSnapshot("web", 1, 5, 2))
	before := manifest
	before.HeadSeq = 4
	_, err := b.SnapshotAt(b.t.Context(), before)
	b.want(fault.Invalid, "a head before its base", err)
	other := manifest
	other.Cluster = "shop"
	_, err = b.SnapshotAt(b.t.Context(), other)
	b.want(fault.Invalid, "another cluster's base", err)
	_, err = b.SnapshotAt(b.t.Context(), model.Manifest{Cluster: "web", Epoch: 1, SnapshotKey: "snap/none", SnapshotSeq: 5, HeadSeq: 5})
	b.want(fault.Invalid, "what is no base of the cluster", err)
}

func storeKeepsApart(b bucket) {
	for i, manifest := range []model.Manifest{
		b.base(storeSnapshot("web", 1, 1, 1)), b.base(storeSnapshot("web", 2, 1, 2)), b.base(storeSnapshot("shop", 1, 1, 3)), b.base(storeSnapshot("web", 2, 2, 4)),
	} {
		b.delta(&manifest, "pod-x")
		if got := b.at(manifest); len(got.Pods) != i+2 {
			b.t.Errorf("%+v: %d pods, want %d", manifest, len(got.Pods), i+2)
		}
	}
}

func storeKeepsDecisions(b bucket) {
	_, err := b.Decided(b.t.Context(), "web", ledgerBegin, "01A")
	b.want(fault.NotFound, "a decision nobody took", err)
	for _, pending := range []int{3, 4} {
		decision := model.Decision{ID: "01A", Cluster: "web", AtUnix: ledgerBegin, Trigger: "batch", Pending: pending, Launched: []string{"default-1"}}
		if err := b.PutDecision(b.t.Context(), decision); err != nil {
			b.t.Fatal(err)
		}
		if kept, err := b.Decided(b.t.Context(), "web", ledgerBegin, "01A"); err != nil || !reflect.DeepEqual(kept, decision) {
			b.t.Errorf("%+v %v", kept, err)
		}
	}
}

// storeKeepsDisruptions gives both kinds of decision the same id.
func storeKeepsDisruptions(b bucket) {
	_, err := b.Disrupted(b.t.Context(), "web", ledgerBegin, "01A")
	b.want(fault.NotFound, "a decision nobody took", err)
	if err := b.PutDecision(b.t.Context(), model.Decision{ID: "01A", Cluster: "web", AtUnix: ledgerBegin, Pending: 3}); err != nil {
		b.t.Fatal(err)
	}
	for _, committed := range []string{"c-1", "c-2"} {
		decision := model.Disrupted{
			ID: "01A", Cluster: "web", AtUnix: ledgerBegin, Epoch: 2, Seq: 7, Committed: []string{committed},
			Plan: model.DisruptPlan{Commands: []model.PlannedCommand{}, Kept: []model.KeptNode{{Node: "n", Reasons: []model.KeptReason{{Code: "Busy", Message: "m"}}}}},
		}
		if err := b.PutDisruption(b.t.Context(), decision); err != nil {
			b.t.Fatal(err)
		}
		if kept, err := b.Disrupted(b.t.Context(), "web", ledgerBegin, "01A"); err != nil || !reflect.DeepEqual(kept, decision) {
			b.t.Errorf("%+v %v", kept, err)
		}
	}
	if kept, err := b.Decided(b.t.Context(), "web", ledgerBegin, "01A"); err != nil || kept.Pending != 3 {
		b.t.Errorf("the other decision of that id: %+v %v", kept, err)
	}
}
