package ec2fleet

import (
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// R18, S3: what Karpenter launched is taken by its tags, and nothing else is.
func TestR18_TakeTagsOnlyWhatCarriesTheClustersTags(t *testing.T) {
	r := start(t)
	all := r.launched(t, "01A", 4)
	for _, id := range all[:3] {
		r.untag(t, id, TagIntent) // as Karpenter makes them
	}
	r.untag(t, all[1], "kubernetes.io/cluster/web")
	r.untag(t, all[2], model.LabelNodePool)
	managed, err := r.fleet.Managed(t.Context(), "web")
	if want := []string{all[0], all[3]}; err != nil || !slices.Equal(instanceIDs(managed), sortedIDs(want)) {
		t.Fatalf("managed %v %v, want %v", instanceIDs(managed), err, want)
	}
	asked := append([]string{"i-0123456789abcdef0"}, all...)
	taken, err := r.fleet.AdoptInstances(t.Context(), "web", "adopted-1", asked)
	if err != nil || !slices.Equal(taken, all[:1]) {
		t.Fatalf("took %v %v, want %v", taken, err, all[:1])
	}
	r.clock.Advance(6 * time.Second)
	owned, err := r.fleet.Owned(t.Context(), "web")
	if err != nil || !slices.Equal(instanceIDs(owned), sortedIDs([]string{all[0], all[3]})) {
		t.Fatalf("%v %v", instanceIDs(owned), err)
	}
	for _, instance := range owned {
		want := map[string]string{all[0]: "adopted-1", all[3]: "01A"}[instance.ID]
		if got := instance.Tags[TagIntent]; got != want {
			t.Errorf("instance %s has intent %q, want %q", instance.ID, got, want)
		}
	}
	if again, err := r.fleet.AdoptInstances(t.Context(), "web", "adopted-1", all); err != nil || !slices.Equal(again, all[:1]) {
		t.Errorf("once more: %v %v", again, err)
	}
	if again, err := r.fleet.AdoptInstances(t.Context(), "web", "adopted-2", all); err != nil || len(again) != 0 {
		t.Errorf("taken from another: %v %v", again, err)
	}
	if other, err := r.fleet.AdoptInstances(t.Context(), "shop", "adopted-3", all); err != nil || len(other) != 0 {
		t.Errorf("another cluster took %v %v", other, err)
	}
	if _, err := r.fleet.AdoptInstances(t.Context(), "web", "", all); !fault.Is(err, fault.Invalid) {
		t.Errorf("without a name: %v", err)
	}
}

func TestTakeLeavesWhatEnds(t *testing.T) {
	r := start(t)
	ids := r.launched(t, "01A", 2)
	for _, id := range ids {
		r.untag(t, id, TagIntent)
	}
	if err := r.fleet.terminate(t.Context(), ids[:1]); err != nil {
		t.Fatal(err)
	}
	r.clock.Advance(6 * time.Second)
	if taken, err := r.fleet.AdoptInstances(t.Context(), "web", "adopted-1", ids); err != nil || !slices.Equal(taken, ids[1:]) {
		t.Errorf("took %v %v, want %v", taken, err, ids[1:])
	}
}

func sortedIDs(ids []string) []string {
	out := slices.Clone(ids)
	slices.Sort(out)
	return out
}
