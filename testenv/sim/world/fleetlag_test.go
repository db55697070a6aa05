package world_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// A launch from a template that was made a moment ago is refused as if there were none; whether its token is used up is read in two ways.
func TestFleetDoesNotFindATemplateForAMoment(t *testing.T) {
	for _, other := range []bool{false, true} {
		reads := reading.Strict(reading.TokenRefused)
		if other {
			reads = reading.Other(reading.TokenRefused)
		}
		m := newMarket(t, world.FleetOptions{TemplateLag: 2 * time.Second, Readings: reads})
		request := m.request("a", model.OnDemand, 1)
		if err := m.DryRun(request); !fault.Is(err, fault.Internal) || !strings.HasPrefix(fault.CodeOf(err), "InvalidLaunchTemplateName.NotFound") {
			t.Errorf("a dry run at once: %v", err)
		}
		if _, err := m.Launch(t.Context(), request); !fault.Is(err, fault.Invalid) || !strings.HasPrefix(fault.CodeOf(err), "InvalidLaunchTemplateName.NotFound") {
			t.Errorf("at once: %v", err)
		}
		m.pass(2 * time.Second)
		if err := m.DryRun(request); err != nil {
			t.Errorf("a dry run afterwards: %v", err)
		}
		if _, err := m.Launch(t.Context(), request); (err == nil) != other {
			t.Errorf("other reading %v: the same request afterwards: %v", other, err)
		}
		if result, err := m.Launch(t.Context(), m.request("b", model.OnDemand, 1)); err != nil || len(result.Instances) != 1 {
			t.Errorf("another launch from it: %+v, %v", result, err)
		}
	}
}

// gate lets operations through and notes how long those of a name take at least.
type gate struct {
	least map[string][]time.Duration
}

func (g *gate) Pass(_ context.Context, op world.Op, act func() error) error {
	g.least[op.Name] = append(g.least[op.Name], op.Least)
	return act()
}

// templates are what the process of a flow asks of launch templates and launches.
type templates interface {
	PrepareRequest(ctx context.Context, launch model.Launch) ([]byte, error)
	Launch(ctx context.Context, request []byte) (model.LaunchResult, error)
}

// The client of the process that made a template waits for it, once it has not been found; another process does not know how young it is.
func TestAClientWaitsForATemplateItMade(t *testing.T) {
	w := world.New(world.Options{Fleet: world.FleetOptions{TemplateLag: 2 * time.Second, Readings: reading.Strict(reading.TokenRefused)}})
	process := func() (*gate, templates) {
		g := &gate{least: map[string][]time.Duration{}}
		site, err := w.Ports(g, "planner").Connect(t.Context(), world.Registration())
		if err != nil {
			t.Fatal(err)
		}
		return g, site.Fleet
	}
	launch := func(of templates, intent string) error {
		request, err := of.PrepareRequest(t.Context(), draft(intent, model.OnDemand, 1))
		if err != nil {
			t.Fatal(err)
		}
		_, err = of.Launch(t.Context(), request)
		return err
	}
	own, maker := process()
	strange, other := process()
	for intent, of := range map[string]templates{"a": maker, "b": other} {
		if err := launch(maker, "made"); !strings.HasPrefix(fault.CodeOf(err), "InvalidLaunchTemplateName.NotFound") {
			t.Errorf("before %s: %v", intent, err)
		}
		if err := launch(of, intent); !strings.HasPrefix(fault.CodeOf(err), "InvalidLaunchTemplateName.NotFound") {
			t.Errorf("%s: %v", intent, err)
		}
	}
	w.Clock.Advance(500 * time.Millisecond)
	_ = launch(maker, "c")
	if err := launch(other, "d"); err == nil {
		t.Error("the other process found it early")
	}
	want := []time.Duration{0, 2 * time.Second, 2 * time.Second, 1500 * time.Millisecond}
	if got := own.least["fleet.launch"]; !slices.Equal(got, want) {
		t.Errorf("the launches of the process that made it take at least %v, want %v", got, want)
	}
	if got := strange.least["fleet.launch"]; !slices.Equal(got, []time.Duration{0, 0}) {
		t.Errorf("those of another one take at least %v", got)
	}
	w.Clock.Advance(1500 * time.Millisecond)
	if err := launch(other, "e"); err != nil {
		t.Errorf("after two seconds: %v", err)
	}
}

// An instance profile that was made a moment ago is not known to dry runs and launches; one that nobody made here is.
func TestFleetDoesNotKnowAProfileForAMoment(t *testing.T) {
	w := world.New(world.Options{Fleet: world.FleetOptions{ProfileLag: 10 * time.Second}})
	if err := w.Profiles.Make(model.InstanceProfile{Name: "young", Path: "/", Role: "nodes"}, w.Clock.Now()); err != nil {
		t.Fatal(err)
	}
	launch := func(intent, profile string) (result model.LaunchResult, dry error) {
		asked := draft(intent, model.OnDemand, 1)
		asked.Class.Status.InstanceProfile = profile
		request, err := w.Fleet.PrepareRequest(t.Context(), asked)
		if err == nil {
			dry = w.Fleet.DryRun(request)
			result, err = w.Fleet.Launch(t.Context(), request)
		}
		if err != nil {
			t.Fatal(err)
		}
		return result, dry
	}
	if result, dry := launch("a", "young"); !fault.Is(dry, fault.Invalid) || len(result.Instances) != 0 || len(result.Errors) == 0 ||
		result.Errors[0].Code != "InvalidParameterValue" || !strings.Contains(result.Errors[0].Message, "iamInstanceProfile.name") {
		t.Errorf("at once: %v, %+v", dry, result)
	}
	if result, dry := launch("b", "strange"); dry != nil || len(result.Instances) != 1 {
		t.Errorf("one that nobody made: %v, %+v", dry, result)
	}
	w.Clock.Advance(10 * time.Second)
	if result, dry := launch("c", "young"); dry != nil || len(result.Instances) != 1 {
		t.Errorf("after ten seconds: %v, %+v", dry, result)
	}
}
