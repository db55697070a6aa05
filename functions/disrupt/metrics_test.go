package main

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/samples"
)

// M81, M94: pods that commands move count by reason, policy and mode; nodes that wait by reason and blocker.
func TestF151M81M94PassesAreMeasured(t *testing.T) {
	got := samples.Reported(measured(disrupt.Outcome{
		Cluster: "prod", Undone: 1, Savings: 0.25, PriceBefore: 4.5, Committed: []string{"x-0", "x-1", "x-2"},
		Delayed: 1.5, Waiting: []model.WaitingNodes{{Reason: model.ReasonDrifted, Blocker: "Pods", Nodes: 3}},
		Moved: []disrupt.Moved{
			{Reason: model.ReasonUnderutilized, Policy: "Balanced", Mode: "eventual", Pods: 7},
			{Reason: model.ReasonDrifted, Mode: "graceful", Pods: 2},
		},
		Decided: []disrupt.Decided{{Reason: model.ReasonEmpty, Commands: 2}, {Reason: model.ReasonUnderutilized, Replaces: true, Commands: 1}},
	}))
	want := []string{
		"NodesWaiting[prod Drifted Pods] 3", "PodsDisruptionInitiated[prod Drifted None graceful] 2",
		"PodsDisruptionInitiated[prod Underutilized Balanced eventual] 7", "PricePerHour[prod] 4.5",
		"SavingsDelayedPerHour[prod] 1.5", "SavingsPerHour[prod] 0.25",
		"VoluntaryDisruptionDecisions[prod Empty delete] 2",
		"VoluntaryDisruptionDecisions[prod Underutilized replace] 1", "VoluntaryDisruptionQueueFailures[prod] 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("measured\n%q, want\n%q", got, want)
	}
	if got := samples.Reported(measured(disrupt.Outcome{Cluster: "prod", Skipped: "nothing has changed"})); len(got) != 0 {
		t.Errorf("of an idle look %q was measured", got)
	}
}
