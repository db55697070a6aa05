package s3snapshot

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/oklog/ulid/v2"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
)

// startAt is start under a clock that the test moves.
func startAt(t *testing.T, at time.Time) (*clock.Fake, *Store) {
	t.Helper()
	now := clock.NewFake(at)
	c, err := cloud.Start(t.Context(), cloud.Options{Clock: now, ClientClock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	client := s3.NewFromConfig(c.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    aws.String(bucket),
		CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(c.Region())},
	}); err != nil {
		t.Fatal(err)
	}
	return now, New(client, bucket)
}

// idAt is the id of something of a time.
func idAt(at int64, n int) string {
	return ulid.MustNew(uint64(at)*1000, bytes.NewReader(bytes.Repeat([]byte{byte(n)}, 10))).String()
}

func TestRecordsOfASpanAreReadInOrder(t *testing.T) {
	_, store := start(t)
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Unix()
	var ids []string
	for i := range 5 { // over three days
		at := noon + int64(i)*daySecond/2
		id := idAt(at, i)
		ids = append(ids, id)
		put := []error{
			store.PutDecision(t.Context(), model.Decision{ID: id, Cluster: "prod", AtUnix: at, Input: &model.DecisionInput{Region: "r"}, Rounds: []model.Round{{Input: &model.PlannerInput{Salt: id}}}}),
			store.PutDisruption(t.Context(), model.Disrupted{ID: id, Cluster: "prod", AtUnix: at, Input: &model.DisruptionInput{Salt: id}}),
			store.PutRemoval(t.Context(), model.Removal{Cluster: "prod", Claim: model.Claim{Name: fmt.Sprintf("claim-%d", 9-i)}, Reason: model.ReasonEmpty, GoneUnix: at}),
			store.PutDecision(t.Context(), model.Decision{ID: id, Cluster: "prod-2", AtUnix: at}), // another cluster, whose name begins alike
		}
		for _, err := range put {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	from, to := noon+1, noon+2*daySecond // without the first and the last
	decisions, err := store.Decisions(t.Context(), "prod", from, to)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range decisions {
		got = append(got, d.ID)
		if d.Cluster != "prod" || d.Input != nil || d.Rounds[0].Input != nil {
			t.Errorf("%+v", d)
		}
	}
	if !slices.Equal(got, ids[1:4]) {
		t.Errorf("decisions %v, want %v", got, ids[1:4])
	}
	disruptions, err := store.Disruptions(t.Context(), "prod", from, to)
	if err != nil || len(disruptions) != 3 || disruptions[0].ID != ids[1] || disruptions[2].ID != ids[3] || disruptions[1].Input != nil {
		t.Errorf("%+v, %v", disruptions, err)
	}
	removals, err := store.Removals(t.Context(), "prod", from, to)
	if err != nil || len(removals) != 3 || removals[0].Claim.Name != "claim-8" || removals[2].Claim.Name != "claim-6" {
		t.Errorf("%+v, %v", removals, err)
	}
	if none, err := store.Decisions(t.Context(), "test", from, to); err != nil || len(none) != 0 {
		t.Errorf("of a cluster nobody knows: %v, %v", none, err)
	}
}

func TestADecisionIsFoundByItsID(t *testing.T) {
	_, store := start(t)
	midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC).Unix()
	for name, recorded := range map[string]int64{"the same day": midnight, "the ledger's clock is behind": midnight - 2, "it is ahead": midnight + daySecond} {
		id := idAt(midnight, len(name))
		if err := store.PutDecision(t.Context(), model.Decision{ID: id, Cluster: "prod", AtUnix: recorded}); err != nil {
			t.Fatal(err)
		}
		if err := store.PutDisruption(t.Context(), model.Disrupted{ID: id, Cluster: "prod", AtUnix: recorded}); err != nil {
			t.Fatal(err)
		}
		if d, err := store.FindDecision(t.Context(), "prod", id); err != nil || d.AtUnix != recorded {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if d, err := store.FindDisruption(t.Context(), "prod", id); err != nil || d.AtUnix != recorded {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	if _, err := store.FindDecision(t.Context(), "prod", idAt(midnight, 99)); !fault.Is(err, fault.NotFound) {
		t.Errorf("nobody took it: %v", err)
	}
	if _, err := store.FindDecision(t.Context(), "prod", "../../x"); !fault.Is(err, fault.Invalid) {
		t.Errorf("no id: %v", err)
	}
}

// AsOf finds what At would have returned then.
func TestAsOfIsTheSnapshotOfThen(t *testing.T) {
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now, store := startAt(t, begin)
	type moment struct {
		unix int64
		want model.Manifest
	}
	var moments []moment
	note := func(h *history, key string, full int64) {
		moments = append(moments, moment{now.Now().Unix(), h.manifest(key, full)})
		now.Advance(10 * time.Second)
	}
	var last *history
	for epoch := int64(1); epoch <= 2; epoch++ {
		h := newHistory(t, store, epoch)
		key := h.full()
		note(h, key, 0)
		for range 3 {
			h.delta()
			note(h, key, 0)
		}
		key = h.full() // at the same sequence number
		full := h.state.Seq
		note(h, key, full)
		h.delta()
		note(h, key, full)
		last = h
	}
	for _, m := range moments {
		for _, late := range []int64{0, 9} {
			got, err := store.ManifestAsOf(t.Context(), "prod", m.unix+late)
			if err != nil {
				t.Fatal(err)
			}
			got.WrittenUnix = 0
			if got != m.want {
				t.Errorf("at %d: %+v, want %+v", m.unix+late-begin.Unix(), got, m.want)
			}
			if snapshot, err := New(store.Snapshots.client, bucket).SnapshotAt(t.Context(), got); err != nil || snapshot.Seq != m.want.HeadSeq {
				t.Errorf("at %d it cannot be read: %v", m.unix, err)
			}
		}
	}
	if _, err := store.ManifestAsOf(t.Context(), "prod", begin.Unix()-1); !fault.Is(err, fault.NotFound) {
		t.Errorf("before there was any: %v", err)
	}
	// A delta that is missing ends what is known: nobody can read beyond it.
	if _, err := store.Snapshots.client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String(deltaKey("prod", 2, last.state.Seq))}); err != nil {
		t.Fatal(err)
	}
	if got, err := store.ManifestAsOf(t.Context(), "prod", now.Now().Unix()); err != nil || got.HeadSeq != last.state.Seq-1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// D7: what another version found is read again by day and version, and what is recorded is listed in the order of ids, whatever the kind.
func TestD7WhatAnotherVersionFoundIsKept(t *testing.T) {
	_, store := start(t)
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Unix()
	var want []model.Recorded
	for i := range 4 {
		at := noon + int64(i)*daySecond/2
		r := model.Recorded{ID: idAt(at, i), Kind: model.KindProvision, Day: Day(at)}
		var err error
		if i%2 == 0 {
			err = store.PutDecision(t.Context(), model.Decision{ID: r.ID, Cluster: "prod", AtUnix: at})
		} else {
			r.Kind = model.KindDisrupt
			err = store.PutDisruption(t.Context(), model.Disrupted{ID: r.ID, Cluster: "prod", AtUnix: at})
		}
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	if got, err := store.Recorded(t.Context(), "prod", noon, noon+2*daySecond); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if names, err := store.Clusters(t.Context()); err != nil || !slices.Equal(names, []string{"prod"}) {
		t.Errorf("%v, %v", names, err)
	}
	day := Day(noon)
	if _, err := store.ShadowIndex(t.Context(), "prod", day, "new"); !fault.Is(err, fault.NotFound) {
		t.Errorf("before anything was found: %v", err)
	}
	for _, by := range []string{"new", "newer"} {
		found := model.Shadowed{Decision: want[0].ID, Cluster: "prod", By: by, Panic: by}
		index := model.ShadowIndex{Cluster: "prod", Day: day, By: by, Entries: []model.ShadowEntry{{Decision: want[0].ID, Verdict: model.ShadowDiffers}}}
		for _, err := range []error{store.PutShadow(t.Context(), day, found), store.PutShadowIndex(t.Context(), index)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got, err := store.Shadow(t.Context(), "prod", day, by, want[0].ID); err != nil || got.Panic != by {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := store.ShadowIndex(t.Context(), "prod", day, by); err != nil || got.By != by || !slices.Equal(got.Entries, index.Entries) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if builds, err := store.Shadows(t.Context(), "prod", day); err != nil || !slices.Equal(builds, []string{"new", "newer"}) {
		t.Errorf("%v, %v", builds, err)
	}
	if names, err := store.ShadowClusters(t.Context()); err != nil || !slices.Equal(names, []string{"prod"}) {
		t.Errorf("%v, %v", names, err)
	}
}

// D5: a record that is added takes no other's place.
func TestARemovalIsAddedOnlyWhereThereIsNone(t *testing.T) {
	_, store := start(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Unix()
	removal := func(reason string) model.Removal {
		return model.Removal{Cluster: "prod", Claim: model.Claim{Name: "i-1"}, Reason: reason, GoneUnix: at}
	}
	for _, put := range []error{
		store.AddRemoval(t.Context(), removal(model.EndedOrphan)),
		store.AddRemoval(t.Context(), removal(model.EndedInstance)),
	} {
		if put != nil {
			t.Fatal(put)
		}
	}
	if got, err := store.Removal(t.Context(), "prod", Day(at), "i-1"); err != nil || got.Reason != model.EndedOrphan {
		t.Errorf("%+v, %v", got, err)
	}
}
