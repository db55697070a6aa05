package sim_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// apart are the doubts that reach no flow, each with why.
var apart = map[string]string{
	reading.AccessEntryLag:           "clusters let functions in from the beginning",
	reading.ClusterLag:               "clusters are attached from the beginning",
	reading.ConditionalConflict:      "the adapter repeats such a put",
	reading.CreateFleetResources:     "nobody has policies",
	reading.CreateFleetTemplateKeys:  "nobody has policies",
	reading.DryRunDepth:              "a trial asks for types that their zones have",
	reading.FleetCreateTags:          "nobody has policies",
	reading.FleetInstanceToken:       "machines are found by tags alone",
	reading.GroupOnStandard:          "the adapter sends without a group where it must",
	reading.MissingProfile:           "nobody has policies",
	reading.PolicyLag:                "nobody has policies",
	reading.RunInstancesMetadataKeys: "nobody has policies",
	reading.RunInstancesParameters:   "the adapter writes requests of which both readings make the same",
	reading.RunInstancesTags:         "the adapter writes requests of which both readings make the same",
}

// Every doubt reaches the simulated worlds, where it is drawn, or there is a reason why not.
func TestEveryReadingIsDrawnOrSaysWhyNot(t *testing.T) {
	const runs = 400
	drawn := map[string]int{}
	for seed := range uint64(runs) {
		others := sim.DrawReadings(seed).Scenario.Readings.Others()
		if len(others) == 0 {
			t.Errorf("seed %d takes every default", seed)
		}
		for _, id := range others {
			drawn[id]++
		}
	}
	for _, doubt := range reading.All() {
		reaches := slices.Contains(sim.Readings(), doubt.ID)
		if n := drawn[doubt.ID]; reaches != (n > runs/3 && n < runs*2/3) || reaches == (apart[doubt.ID] != "") {
			t.Errorf("%s is drawn in %d of %d runs; reaches a flow: %v, why not: %q", doubt.ID, n, runs, reaches, apart[doubt.ID])
		}
	}
}

// called returns the calls of CreateFleet.
func (d *diary) called() []world.FleetCalled {
	var out []world.FleetCalled
	for _, e := range d.entries {
		if call, ok := e.Fact.(world.FleetCalled); ok {
			out = append(out, call)
		}
	}
	return out
}

// started returns the instances that EC2 began to run, and when.
func (d *diary) started() (out []world.InstanceStarted, at []time.Time) {
	for _, e := range d.entries {
		if start, ok := e.Fact.(world.InstanceStarted); ok {
			out, at = append(out, start), append(at, e.At)
		}
	}
	return out, at
}

// Each reading is seen in a world that takes it, and not in one that does not; pods get their instances, and no more, in both.
func TestReadingsReachAWorld(t *testing.T) {
	gone := func(call world.FleetCalled) bool {
		return strings.HasPrefix(call.Refused, "InvalidLaunchTemplateName.NotFound")
	}
	warned := "" // what was in the queue of notices
	for id, c := range map[string]struct {
		arrange func(w *world.World, at func(time.Duration, func()))
		after   time.Duration // from when on there are pods
		seen    func(d *diary) bool
	}{
		reading.DescribeLag: {seen: func(d *diary) bool {
			instances, at := d.started()
			return !slices.ContainsFunc(instances, func(m world.InstanceStarted) bool { return m.VisibleAt.Sub(at[0]) < 10*time.Second })
		}},
		reading.ProfileLag: {after: 6 * time.Second, seen: func(d *diary) bool {
			_, at := d.started()
			return at[0].Sub(world.Start) >= 13*time.Second // the profile is made after three seconds
		}},
		reading.TemplateLag: {seen: func(d *diary) bool { return slices.ContainsFunc(d.called(), gone) }},
		reading.TokenRefused: {
			arrange: func(w *world.World, at func(time.Duration, func())) { w.Fleet.ForgetBeforeNext() },
			seen: func(d *diary) bool { // what is sent again is carried out
				calls := d.called()
				return gone(calls[0]) && calls[1].Token == calls[0].Token && len(calls[1].Instances) > 0
			},
		},
		reading.TokenUnfulfilled: {
			arrange: func(w *world.World, at func(time.Duration, func())) {
				w.Fleet.Short(world.Shortage{Code: "InsufficientInstanceCapacity", Until: world.Start.Add(20 * time.Second)})
				w.Fleet.LoseNextReply()
			},
			seen: func(d *diary) bool { // what came to nothing, unheard, is carried out when it is sent again
				calls := d.called()
				return slices.ContainsFunc(calls[1:], func(call world.FleetCalled) bool { return call.Token == calls[0].Token && len(call.Instances) > 0 })
			},
		},
		reading.EventResource: {
			arrange: func(w *world.World, at func(time.Duration, func())) {
				warned = ""
				at(2*time.Minute, func() { w.Fleet.Interrupt(w.Kubelets.Alive()[0], 2*time.Minute) })
				for i := range 400 { // while it is in the queue
					at(2*time.Minute+time.Duration(i)*10*time.Millisecond, func() {
						for _, message := range w.Notices.Peek() {
							warned += message.Body
						}
					})
				}
			},
			seen: func(d *diary) bool {
				if !strings.Contains(warned, "Spot Instance Interruption Warning") {
					t.Errorf("no warning was seen in the queue: %q", warned)
				}
				return strings.Contains(warned, `"arn:aws:ec2:us-west-2:123456789012:instance/`)
			},
		},
	} {
		for _, other := range []bool{false, true} {
			run := small(3, 8*time.Minute)
			if c.after > 0 {
				run.Scenario.Workloads[0].Replicas = 0
				run.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(c.after), Replicas: 3}}
			}
			run.Scenario.Arrange = c.arrange
			if run.Scenario.Readings = reading.Default(); other {
				run.Scenario.Readings = run.Scenario.Readings.With(id)
			}
			d := play(t, run)
			if seen := c.seen(d); seen != other {
				t.Errorf("%s read the other way: %v, and what it comes to is seen: %v", id, other, seen)
			}
			if waiting := d.world.Cluster.Waiting(); len(waiting) > 0 {
				t.Errorf("%s read the other way: %v; waiting: %v", id, other, waiting)
			}
		}
	}
}

// The rules hold however AWS is read, in the first seeds; `make sim-campaign` runs many more.
func TestRulesHoldWhereAWSIsReadTheOtherWay(t *testing.T) {
	t.Parallel()
	runs := uint64(20)
	if long() {
		runs = 1000
	}
	stats, failed := sim.Campaign{First: 1, Draw: sim.DrawReadings, Runs: runs, Cores: runtime.GOMAXPROCS(0), Stop: 5, Now: time.Now}.Run()
	for _, r := range failed {
		t.Error(report(r))
	}
	if stats.Launches < 50 {
		t.Errorf("%d launches: too little happens in these runs to show anything", stats.Launches)
	}
}
