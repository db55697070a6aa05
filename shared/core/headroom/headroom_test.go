package headroom

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

func buffer(name string, replicas int32) model.Buffer {
	return model.Buffer{Namespace: "shop", Name: name, UID: "uid-" + name, Replicas: replicas, Generation: 3, Of: "Deployment web", Strategy: "s", CreatedUnix: 7}
}

// Whatever pods and buffers there are: each buffer has as many places as it asks for but for names that pods have, pods stay as they
// are, the list is sorted, and nothing is written to what was given.
func TestF090JoinAddsPlacesAndLeavesPodsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &model.Snapshot{Shapes: make([]model.PodShape, 1)}
		taken := 0
		for i := range rapid.IntRange(0, 5).Draw(t, "buffers") {
			s.Buffers = append(s.Buffers, buffer(fmt.Sprint("b", i), int32(rapid.IntRange(0, 12).Draw(t, "replicas"))))
		}
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "capacity-buffer-b0-1", "capacity-buffer-b0-10", "capacity-buffer-b9-1", "z"}), 0, 5, rapid.ID).Draw(t, "pods")
		slices.Sort(names)
		for _, name := range names {
			s.Pods = append(s.Pods, model.Pod{Namespace: "shop", Name: name, UID: "real"})
			var n int32
			if c, _ := fmt.Sscanf(name, "capacity-buffer-b0-%d", &n); c == 1 && len(s.Buffers) > 0 && n < s.Buffers[0].Replicas {
				taken++
			}
		}
		before := fmt.Sprint(s.Pods)
		out, want := WithPlaceholders(s), len(s.Pods)-taken
		for _, b := range s.Buffers {
			want += int(b.Replicas)
		}
		pods, real := map[string]bool{}, 0
		for i, pod := range out.Pods {
			if i > 0 && wire.CompareKeys(out.Pods[i-1].Namespace, out.Pods[i-1].Name, pod.Namespace, pod.Name) >= 0 {
				t.Fatalf("%s after %s", pod.Key(), out.Pods[i-1].Key())
			}
			if pods[pod.Key()] = true; pod.UID == "real" {
				real++
			} else if pod.Buffer == "" || !pod.Unschedulable || pod.NodeName != "" {
				t.Fatalf("%+v", pod)
			}
		}
		if len(pods) != want || real != len(s.Pods) || fmt.Sprint(s.Pods) != before {
			t.Fatalf("%d pods, %d of them real, want %d and %d", len(pods), real, want, len(s.Pods))
		}
		if again := WithPlaceholders(out); !reflect.DeepEqual(again.Pods, out.Pods) {
			t.Fatal("joined twice it is another")
		}
	})
}

// Places have UIDs of their own that stay the same: an instance on its way for one is not asked for twice.
func TestF090PlacesKeepTheirNames(t *testing.T) {
	small, large := WithPlaceholders(&model.Snapshot{Buffers: []model.Buffer{buffer("a", 2)}}), WithPlaceholders(&model.Snapshot{Buffers: []model.Buffer{buffer("a", 3)}})
	if !reflect.DeepEqual(small.Pods, large.Pods[:2]) || small.Pods[1].UID != "uid-a-1" || small.Pods[1].Buffer != "shop/a" || small.Pods[1].CreatedUnix != 7 {
		t.Errorf("%+v\n%+v", small.Pods, large.Pods)
	}
	if s := (&model.Snapshot{Pods: small.Pods}); WithPlaceholders(s) != s {
		t.Error("without buffers it is another")
	}
}

func TestF091AllBuffersTogetherHaveALimit(t *testing.T) {
	s := &model.Snapshot{Buffers: []model.Buffer{buffer("a", 10_000), buffer("b", 9_999), buffer("c", 2), buffer("d", 1)}}
	if out := WithPlaceholders(s); len(out.Pods) != MaxPods {
		t.Errorf("%d places", len(out.Pods))
	}
	out := LimitBuffers(s)
	if out[2].Replicas != 0 || out[2].Reason != model.ResolutionFailed || !strings.Contains(out[2].Problem, "2 pods") || out[3].Problem != "" || s.Buffers[2].Replicas != 2 {
		t.Errorf("%+v", out)
	}
}

func TestF090StatusSaysWhereTheRoomIs(t *testing.T) {
	b := buffer("a", 3)
	s := WithPlaceholders(&model.Snapshot{Buffers: []model.Buffer{b}, Nodes: []model.Node{{Name: "n"}}})
	ref := func(i int) model.PodRef {
		return model.PodRef{Namespace: "shop", Name: s.Pods[i].Name, UID: s.Pods[i].UID}
	}
	plan := &model.Plan{
		Nominations:   []model.Nomination{{Node: "n", Pods: []model.PodRef{ref(0), {Namespace: "shop", Name: "real"}}}},
		Claims:        []model.PlannedClaim{{Name: "c", Pods: []model.PodRef{ref(1)}}},
		Unschedulable: []model.Unschedulable{{Pod: ref(2), Reasons: []model.Reason{{Message: "limit"}}}},
	}
	counts := Count(s, plan, map[string]bool{"c": true})
	if c := counts["shop/a"]; len(counts) != 1 || c.There != 1 || c.Coming != 1 || len(c.Why) != 1 {
		t.Fatalf("%+v", counts)
	}
	if c := Count(s, plan, nil)["shop/a"]; c.Coming != 0 {
		t.Errorf("a claim that was not asked for is on its way: %+v", c)
	}
	for name, tt := range map[string]struct {
		change                       func(*model.Buffer)
		at                           *Counts
		ready, provisioning, message string
	}{
		"some there":    {nil, counts["shop/a"], "True Resolved", "False RequiresNewCapacity", "1 of 3 placeholder pods fit on nodes, 1 on in-flight nodes; the others are unschedulable: limit"},
		"all there":     {nil, &Counts{There: 3}, "True Resolved", "True FitsExistingCapacity", ""},
		"not looked at": {nil, nil, "True Resolved", "False RequiresNewCapacity", "not planned yet"},
		"not looked at again": {func(b *model.Buffer) {
			b.Status.Provisioning = model.BufferCondition{Status: "True", Reason: FitsExistingCapacity, Generation: 2}
		}, nil, "True Resolved", "True FitsExistingCapacity", ""},
		"nothing asked for": {func(b *model.Buffer) { b.Replicas = 0 }, nil, "True Resolved", "False BufferEmpty", "no headroom"},
		"of nothing":        {func(b *model.Buffer) { b.Replicas, b.Problem, b.Reason = 0, "no such", model.PodTemplateNotFound }, nil, "False PodTemplateNotFound", "False NotReadyForProvisioning", "not known"},
	} {
		b := b
		if tt.change != nil {
			tt.change(&b)
		}
		why := ""
		if tt.at != nil && len(tt.at.Why) > 0 {
			why = tt.at.Why[0].Message
		}
		got := Status(&b, tt.at, why)
		if got.Ready.Status+" "+got.Ready.Reason != tt.ready || got.Provisioning.Status+" "+got.Provisioning.Reason != tt.provisioning || !strings.Contains(got.Provisioning.Message, tt.message) || got.Ready.Generation != 3 || got.Sized != (b.Problem == "") {
			t.Errorf("%s: %+v", name, got)
		}
		b.Status = got
		if again := Status(&b, nil, ""); again != got {
			t.Errorf("%s: %+v after %+v, though nothing was looked at", name, again, got)
		}
	}
}
