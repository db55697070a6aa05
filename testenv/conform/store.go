package conform

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/flow/forward"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// StorePort is where the watcher publishes and planners read, and where decisions are kept.
type StorePort interface {
	forward.Publisher
	provision.Snapshots
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
		"segments carry a base on, one after the other":       storeAppliesSegments,
		"a snapshot that was read stays what it is":           storeSharesWhatStays,
		"the same bytes are no error and others are Conflict": storeNeverOverwrites,
		"what the pointer names and is not there is NotFound": storeMisses,
		"a pointer that makes no sense is Invalid":            storeRefusesPointers,
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
func (b bucket) base(s *model.Snapshot) model.Pointer {
	b.t.Helper()
	data, err := wire.EncodeBase(s)
	if err != nil {
		b.t.Fatal(err)
	}
	key, err := b.PutBase(b.t.Context(), s.Cluster, s.Epoch, s.Seq, data)
	if err != nil {
		b.t.Fatal(err)
	}
	return model.Pointer{Cluster: s.Cluster, Epoch: s.Epoch, BaseKey: key, BaseSeq: s.Seq, HeadSeq: s.Seq}
}

// storeDelta is a segment that adds one pod of a name.
func storeDelta(t *testing.T, cluster string, epoch, seq int64, pod string) []byte {
	t.Helper()
	data, err := wire.EncodeSegment(&wire.Delta{
		Cluster: cluster, Epoch: epoch, Seq: seq, AtUnix: ledgerBegin, FirstShape: 1, Pods: []model.Pod{{Namespace: "default", Name: pod}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (b bucket) segment(pointer *model.Pointer, pod string) {
	b.t.Helper()
	pointer.HeadSeq++
	data := storeDelta(b.t, pointer.Cluster, pointer.Epoch, pointer.HeadSeq, pod)
	if err := b.PutSegment(b.t.Context(), pointer.Cluster, pointer.Epoch, pointer.HeadSeq, data); err != nil {
		b.t.Fatal(err)
	}
}

func (b bucket) at(pointer model.Pointer) *model.Snapshot {
	b.t.Helper()
	s, err := b.At(b.t.Context(), pointer)
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
	pointer := b.base(want)
	for range 2 {
		if got := b.at(pointer); !reflect.DeepEqual(got, want) {
			b.t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func storeAppliesSegments(b bucket) {
	pointer := b.base(storeSnapshot("web", 3, 7, 1))
	for i := 1; i < 6; i++ {
		b.segment(&pointer, fmt.Sprintf("pod-%d", i))
		if i%2 == 1 { // some are read one by one, some two at once
			if got := b.at(pointer); got.Seq != pointer.HeadSeq || len(got.Pods) != i+1 || got.Pods[i].Name != fmt.Sprintf("pod-%d", i) {
				b.t.Fatalf("at %d: %d with %d pods", pointer.HeadSeq, got.Seq, len(got.Pods))
			}
		}
	}
}

func storeSharesWhatStays(b bucket) {
	pointer := b.base(storeSnapshot("web", 1, 1, 2))
	first := b.at(pointer)
	b.segment(&pointer, "pod-9")
	if later := b.at(pointer); len(later.Pods) != 3 || len(first.Pods) != 2 || first.Seq != 1 {
		b.t.Errorf("%d pods at %d, and %d at %d", len(later.Pods), later.Seq, len(first.Pods), first.Seq)
	}
}

func storeNeverOverwrites(b bucket) {
	s := storeSnapshot("web", 1, 1, 2)
	pointer := b.base(s)
	b.base(s) // an answer that was lost
	other, err := wire.EncodeBase(storeSnapshot("web", 1, 1, 3))
	if err != nil {
		b.t.Fatal(err)
	}
	_, err = b.PutBase(b.t.Context(), "web", 1, 1, other)
	b.want(fault.Conflict, "another base", err)
	b.segment(&pointer, "pod-8")
	same, changed := storeDelta(b.t, "web", 1, 2, "pod-8"), storeDelta(b.t, "web", 1, 2, "pod-9")
	if err := b.PutSegment(b.t.Context(), "web", 1, 2, same); err != nil {
		b.t.Errorf("the same segment: %v", err)
	}
	b.want(fault.Conflict, "another segment", b.PutSegment(b.t.Context(), "web", 1, 2, changed))
	if got := b.at(pointer); len(got.Pods) != 3 || got.Pods[2].Name != "pod-8" {
		b.t.Errorf("%+v", got.Pods)
	}
}

func storeMisses(b bucket) {
	pointer := b.base(storeSnapshot("web", 1, 1, 2))
	second := b.base(storeSnapshot("web", 2, 2, 2)) // its key without its number is that of any base of the epoch
	never := path.Dir(second.BaseKey) + "/" + path.Base(pointer.BaseKey)
	_, err := b.At(b.t.Context(), model.Pointer{Cluster: "web", Epoch: 2, BaseKey: never, BaseSeq: 1, HeadSeq: 1})
	b.want(fault.NotFound, "a base that never was", err)
	pointer.HeadSeq = 2
	_, err = b.At(b.t.Context(), pointer)
	b.want(fault.NotFound, "a segment that never was", err)
}

func storeRefusesPointers(b bucket) {
	pointer := b.base(storeSnapshot("web", 1, 5, 2))
	before := pointer
	before.HeadSeq = 4
	_, err := b.At(b.t.Context(), before)
	b.want(fault.Invalid, "a head before its base", err)
	other := pointer
	other.Cluster = "shop"
	_, err = b.At(b.t.Context(), other)
	b.want(fault.Invalid, "another cluster's base", err)
	_, err = b.At(b.t.Context(), model.Pointer{Cluster: "web", Epoch: 1, BaseKey: "snap/none", BaseSeq: 5, HeadSeq: 5})
	b.want(fault.Invalid, "what is no base of the cluster", err)
}

func storeKeepsApart(b bucket) {
	for i, pointer := range []model.Pointer{
		b.base(storeSnapshot("web", 1, 1, 1)), b.base(storeSnapshot("web", 2, 1, 2)), b.base(storeSnapshot("shop", 1, 1, 3)), b.base(storeSnapshot("web", 2, 2, 4)),
	} {
		b.segment(&pointer, "pod-x")
		if got := b.at(pointer); len(got.Pods) != i+2 {
			b.t.Errorf("%+v: %d pods, want %d", pointer, len(got.Pods), i+2)
		}
	}
}

func storeKeepsDecisions(b bucket) {
	_, err := b.Decided(b.t.Context(), "web", ledgerBegin, "01A")
	b.want(fault.NotFound, "a decision nobody took", err)
	for _, pending := range []int{3, 4} {
		decision := model.Decision{ID: "01A", Cluster: "web", AtUnix: ledgerBegin, Trigger: "batch", Pending: pending, Launched: []string{"default-1"}}
		if err := b.Put(b.t.Context(), decision); err != nil {
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
	if err := b.Put(b.t.Context(), model.Decision{ID: "01A", Cluster: "web", AtUnix: ledgerBegin, Pending: 3}); err != nil {
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
