package conform

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
)

// EnderPort is EC2 as the launching and the ending flow ask it.
type EnderPort interface {
	FleetPort
	// Ender is the fleet as the ending flow sees it.
	Ender() interruption.Fleet
}

// Ender is the contract of a fleet that ends instances. start returns one without instances for each case.
func Ender(t *testing.T, start func(t *testing.T) EnderPort) {
	for name, rule := range map[string]func(yard, interruption.Fleet){
		"owned are those with all three tags, in whatever state": fleetOwns,
		"describe leaves out what is not shown":                  fleetDescribes,
		"terminate ends what is owned, and says what":            fleetTerminates,
	} {
		t.Run(name, func(t *testing.T) {
			port := start(t)
			rule(yard{port, t}, port.Ender())
		})
	}
}

func fleetOwns(b yard, ender interruption.Fleet) {
	result := b.launch(b.Draft("01A", model.OnDemand, "a", "b"))
	tags := map[string]string{"kubernetes.io/cluster/web": "owned", model.LabelNodePool: "default", "joiner.sh/intent": "01X"}
	ours := b.Foreign(tags)
	for missing := range tags {
		some := map[string]string{"name": "somebody's"}
		for key, value := range tags {
			if key != missing {
				some[key] = value
			}
		}
		b.Foreign(some)
	}
	b.Foreign(map[string]string{"kubernetes.io/cluster/shop": "owned", model.LabelNodePool: "default", "joiner.sh/intent": "01X"})
	b.Foreign(map[string]string{"kubernetes.io/cluster/web": "shared", model.LabelNodePool: "default", "joiner.sh/intent": "01X"})
	want := append(idsOf(result.Instances), ours)
	slices.Sort(want)
	for _, step := range []struct {
		after time.Duration
		want  []string
	}{{0, []string{}}, {FleetVisibility, want}} {
		b.Pass(step.after)
		owned, err := ender.Owned(b.t.Context(), "web")
		if got := idsOf(owned); err != nil || !reflect.DeepEqual(got, step.want) {
			b.t.Errorf("after %v: %v, %v; want %v", step.after, got, err, step.want)
		}
	}
	if _, err := ender.Terminate(b.t.Context(), "web", want[:1]); err != nil {
		b.t.Fatal(err)
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "shutting-down"}, {FleetShutdown, "terminated"}, {FleetGone, ""}} {
		b.Pass(step.after)
		owned, err := ender.Owned(b.t.Context(), "web")
		if err != nil {
			b.t.Fatal(err)
		}
		state := ""
		for _, instance := range owned {
			if instance.ID == want[0] {
				state = instance.State
			}
		}
		if state != step.want {
			b.t.Errorf("after %v: %q, want %q", step.after, state, step.want)
		}
	}
}

func fleetDescribes(b yard, ender interruption.Fleet) {
	ids := idsOf(b.launch(b.Draft("01A", model.OnDemand, "a", "b")).Instances)
	asked := []string{ids[1], "i-0123456789abcdef0", ids[0], ids[1]}
	if young, err := ender.DescribeInstances(b.t.Context(), asked); err != nil || len(young) != 0 {
		b.t.Errorf("within the lag: %v, %v", idsOf(young), err)
	}
	b.Pass(FleetVisibility)
	shown, err := ender.DescribeInstances(b.t.Context(), asked)
	if err != nil || !reflect.DeepEqual(idsOf(shown), ids) || shown[0].Tags["joiner.sh/intent"] != "01A" {
		b.t.Errorf("%+v %v", shown, err)
	}
	if none, err := ender.DescribeInstances(b.t.Context(), nil); err != nil || len(none) != 0 {
		b.t.Errorf("of no ids: %v, %v", idsOf(none), err)
	}
}

func fleetTerminates(b yard, ender interruption.Fleet) {
	ids := idsOf(b.launch(b.Draft("01A", model.OnDemand, "a", "b")).Instances)
	foreign := b.Foreign(map[string]string{"name": "somebody's"})
	asked := []string{"i-0123456789abcdef0", foreign, ids[0]}
	if ended, err := ender.Terminate(b.t.Context(), "web", asked); err != nil || len(ended) != 0 {
		b.t.Errorf("within the lag: %v, %v", ended, err)
	}
	b.Pass(FleetVisibility)
	if ended, err := ender.Terminate(b.t.Context(), "shop", asked); err != nil || len(ended) != 0 {
		b.t.Errorf("for another cluster: %v, %v", ended, err)
	}
	if ended, err := ender.Terminate(b.t.Context(), "web", asked); err != nil || !reflect.DeepEqual(ended, ids[:1]) {
		b.t.Errorf("%v, %v; want %v", ended, err, ids[:1])
	}
	b.Pass(FleetShutdown)
	if ended, err := ender.Terminate(b.t.Context(), "web", asked); err != nil || len(ended) != 0 {
		b.t.Errorf("of one that has ended: %v, %v", ended, err)
	}
	shown, err := ender.DescribeInstances(b.t.Context(), []string{ids[0], ids[1], foreign})
	if err != nil || len(shown) != 3 {
		b.t.Fatalf("%+v %v", shown, err)
	}
	for _, instance := range shown {
		if ended := instance.State == "terminated"; ended != (instance.ID == ids[0]) {
			b.t.Errorf("%s is %s", instance.ID, instance.State)
		}
	}
}
