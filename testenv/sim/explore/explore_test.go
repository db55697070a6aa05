package explore

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/testenv/sim/world"
)

func TestNothingGoesWrongInATinyWorld(t *testing.T) {
	report := Explore(Bounds{Pods: 3, Limit: 3, Runs: 2, Together: 2, Faults: 1, Pauses: 1, Workers: 2})
	t.Log(report)
	if !report.All || report.States < 1000 {
		t.Errorf("looked at %d states, all: %v", report.States, report.All)
	}
	for _, v := range report.Violations {
		t.Errorf("%s\n%v\n%v", v.Violation, v.Choices, v.Trace)
	}
}

// TestSearchIsWhole: however many look, they come to the same states.
func TestSearchIsWhole(t *testing.T) {
	bounds := Bounds{Pods: 1, Runs: 2, Together: 2, Pauses: 1}
	alone := Explore(bounds)
	bounds.Workers = 3
	if together := Explore(bounds); !alone.All || !together.All || alone.States != together.States {
		t.Errorf("alone %v, together %v", alone, together)
	}
}

// TestStateIsNotTheWayToIt: the same objects give the same fingerprint in whatever order they came to be.
func TestStateIsNotTheWayToIt(t *testing.T) {
	facts := []world.Fact{
		world.InstanceEnded{ID: "i-1"}, world.InstanceEnded{ID: "i-2"},
		world.ObjectWritten{Kind: world.KindPod, Name: "default/web", Verb: "gone"},
	}
	sum := func(order ...int) [32]byte {
		f := newFingerprint()
		for _, i := range order {
			f.enter(facts[i])
		}
		return f.sum()
	}
	if sum(0, 1, 2) != sum(2, 1, 0) || sum(0, 1) == sum(0, 2) || sum(0, 0) != sum(0) {
		t.Error("fingerprints tell the order, or not the objects")
	}
}

// TestExecutionsRepeat: the same choices lead to the same facts.
func TestExecutionsRepeat(t *testing.T) {
	facts := func() (trace []string, entries int64) {
		s := &search{bounds: Bounds{Pods: 2, Runs: 2, Together: 2, Pauses: 1}, seen: map[[16]byte]struct{}{}}
		e := newExecution(s, branch{path: []int{0, 1, 0, 1, 0, 0, 0, 0}})
		e.run()
		return e.trace, e.seen
	}
	trace, entries := facts()
	if again, n := facts(); !slices.Equal(trace, again) || n != entries {
		t.Errorf("%d facts, then %d\n%v\n%v", entries, n, trace, again)
	}
}
