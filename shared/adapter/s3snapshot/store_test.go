package s3snapshot

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	wiremodel "github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

const bucket = "snapshots"

func start(t *testing.T) (*cloud.Cloud, *Store) {
	t.Helper()
	c, err := cloud.Start(t.Context(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(c.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    aws.String(bucket),
		CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(c.Region())},
	}); err != nil {
		t.Fatal(err)
	}
	return c, New(client, bucket)
}

// history is a cluster whose state with sequence number n has the pods pod-0 to pod-<n-1>.
type history struct {
	t     *testing.T
	store *Store
	epoch int64
	state *model.Snapshot
}

func newHistory(t *testing.T, store *Store, epoch int64) *history {
	shapes := []model.PodShape{{Namespace: "default", Requests: model.Resources{model.Pods: 1}}}
	return &history{t, store, epoch, &model.Snapshot{Cluster: "prod", Epoch: epoch, Shapes: shapes}}
}

func (h *history) full() string {
	h.t.Helper()
	data, err := wire.EncodeSnapshot(h.state)
	if err != nil {
		h.t.Fatal(err)
	}
	key, err := h.store.PutSnapshot(h.t.Context(), "prod", h.epoch, h.state.Seq, data)
	if err != nil {
		h.t.Fatal(err)
	}
	return key
}

func (h *history) delta() {
	h.t.Helper()
	d := &wire.Delta{Cluster: "prod", Epoch: h.epoch, Seq: h.state.Seq + 1, FirstShape: len(h.state.Shapes),
		Pods: []model.Pod{{Namespace: "default", Name: fmt.Sprintf("pod-%d", h.state.Seq)}}}
	data, err := wire.EncodeDelta(d)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.store.PutDelta(h.t.Context(), "prod", h.epoch, d.Seq, data); err != nil {
		h.t.Fatal(err)
	}
	if h.state, err = wire.Apply(h.state, d); err != nil {
		h.t.Fatal(err)
	}
}

func (h *history) manifest(fullKey string, fullSeq int64) model.Manifest {
	return model.Manifest{Cluster: "prod", Epoch: h.epoch, SnapshotKey: fullKey, SnapshotSeq: fullSeq, HeadSeq: h.state.Seq}
}

func TestAtReturnsTheSnapshotWithItsDeltas(t *testing.T) {
	_, store := start(t)
	h := newHistory(t, store, 1)
	key := h.full()
	for range 12 {
		h.delta()
	}
	got, err := New(store.Snapshots.client, bucket).SnapshotAt(t.Context(), h.manifest(key, 0))
	if err != nil || !reflect.DeepEqual(got, h.state) {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestAtReadsOnlyWhatItDoesNotKnow(t *testing.T) {
	c, store := start(t)
	h := newHistory(t, store, 1)
	key := h.full()
	h.delta()
	if _, err := store.SnapshotAt(t.Context(), h.manifest(key, 0)); err != nil {
		t.Fatal(err)
	}
	reads := c.Inject(cloud.Fault{Service: "s3", Match: func(r *http.Request, _ []byte) bool { return r.Method == http.MethodGet }})
	if _, err := store.SnapshotAt(t.Context(), h.manifest(key, 0)); err != nil || reads.Acted() != 0 {
		t.Fatalf("the same pointer: %d reads, %v", reads.Acted(), err)
	}
	h.delta()
	got, err := store.SnapshotAt(t.Context(), h.manifest(key, 0))
	if err != nil || reads.Acted() != 1 || got.Seq != 2 {
		t.Fatalf("one segment more: %d reads, seq %d, %v", reads.Acted(), got.Seq, err)
	}
	old := h.manifest(key, 0)
	old.HeadSeq = 1
	if got, err := store.SnapshotAt(t.Context(), old); err != nil || got.Seq != 2 {
		t.Fatalf("an older pointer gets what is known: %+v, %v", got, err)
	}
}

func TestAtStartsAgainFromANewBase(t *testing.T) {
	_, store := start(t)
	h := newHistory(t, store, 1)
	first := h.full()
	h.delta()
	if _, err := store.SnapshotAt(t.Context(), h.manifest(first, 0)); err != nil {
		t.Fatal(err)
	}
	// The new full snapshot numbers shapes otherwise, at the same sequence number.
	h.state.Shapes = []model.PodShape{{Namespace: "other"}, {Namespace: "default", Requests: model.Resources{model.Pods: 1}}}
	h.state.Pods[0].Shape = 1
	second := h.full()
	h.delta()
	got, err := store.SnapshotAt(t.Context(), h.manifest(second, 1))
	if err != nil || !reflect.DeepEqual(got, h.state) {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestAtKeepsClustersAndEpochsApart(t *testing.T) {
	_, store := start(t)
	one := newHistory(t, store, 1)
	key := one.full()
	one.delta()
	if _, err := store.SnapshotAt(t.Context(), one.manifest(key, 0)); err != nil {
		t.Fatal(err)
	}
	two := newHistory(t, store, 2)
	two.state.AtUnix = 7
	key = two.full()
	if got, err := store.SnapshotAt(t.Context(), two.manifest(key, 0)); err != nil || got.AtUnix != 7 || len(got.Pods) != 0 {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestAtSaysWhatIsMissing(t *testing.T) {
	_, store := start(t)
	h := newHistory(t, store, 1)
	key := h.full()
	cases := map[string]struct {
		manifest model.Manifest
		kind     fault.Kind
	}{
		"no base":            {model.Manifest{Cluster: "prod", Epoch: 2, SnapshotKey: snapshotKey("prod", 2, 0)}, fault.NotFound},
		"no key of a base":   {model.Manifest{Cluster: "prod", Epoch: 1, SnapshotKey: "snap/gone"}, fault.Invalid},
		"no segment":         {model.Manifest{Cluster: "prod", Epoch: 1, SnapshotKey: key, HeadSeq: 1}, fault.NotFound},
		"head before base":   {model.Manifest{Cluster: "prod", Epoch: 1, SnapshotKey: key, SnapshotSeq: 2, HeadSeq: 1}, fault.Invalid},
		"absurd head":        {model.Manifest{Cluster: "prod", Epoch: 1, SnapshotKey: key, HeadSeq: 1 << 60}, fault.Invalid},
		"base of another":    {model.Manifest{Cluster: "test", Epoch: 1, SnapshotKey: key}, fault.Invalid},
		"base of other time": {model.Manifest{Cluster: "prod", Epoch: 1, SnapshotKey: key, SnapshotSeq: 3, HeadSeq: 3}, fault.Invalid},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			if got, err := New(store.Snapshots.client, bucket).SnapshotAt(t.Context(), tt.manifest); !fault.Is(err, tt.kind) {
				t.Fatalf("got %+v, %v; want %s", got, err, tt.kind)
			}
		})
	}
}

// W4: a manifest leads to full snapshots of its own cluster alone, also to those that are in memory.
func TestW4AManifestOfAnotherClustersPrefixIsRefused(t *testing.T) {
	_, store := start(t)
	h := newHistory(t, store, 1)
	key := h.full()
	if _, err := store.SnapshotAt(t.Context(), h.manifest(key, 0)); err != nil {
		t.Fatal(err)
	}
	for name, manifest := range map[string]model.Manifest{
		"of the attacker, with the victim's base": {Cluster: "attacker", Epoch: 1, SnapshotKey: key},
		"by a way back": {Cluster: "attacker", Epoch: 1, SnapshotKey: "snap/attacker/../prod/00000000000000000001/base-00000000000000000000"},
		"of no base":    {Cluster: "prod", Epoch: 1, SnapshotKey: "decisions/prod/2026-03-01/a"},
	} {
		for _, s := range []*Store{store, New(store.Snapshots.client, bucket)} {
			if got, err := s.SnapshotAt(t.Context(), manifest); !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: %+v, %v, want it refused as Invalid", name, got, err)
			}
		}
	}
}

func TestNothingIsWrittenOver(t *testing.T) {
	_, store := start(t)
	if err := store.PutDelta(t.Context(), "prod", 1, 1, []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if err := store.PutDelta(t.Context(), "prod", 1, 1, []byte("mine")); err != nil {
		t.Fatalf("the same bytes again: %v", err)
	}
	if err := store.PutDelta(t.Context(), "prod", 1, 1, []byte("other")); !fault.Is(err, fault.Conflict) {
		t.Fatalf("other bytes: got %v, want Conflict", err)
	}
	if data, err := store.Snapshots.get(t.Context(), deltaKey("prod", 1, 1), 10); err != nil || string(data) != "mine" {
		t.Fatalf("got %q, %v", data, err)
	}
}

func TestAPutWhoseAnswerIsLostSucceeds(t *testing.T) {
	c, store := start(t)
	lost := c.Inject(cloud.Fault{Service: "s3", Times: 1, Drop: cloud.DropAfter, Match: func(r *http.Request, _ []byte) bool { return r.Method == http.MethodPut }})
	if err := store.PutDelta(t.Context(), "prod", 1, 1, []byte("mine")); err != nil || lost.Acted() != 1 {
		t.Fatalf("%d answers lost, %v", lost.Acted(), err)
	}
}

func TestKeptIsWhatIsThere(t *testing.T) {
	c, store := start(t)
	key, err := store.PutSnapshot(t.Context(), "prod", 1, 1, []byte("base"))
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range map[string]bool{key: true, key + "0": false} {
		if kept, err := store.Kept(t.Context(), k); kept != want || err != nil {
			t.Errorf("%s: %v, %v", k, kept, err)
		}
	}
	c.Inject(cloud.Fault{Service: "s3", Times: 10, Drop: cloud.DropBefore})
	if kept, err := store.Kept(t.Context(), key); kept || err == nil {
		t.Errorf("of a store that does not answer: %v, %v", kept, err)
	}
}

func TestKeysSortAsTheirNumbers(t *testing.T) {
	if a, b := deltaKey("prod", 9, 99), deltaKey("prod", 10, 1); a >= b {
		t.Errorf("%s does not come before %s", a, b)
	}
}

func TestErrorsHaveKinds(t *testing.T) {
	c, store := start(t)
	if err := New(store.Snapshots.client, "nowhere").PutDelta(t.Context(), "prod", 1, 1, nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("no bucket: got %v, want NotFound", err)
	}
	stranger := s3.NewFromConfig(c.ConfigFor(sts.Credentials{AccessKeyID: "AKIANOBODY", SecretAccessKey: "x"}), func(o *s3.Options) { o.UsePathStyle = true })
	if err := New(stranger, bucket).PutDelta(t.Context(), "prod", 1, 1, nil); !fault.Is(err, fault.Denied) {
		t.Errorf("a stranger: got %v, want Denied", err)
	}
}

func TestDecisionSurvivesARoundTripAndMayBePutAgain(t *testing.T) {
	_, store := start(t)
	at := time.Date(2026, 11, 20, 23, 59, 59, 0, time.UTC)
	want := model.Decision{ID: "01J", Cluster: "prod", AtUnix: at.Unix(), Trigger: "batch", Pending: 3, Launched: []string{"general-abcde"},
		Rounds: []model.Round{{Plan: model.Plan{Claims: []model.PlannedClaim{{Name: "general-abcde"}}, Price: 83_200}}}}
	for range 2 {
		if err := store.PutDecision(t.Context(), want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.Decision(t.Context(), "prod", "2026-11-20", "01J")
	if err != nil || text(got) != text(want) {
		t.Fatalf("got %s, %v\nwant %s", text(got), err, text(want))
	}
	if _, err := store.Decision(t.Context(), "prod", "2026-11-21", "01J"); !fault.Is(err, fault.NotFound) {
		t.Fatalf("another day: got %v, want NotFound", err)
	}
}

func TestReadsAreBounded(t *testing.T) {
	_, store := start(t)
	if err := store.PutDelta(context.Background(), "prod", 1, 1, []byte(strings.Repeat("x", 100))); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Snapshots.get(t.Context(), deltaKey("prod", 1, 1), 99); !fault.Is(err, fault.Invalid) {
		t.Fatalf("got %v, want Invalid", err)
	}
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// A21: S3 answers 409 where another write of the object goes on, and asks for the request again: it is repeated. Where that never ends it
// is no Conflict, because it is unknown whether something else is there.
func TestA21ConflictingWritesAreRepeated(t *testing.T) {
	c, store := start(t)
	options := store.Snapshots.client.Options()
	options.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
	store = New(s3.New(options), bucket)
	conflict := func(times int) *cloud.Injection {
		return c.Inject(cloud.Fault{Service: "s3", Action: "PutObject", Times: times, Err: wiremodel.StatusErrorf(http.StatusConflict, "ConditionalRequestConflict", "another goes on")})
	}
	for _, times := range []int{1, 2, 0} { // 0: without end
		on := conflict(times)
		seq := int64(times + 1)
		_, err := store.PutSnapshot(t.Context(), "prod", 1, seq, []byte("bytes"))
		if times > 0 && err != nil || times == 0 && !fault.Is(err, fault.Throttled) {
			t.Errorf("%d conflicts: %v", times, err)
		}
		if times > 0 && on.Acted() != times {
			t.Errorf("%d of %d conflicts were answered", on.Acted(), times)
		}
		on.Remove()
		if kept, err := store.Kept(t.Context(), snapshotKey("prod", 1, seq)); err != nil || kept != (times > 0) {
			t.Errorf("%d conflicts: kept %v, %v", times, kept, err)
		}
	}
	// The write whose conflict it was may have put the very same bytes there, or others.
	if _, err := store.PutSnapshot(t.Context(), "prod", 2, 1, []byte("bytes")); err != nil {
		t.Fatal(err)
	}
	defer conflict(0).Remove()
	if _, err := store.PutSnapshot(t.Context(), "prod", 2, 1, []byte("bytes")); err != nil {
		t.Errorf("the same bytes are there: %v", err)
	}
	if _, err := store.PutSnapshot(t.Context(), "prod", 2, 1, []byte("others")); !fault.Is(err, fault.Conflict) {
		t.Errorf("other bytes are there: %v, want Conflict", err)
	}
}
