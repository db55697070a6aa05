package lifecycle_test

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

var observations = []lifecycle.Observation{
	lifecycle.InstanceLaunched, lifecycle.LaunchFailed, lifecycle.NodeRegistered, lifecycle.NodeInitialized,
	lifecycle.EndRequested, lifecycle.EndRequestedUnregistered, lifecycle.NodeEmpty, lifecycle.InstanceEnded,
	lifecycle.InstanceMissing,
}

// states are those of a claim, in the order in which they follow each other.
var states = []model.ClaimState{
	model.Intended, model.Launched, model.Registered, model.Initialized, model.Draining, model.Terminating, model.Gone,
}

func ends(state model.ClaimState) bool {
	return state == model.Draining || state == model.Terminating || state == model.Gone
}

// Every pair of state and observation, written out a second time.
func TestTableOfStates(t *testing.T) {
	const (
		stay = model.ClaimState("")
		l    = model.Launched
		r    = model.Registered
		i    = model.Initialized
		d    = model.Draining
		x    = model.Terminating
		g    = model.Gone
	)
	want := map[lifecycle.Observation][]model.ClaimState{
		//                               Intent Launched Registered Initialized Draining Terminating Gone
		lifecycle.InstanceLaunched:         {l, stay, stay, stay, stay, stay, stay},
		lifecycle.LaunchFailed:             {g, stay, stay, stay, stay, stay, stay},
		lifecycle.NodeRegistered:           {stay, r, stay, stay, stay, stay, stay},
		lifecycle.NodeInitialized:          {stay, stay, i, stay, stay, stay, stay},
		lifecycle.EndRequested:             {stay, d, d, d, stay, stay, stay},
		lifecycle.EndRequestedUnregistered: {stay, x, stay, stay, stay, stay, stay},
		lifecycle.NodeEmpty:                {stay, stay, stay, stay, x, stay, stay},
		lifecycle.InstanceEnded:            {stay, g, g, g, g, g, stay},
		lifecycle.InstanceMissing:          {stay, g, g, g, g, g, stay},
	}
	if len(want) != len(observations) {
		t.Fatalf("%d observations are written out of %d", len(want), len(observations))
	}
	for _, observation := range observations {
		for n, state := range states {
			next, moves := lifecycle.Next(state, observation)
			if expected := want[observation][n]; expected == stay && (moves || next != state) || expected != stay && (!moves || next != expected) {
				t.Errorf("%s in %s: %s, %v; want %q", observation, state, next, moves, expected)
			}
			if slices.Index(states, next) < n {
				t.Errorf("%s in %s goes back to %s", observation, state, next)
			}
			if ends(state) && !ends(next) {
				t.Errorf("%s in %s is not irrevocable: %s", observation, state, next)
			}
		}
		if next, moves := lifecycle.Next("", observation); moves || next != "" {
			t.Errorf("%s in no state at all: %s", observation, next)
		}
	}
	if next, moves := lifecycle.Next(model.Launched, "Sneezed"); moves || next != model.Launched {
		t.Errorf("an observation nobody makes: %s", next)
	}
}

// From every state a claim gets to its end, whatever is seen in between.
func TestEveryClaimEnds(t *testing.T) {
	for _, state := range states {
		reached := map[model.ClaimState]bool{state: true}
		for range states {
			for from := range reached {
				for _, observation := range observations {
					next, _ := lifecycle.Next(from, observation)
					reached[next] = true
				}
			}
		}
		if !reached[model.Gone] {
			t.Errorf("from %s no way leads to the end", state)
		}
	}
}

func TestAsksEnd(t *testing.T) {
	node := []model.Node{{Name: "n"}}
	for state, want := range map[model.ClaimState][2]lifecycle.Observation{
		model.Launched:    {lifecycle.EndRequestedUnregistered, lifecycle.EndRequested},
		model.Registered:  {lifecycle.EndRequested, lifecycle.EndRequested},
		model.Initialized: {lifecycle.EndRequested, lifecycle.EndRequested},
	} {
		claim := model.Claim{State: state}
		if got := [2]lifecycle.Observation{lifecycle.AsksEnd(&claim, nil), lifecycle.AsksEnd(&claim, node)}; got != want {
			t.Errorf("%s: %v, want %v", state, got, want)
		}
	}
}
