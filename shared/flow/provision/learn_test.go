package provision_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

const mebi = int64(1) << 20

// learner is a world with one instance that has joined, and the shared catalog.
func learner(t *testing.T) (*world.World, *world.Market) {
	t.Helper()
	w := start(t, world.Options{Types: []string{"m5.large", "m5.xlarge"}})
	market := &world.Market{Catalog: w.Catalog}
	shelve(t, w, market)
	pending(w, "web", 1, onePod)
	pass(t, w, provision.TriggerBatch)
	settle(t, w)
	return w, market
}

// shows makes the only node show so much memory.
func shows(t *testing.T, w *world.World, mib int64) {
	t.Helper()
	node := onlyNode(t, w)
	node.Capacity = maps.Clone(node.Capacity)
	node.Capacity[model.Memory] = mib * mebi
	w.Cluster.PutNode(node)
}

func learned(t *testing.T, w *world.World) []model.LearnedOf {
	t.Helper()
	all, err := w.Ledger.Learned(t.Context(), world.Registration(), w.Clock.Now().Unix())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// memory is what a node of m5.large is thought to have by the shared catalog, for the class as it resolves now.
func memory(t *testing.T, w *world.World, change func(*model.Class), ppm int64) int64 {
	t.Helper()
	catalog, err := w.RegionCatalogs.RegionCatalog(t.Context(), world.Registration())
	if err != nil {
		t.Fatal(err)
	}
	class := w.Cluster.Class("default")
	if change != nil {
		change(&class)
	}
	settings := offering.Settings{Region: world.Registration().Region, MemoryOverheadPPM: ppm, NowUnix: w.Clock.Now().Unix()}
	for _, it := range offering.Catalog(catalog.Types, class, settings) {
		if it.Name == "m5.large" {
			return it.Capacity[model.Memory] / mebi
		}
	}
	t.Fatal("no m5.large")
	return 0
}

// IT-03 and IT-04 from a node to the next plan: what a node shows is noted, folded into the catalog and planned by. Less
// replaces more, more does not replace less, another set of images starts anew, and the overhead that is a setting counts only
// for what nobody has seen.
func TestIT03IT04WhatANodeShowsIsWhatTheNextPlanGoesBy(t *testing.T) {
	w, market := learner(t)
	estimate := memory(t, w, nil, 75_000)
	refresh := func(mib int64) {
		t.Helper()
		shows(t, w, mib)
		pass(t, w, provision.TriggerResync)
		w.Clock.Advance(10 * time.Minute)
		shelve(t, w, market)
	}
	refresh(6_800)
	all := learned(t, w)
	if len(all) != 1 || all[0].InstanceType != "m5.large" || all[0].MiB != 6_800 || all[0].Images == "" {
		t.Fatalf("learned %+v", all)
	}
	if got := memory(t, w, nil, 75_000); got != 6_800 || got == estimate {
		t.Errorf("planned by %d MiB, estimated %d", got, estimate)
	}
	if got := memory(t, w, nil, 200_000); got != 6_800 {
		t.Errorf("the overhead makes %d MiB of what was seen", got)
	}
	other := func(c *model.Class) {
		c.Status.Images = append(slices.Clone(c.Status.Images), model.Image{ID: "ami-new"})
	}
	if a, b := memory(t, w, other, 75_000), memory(t, w, other, 200_000); a != estimate || b >= a {
		t.Errorf("with other images %d and %d MiB, estimated %d", a, b, estimate)
	}
	refresh(6_850)
	if got := memory(t, w, nil, 75_000); got != 6_800 {
		t.Errorf("after a node with more, %d MiB", got)
	}
	refresh(6_700)
	if got := memory(t, w, nil, 75_000); got != 6_700 {
		t.Errorf("after a node with less, %d MiB", got)
	}
	if all := learned(t, w); len(all) != 1 || all[0].MiB != 6_700 {
		t.Errorf("learned %+v", all)
	}
}

// R10, M42: a pod for which a type turned out to be too small gets a larger one the next time, and not the same again.
func TestR10TypeThatTurnedOutTooSmallIsNotBoughtAgain(t *testing.T) {
	bought := func(w *world.World) []string {
		before := len(w.Fleet.Instances())
		pending(w, "big", 1, world.Shape(500, 6_400*mebi))
		pass(t, w, provision.TriggerBatch)
		var out []string
		for _, instance := range w.Fleet.Instances()[before:] {
			out = append(out, instance.Type)
		}
		return out
	}
	w, _ := learner(t)
	if got := bought(w); !slices.Equal(got, []string{"m5.large"}) {
		t.Fatalf("by the estimate %v is bought: the case shows nothing", got)
	}
	w, market := learner(t)
	shows(t, w, 6_700)
	pass(t, w, provision.TriggerResync)
	w.Clock.Advance(10 * time.Minute)
	shelve(t, w, market)
	if got := bought(w); !slices.Equal(got, []string{"m5.xlarge"}) {
		t.Errorf("after a node with less memory %v is bought", got)
	}
}

// IT-04: a node whose image is not the one its type would get now says nothing.
func TestIT04NodeOfAnOldImageTeachesNothing(t *testing.T) {
	w, _ := learner(t)
	before := learned(t, w)
	claim := onlyClaim(t, w)
	claim.ImageID = "ami-old"
	if _, err := w.Ledger.Advance(t.Context(), world.Name, claim); err != nil {
		t.Fatal(err)
	}
	shows(t, w, 6_600)
	pass(t, w, provision.TriggerResync)
	if after := learned(t, w); !slices.Equal(before, after) {
		t.Errorf("learned %+v, before %+v", after, before)
	}
}

// Without the shared catalog nothing comes back of what is noted, so nothing is.
func TestNothingIsLearnedWithoutTheSharedCatalog(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 1, onePod)
	pass(t, w, provision.TriggerBatch)
	settle(t, w)
	shows(t, w, 6_600)
	pass(t, w, provision.TriggerResync)
	if all := learned(t, w); len(all) != 0 {
		t.Errorf("learned %+v", all)
	}
}

// What is known is not written again each minute, and is once a day, so that it is not forgotten while nodes show it.
func TestIT04KnownMemoryIsNotedAgainOnceADay(t *testing.T) {
	w, market := learner(t)
	shows(t, w, 6_800)
	noted := func() bool {
		t.Helper()
		p := w.Process(world.Fault{})
		if _, err := p.Run(t.Context(), provision.TriggerResync); err != nil {
			t.Fatal(err)
		}
		return slices.Contains(p.Effects(), provision.EffectLearn)
	}
	if !noted() {
		t.Fatal("nothing was noted")
	}
	w.Clock.Advance(10 * time.Minute)
	shelve(t, w, market)
	if noted() {
		t.Error("noted again what the catalogue has")
	}
	w.Clock.Advance(24 * time.Hour)
	shelve(t, w, market)
	if !noted() {
		t.Error("not noted again after a day")
	}
}

// A process that dies before the note is written loses nothing: the next resync sees the same node.
func TestNoteThatWasLostIsMadeByTheNextResync(t *testing.T) {
	w, _ := learner(t)
	shows(t, w, 6_700)
	_, _ = w.Process(world.Fault{At: 1, Effect: provision.EffectLearn, Mode: world.DiesBefore}).Run(t.Context(), provision.TriggerResync)
	w.Clock.Advance(time.Minute) // the dead one's lease
	if all := learned(t, w); slices.ContainsFunc(all, func(l model.LearnedOf) bool { return l.MiB == 6_700 }) {
		t.Fatalf("learned %+v", all)
	}
	if _, err := w.Process(world.Fault{At: 1, Effect: provision.EffectLearn, Mode: world.Fails}).Run(t.Context(), provision.TriggerResync); err != nil {
		t.Fatalf("a note that cannot be written fails the run: %v", err)
	}
	pass(t, w, provision.TriggerResync)
	if all := learned(t, w); len(all) != 1 || all[0].MiB != 6_700 {
		t.Errorf("learned %+v", all)
	}
}

// Whoever is root on a node writes what its kubelet says of it. Memory that no instance of the type can lack so much of is not noted.
func TestW5MemoryBelowTheFloorIsNotLearned(t *testing.T) {
	w, market := learner(t)
	before, planned := learned(t, w), memory(t, w, nil, 75_000)
	shows(t, w, 2)
	out := pass(t, w, provision.TriggerResync)
	if after := learned(t, w); !slices.Equal(before, after) {
		t.Errorf("learned %+v, before %+v", after, before)
	}
	if !slices.ContainsFunc(out.Problems, func(p string) bool { return strings.Contains(p, "m5.large reports 2 MiB of memory") }) {
		t.Errorf("problems %q", out.Problems)
	}
	w.Clock.Advance(10 * time.Minute)
	shelve(t, w, market)
	if got := memory(t, w, nil, 75_000); got != planned {
		t.Errorf("planned by %d MiB, before by %d", got, planned)
	}
}
