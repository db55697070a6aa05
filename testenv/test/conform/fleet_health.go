package conform

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
)

// HealthPort is EC2 as the ending flow asks it what will not last.
type HealthPort interface {
	FleetPort
	// Health is the fleet as the ending flow sees it.
	Health() interruption.Health
	// Interrupt lets EC2 take a spot instance: it is warned, and ends FleetWarning later.
	Interrupt(id string)
	// Impair makes a status check of an instance fail as of now, or announces an event of a code: kind is one of model's.
	Impair(id, kind, code string)
	// Mend lets every check of an instance pass again, and calls off what was announced.
	Mend(id string)
}

// FleetWarning is from a warning to the beginning of the instance's end.
const FleetWarning = 2 * time.Minute

// Health is the contract of a fleet that tells which instances will not last. start returns one without instances for each case.
func Health(t *testing.T, start func(t *testing.T) HealthPort) {
	for name, rule := range map[string]func(interruptionBench){
		"interrupted are those EC2 takes, from the warning until after their end": benchInterrupted,
		"what somebody ends is not interrupted":                                   benchEnded,
		"another cluster's are not interrupted":                                   benchElsewhere,
		"all that are interrupted at once are named":                              benchMany,
		"failed checks say since when, whoever owns the machine":                  benchChecks,
		"scheduled events count until they are over":                              benchEvents,
		"a throttled question is Throttled":                                       benchThrottled,
	} {
		t.Run(name, func(t *testing.T) {
			port := start(t)
			rule(interruptionBench{port, yard{port, t}})
		})
	}
}

type interruptionBench struct {
	HealthPort
	yard yard
}

// spots launches spot instances of cluster web that are shown.
func (w interruptionBench) spots(intent string, claims ...string) []string {
	w.yard.t.Helper()
	ids := idsOf(w.yard.launch(w.Draft(intent, model.Spot, claims...)).Instances)
	w.Pass(FleetVisibility)
	return ids
}

func (w interruptionBench) wantInterrupted(cluster string, want ...string) {
	w.yard.t.Helper()
	slices.Sort(want)
	got, err := w.Health().Interrupted(w.yard.t.Context(), cluster)
	var ids []string
	for _, interruption := range got {
		ids = append(ids, interruption.InstanceID)
	}
	if err != nil || !slices.Equal(ids, want) {
		w.yard.t.Errorf("of %s %v are interrupted, %v; want %v", cluster, got, err, want)
	}
}

func (w interruptionBench) impaired() []model.Impairment {
	w.yard.t.Helper()
	got, err := w.Health().Impaired(w.yard.t.Context())
	if err != nil {
		w.yard.t.Fatal(err)
	}
	return got
}

func benchInterrupted(w interruptionBench) {
	ids := w.spots("01A", "a", "b", "c")
	w.wantInterrupted("web")
	w.Interrupt(ids[0])
	w.Interrupt(ids[1])
	var first []model.SpotInterruption
	for i, after := range []time.Duration{0, FleetWarning - time.Second, time.Second, FleetShutdown} {
		w.Pass(after)
		w.wantInterrupted("web", ids[0], ids[1])
		found, err := w.Health().Interrupted(w.yard.t.Context(), "web")
		switch {
		case err != nil:
			w.yard.t.Fatal(err)
		case i == 0:
			first = found
		case i == 1 && (!slices.Equal(found, first) || found[0].SinceUnix == 0): // the time of a warning stays while it runs
			w.yard.t.Errorf("interrupted since %v, and later since %v", first, found)
		}
	}
	left, err := w.FindInstances(w.yard.t.Context(), "01A")
	if err != nil || !slices.Equal(idsOf(left), ids[2:]) {
		w.yard.t.Errorf("left are %v, %v; want %v", idsOf(left), err, ids[2:])
	}
}

func benchEnded(w interruptionBench) {
	ids := w.spots("01A", "a", "b")
	w.End(ids[0])
	w.wantInterrupted("web")
	w.Pass(FleetShutdown)
	w.wantInterrupted("web")
}

func benchElsewhere(w interruptionBench) {
	ours := w.spots("01A", "a")
	launch := w.Draft("01S", model.Spot, "s")
	launch.Cluster = "shop"
	theirs := idsOf(w.yard.launch(launch).Instances)
	w.Pass(FleetVisibility)
	w.Interrupt(theirs[0])
	w.wantInterrupted("web")
	w.wantInterrupted("shop", theirs...)
	w.Interrupt(ours[0])
	w.wantInterrupted("web", ours...)
}

func benchMany(w interruptionBench) {
	var all []string
	for _, intent := range []string{"01A", "01B", "01C"} {
		all = append(all, w.spots(intent, "a", "b", "c", "d", "e", "f", "g", "h")...)
	}
	for _, id := range all {
		w.Interrupt(id)
	}
	w.wantInterrupted("web", all...)
}

func benchChecks(w interruptionBench) {
	ids := idsOf(w.yard.launch(w.Draft("01A", model.OnDemand, "a", "b")).Instances)
	foreign := w.Foreign(map[string]string{"name": "somebody's"})
	w.Pass(time.Minute) // they run
	if got := w.impaired(); len(got) != 0 {
		w.yard.t.Errorf("%+v", got)
	}
	w.Impair(ids[0], model.ImpairedInstance, "")
	w.Pass(7 * time.Second)
	w.Impair(ids[0], model.ImpairedSystem, "")
	w.Impair(foreign, model.ImpairedSystem, "")
	w.Pass(time.Second)
	got := w.impaired()
	since := map[string]int64{} // by instance and kind
	for _, i := range got {
		since[i.InstanceID+" "+i.Kind] = i.SinceUnix
		if i.Message == "" {
			w.yard.t.Errorf("without a message: %+v", i)
		}
	}
	first := since[ids[0]+" "+model.ImpairedInstance]
	want := map[string]int64{ids[0] + " " + model.ImpairedInstance: first, ids[0] + " " + model.ImpairedSystem: first + 7, foreign + " " + model.ImpairedSystem: first + 7}
	if len(got) != 3 || first == 0 || !reflect.DeepEqual(since, want) {
		w.yard.t.Errorf("%+v", got)
	}
	byKind := func(a, b model.Impairment) int {
		return slices.Compare([]string{a.InstanceID, a.Kind}, []string{b.InstanceID, b.Kind})
	}
	if !slices.IsSortedFunc(got, byKind) {
		w.yard.t.Errorf("not by instance and kind: %+v", got)
	}
	w.Mend(ids[0])
	if got := w.impaired(); len(got) != 1 || got[0].InstanceID != foreign || got[0].SinceUnix != first+7 {
		w.yard.t.Errorf("%+v", got)
	}
	// What ends is no longer of interest.
	w.End(foreign)
	if got := w.impaired(); len(got) != 0 {
		w.yard.t.Errorf("%+v", got)
	}
}

func benchEvents(w interruptionBench) {
	ids := idsOf(w.yard.launch(w.Draft("01A", model.OnDemand, "a", "b", "c")).Instances)
	w.Pass(time.Minute)
	for _, e := range [][2]string{{ids[0], "instance-retirement"}, {ids[1], "system-reboot"}, {ids[1], "instance-stop"}} {
		w.Impair(e[0], model.ImpairedEvent, e[1])
	}
	said := func(want ...string) {
		w.yard.t.Helper()
		got := []string{}
		for _, i := range w.impaired() {
			if i.Kind != model.ImpairedEvent || i.Message == "" {
				w.yard.t.Errorf("%+v", i)
			}
			got = append(got, i.InstanceID+" "+i.Code)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			w.yard.t.Errorf("said %q, want %q", got, want)
		}
	}
	said(ids[0]+" instance-retirement", ids[1]+" instance-stop", ids[1]+" system-reboot")
	w.Mend(ids[1])
	said(ids[0] + " instance-retirement")
	w.Mend(ids[0])
	said()
}

func benchThrottled(w interruptionBench) {
	w.Throttle("DescribeInstanceStatus")
	w.Throttle("DescribeSpotInstanceRequests")
	_, err := w.Health().Impaired(w.yard.t.Context())
	w.yard.want(fault.Throttled, "impaired", err)
	_, err = w.Health().Interrupted(w.yard.t.Context(), "web")
	w.yard.want(fault.Throttled, "interrupted", err)
}
