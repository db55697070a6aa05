package interruption

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// health is EC2 as far as it tells what is about to happen to instances.
type health struct {
	interrupted []model.SpotInterruption
	impaired    []model.Impairment
	errs        [2]error // of the two questions
	asked       [2]int
}

func (h *health) Interrupted(context.Context, string) ([]model.SpotInterruption, error) {
	h.asked[0]++
	return h.interrupted, h.errs[0]
}

func (h *health) Impaired(context.Context) ([]model.Impairment, error) {
	h.asked[1]++
	return h.impaired, h.errs[1]
}

// ask polls once as of a time, and returns what is seen and the collector state that is written.
func ask(h *health, nowUnix int64, before model.CollectorState, claims ...model.Claim) (lifecycle.View, Outcome, model.CollectorState, time.Duration) {
	r := &pass{session: sessionOf(&Flow{}, Clients{Health: h}, model.Registration{Cluster: "shop"})}
	r.records = model.ClusterRecords{Claims: claims, Collector: before, NowUnix: nowUnix}
	var view lifecycle.View
	r.poll(context.Background(), &view)
	var after model.CollectorState
	again := r.notePoll(&after, 0)
	r.out.Problems = r.Problems()
	return view, r.out, after, again
}

func instance(id, capacityType string, state model.ClaimState) model.Claim {
	return model.Claim{Name: "web-" + id, State: state, InstanceID: id, CapacityType: capacityType}
}

// A cluster without claims asks EC2 nothing, one without spot instances nothing about those.
func TestPollAsksOnlyAboutWhatThereIs(t *testing.T) {
	for name, c := range map[string]struct {
		claims []model.Claim
		asked  [2]int
		again  time.Duration
	}{
		"nothing":        {nil, [2]int{}, 0},
		"gone":           {[]model.Claim{instance("i-1", model.Spot, model.Gone)}, [2]int{}, 0},
		"no machine yet": {[]model.Claim{instance("", model.Spot, model.Intended)}, [2]int{}, 0},
		"ending anyway":  {[]model.Claim{instance("i-1", model.Spot, model.Terminating)}, [2]int{}, 0},
		"on demand":      {[]model.Claim{instance("i-1", model.OnDemand, model.Initialized)}, [2]int{0, 1}, 0},
		"spot":           {[]model.Claim{instance("i-1", model.Spot, model.Launched)}, [2]int{1, 1}, 25 * time.Second},
		"draining spot":  {[]model.Claim{instance("i-1", model.Spot, model.Draining)}, [2]int{1, 1}, 25 * time.Second},
	} {
		h := &health{}
		_, _, _, again := ask(h, 1000, model.CollectorState{}, c.claims...)
		if h.asked != c.asked || again != c.again {
			t.Errorf("%s: asked %v and again in %s, want %v and %s", name, h.asked, again, c.asked, c.again)
		}
	}
}

func TestPollSeesItsOwnInstancesOnly(t *testing.T) {
	h := &health{
		interrupted: []model.SpotInterruption{{InstanceID: "i-1", SinceUnix: 990}, {InstanceID: "i-of-others"}},
		impaired: []model.Impairment{
			{InstanceID: "i-2", Kind: model.ImpairedSystem, SinceUnix: 900}, {InstanceID: "i-of-others", Kind: model.ImpairedSystem, SinceUnix: 900},
			{InstanceID: "i-2", Kind: model.ImpairedEvent, Code: "instance-retirement"}, {InstanceID: "i-2", Kind: model.ImpairedEvent, Code: "instance-stop"},
		},
	}
	view, out, _, _ := ask(h, 1000, model.CollectorState{}, instance("i-1", model.Spot, model.Initialized), instance("i-2", model.OnDemand, model.Initialized))
	if !reflect.DeepEqual(view.Interrupted, h.interrupted[:1]) || len(view.Impaired) != 3 || out.Interrupted != 1 {
		t.Errorf("%+v %+v", view, out)
	}
	if want := map[string]int{model.ImpairedSystem: 1, model.ImpairedEvent: 1}; !reflect.DeepEqual(out.Impaired, want) {
		t.Errorf("counted %v, want %v", out.Impaired, want)
	}
}

// IN-05: an instance is counted once for as long as it suffers from one thing, and again when that comes back.
func TestIN05EachEpisodeIsCountedOnce(t *testing.T) {
	ill := []model.Impairment{{InstanceID: "i-1", Kind: model.ImpairedInstance, SinceUnix: 900}}
	claims := []model.Claim{instance("i-1", model.OnDemand, model.Initialized)}
	h, collector := &health{}, model.CollectorState{}
	for minute, c := range []struct {
		ill     bool
		err     error
		counted int
	}{{true, nil, 1}, {true, nil, 0}, {true, errors.New("no answer"), 0}, {true, nil, 0}, {false, nil, 0}, {true, nil, 1}, {true, nil, 0}} {
		h.impaired, h.errs[1] = nil, c.err
		if c.ill && c.err == nil {
			h.impaired = ill
		}
		_, out, after, _ := ask(h, 1000+int64(60*minute), collector, claims...)
		if out.Impaired[model.ImpairedInstance] != c.counted {
			t.Errorf("minute %d: counted %v, want %d", minute, out.Impaired, c.counted)
		}
		if c.ill && (len(after.Impaired) != 1 || after.Impaired[0].Subject != "i-1") || !c.ill && len(after.Impaired) != 0 {
			t.Errorf("minute %d: noted %+v", minute, after.Impaired)
		}
		collector = after
	}
}

// IN-05: status checks are asked for each minute, however often somebody looks.
func TestIN05StatusChecksAreAskedForEachMinute(t *testing.T) {
	h, collector := &health{}, model.CollectorState{}
	for now := int64(1000); now < 1000+600; now += 10 {
		_, _, collector, _ = ask(h, now, collector, instance("i-1", model.OnDemand, model.Initialized))
	}
	if h.asked[1] != 10 {
		t.Errorf("asked %d times in ten minutes", h.asked[1])
	}
}

// C2: spot instances are asked about often enough for half a minute, and however many looks there are, one hint is underway.
func TestC2OneHintAsksForTheNextPoll(t *testing.T) {
	h, collector := &health{}, model.CollectorState{}
	hints := map[int64]int{1000: 2} // the tick, twice
	for minute := range 10 {
		hints[1000+int64(60*minute)]++
	}
	checks, last, longest := 0, int64(1000), int64(0)
	for now := int64(1000); now < 1600; now++ {
		for range hints[now] {
			var again time.Duration
			_, _, collector, again = ask(h, now, collector, instance("i-1", model.Spot, model.Initialized))
			if again > 0 {
				hints[now+int64(again.Seconds())+1]++ // a second late
			}
			checks++
			longest, last = max(longest, now-last), now
		}
	}
	if longest > 27 || checks > 10+10*60/25+5 {
		t.Errorf("%d looks in ten minutes, %d s apart at most", checks, longest)
	}
	// A hint that is lost costs no more than a tick.
	collector.PollUnix = 1590
	if _, _, _, again := ask(h, 1660, collector, instance("i-1", model.Spot, model.Initialized)); again == 0 {
		t.Error("nobody asks again")
	}
	// Nor does a time that nothing explains.
	collector.PollUnix = 9999
	if _, _, _, again := ask(h, 1660, collector, instance("i-1", model.Spot, model.Initialized)); again == 0 {
		t.Error("nobody asks before a time that is far away")
	}
}

// S35: what may not be asked, or is not answered, is reported once with what is missing, and stops nothing else.
func TestS35PollThatIsDeniedIsToldAndStopsNothing(t *testing.T) {
	h := &health{interrupted: []model.SpotInterruption{{InstanceID: "i-1"}}}
	h.errs = [2]error{fault.New(fault.Denied, "UnauthorizedOperation", "no"), fault.New(fault.Denied, "UnauthorizedOperation", "no")}
	view, out, after, _ := ask(h, 1000, model.CollectorState{CheckedUnix: 700, Impaired: []model.Suspect{{Kind: model.ImpairedSystem, Subject: "i-1", SinceUnix: 700}}},
		instance("i-1", model.Spot, model.Initialized))
	if len(view.Interrupted)+len(view.Impaired) != 0 || after.CheckedUnix != 700 || len(after.Impaired) != 1 {
		t.Errorf("%+v %+v", view, after)
	}
	text := strings.Join(out.Problems, "\n")
	if len(out.Problems) != 2 || !strings.Contains(text, "ec2:DescribeSpotInstanceRequests") || !strings.Contains(text, "ec2:DescribeInstanceStatus") {
		t.Errorf("told: %s", text)
	}
	h.errs = [2]error{nil, errors.New("no answer")}
	if view, out, _, _ := ask(h, 1000, model.CollectorState{}, instance("i-1", model.Spot, model.Initialized)); len(view.Interrupted) != 1 || len(out.Problems) != 1 {
		t.Errorf("%+v %v", view, out.Problems)
	}
}
