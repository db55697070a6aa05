package main

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/samples"
)

func TestF151EndsAreMeasured(t *testing.T) {
	ended := []interruption.Ended{
		{Claim: "a", Pool: "general", CapacityType: "spot", Reason: model.EndedSpotInterrupted, Seconds: 40},
		{Claim: "b", Pool: "general", CapacityType: "spot", Reason: model.ReasonEmpty, Seconds: 9},
		{Claim: "c", CapacityType: "on-demand", Reason: model.EndedInstance},
	}
	both := []string{
		"NodeClaimsDisrupted[prod Empty] 1", "NodeClaimsDisrupted[prod InstanceEnded] 1", "NodeClaimsDisrupted[prod SpotInterrupted] 1",
		"NodeClaimsTerminated[prod  on-demand] 1", "NodeClaimsTerminated[prod general spot] 2", "NodesTerminationDuration[prod] 40", "NodesTerminationDuration[prod] 9",
	}
	for name, test := range map[string]struct {
		got  []boot.Sample
		want []string
	}{
		"a look": {checked(interruption.Outcome{Cluster: "prod", Nodes: 12, Limited: 3, Ended: ended}), append([]string{"ClusterStateNodeCount[prod] 12", "RemovalsPutOff[] 3"}, both...)},
		"a drain run": {drained(interruption.DrainOutcome{Cluster: "prod", Evicted: 5, Deleted: 1, Refused: 2, Ended: ended}),
			append([]string{"PodsDrained[prod] 6", "PodsEvictionsRefused[prod] 2"}, both...)},
		"notices": {noticed(interruption.NoticesOutcome{Kinds: map[string]int{"spot_interrupted": 2, "no_op": 1}}),
			[]string{"InterruptionReceivedMessages[no_op] 1", "InterruptionReceivedMessages[spot_interrupted] 2"}},
		"an idle look":      {checked(interruption.Outcome{Cluster: "prod"}), nil},
		"an idle drain run": {drained(interruption.DrainOutcome{Cluster: "prod"}), nil},
	} {
		slices.Sort(test.want)
		if got := samples.Reported(test.got); !slices.Equal(got, test.want) {
			t.Errorf("%s is measured as\n%q, want\n%q", name, got, test.want)
		}
	}
}
