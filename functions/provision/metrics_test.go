package main

import (
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/testenv/test/samples"
)

func TestF151RunIsMeasured(t *testing.T) {
	started := time.UnixMilli(1_772_366_400_000)
	out := provision.Outcome{
		Cluster: "prod", Source: "list", Pending: 7, Unschedulable: 2, Claims: 3, Failed: 2, Registered: 1,
		Bought:   []provision.Bought{{Pool: "general", CapacityType: "spot", Claims: 2}, {CapacityType: "on-demand", Claims: 1}},
		Failures: map[string]int{"InsufficientInstanceCapacity": 2}, Joined: map[string]int{"general": 1},
		Millis: map[string]int64{"catalog": 100, "plan1": 130, "fleet": 900},
	}
	got := samples.Reported(measured(out, []window{{FirstSeen: started.UnixMilli() - 400, Closed: started.UnixMilli() - 100, Pods: 7}, {}}, started))
	want := []string{
		"CloudProviderErrors[prod InsufficientInstanceCapacity] 2", "LaunchesFailed[] 2", "MillisToLaunch[] 900", "NodeClaimsCreated[prod  on-demand] 1",
		"NodeClaimsCreated[prod general spot] 2", "NodesCreated[prod general] 1", "PodsSchedulingDecisionDuration[prod] 1300",
		"SchedulerQueueDepth[prod] 7", "SchedulerUnschedulablePods[prod] 2", "SchedulingDuration[prod] 30", "SilentWatchers[] 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("measured\n%q, want\n%q", got, want)
	}
}

// A run that had nothing to do costs nothing.
func TestF151IdleRunIsNotMeasured(t *testing.T) {
	idle := provision.Outcome{Cluster: "prod", Trigger: "sweep", Source: "snapshot", Millis: map[string]int64{"snapshot": 20, "done": 30}}
	if got := samples.Reported(measured(idle, nil, time.Now())); len(got) != 0 {
		t.Errorf("measured %q", got)
	}
}
