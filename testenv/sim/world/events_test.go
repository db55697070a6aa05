package world_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

func spotInstance(w *world.World) string {
	return w.Fleet.AddInstance(model.Instance{
		Type: "m5.large", Zone: "us-west-2a", CapacityType: model.Spot,
		Tags: map[string]string{"kubernetes.io/cluster/" + world.Name: "owned", model.LabelNodePool: "web", "joiner.sh/intent": "1"},
	})
}

// reported returns the detail types of the messages in the queue of notices.
func reported(t *testing.T, w *world.World) []string {
	t.Helper()
	var out []string
	for _, m := range w.Notices.Peek() {
		var event struct {
			DetailType string            `json:"detail-type"`
			Account    string            `json:"account"`
			Detail     map[string]string `json:"detail"`
		}
		if err := json.Unmarshal([]byte(m.Body), &event); err != nil || event.Account != world.Registration().Account {
			t.Fatalf("%s: %v", m.Body, err)
		}
		out = append(out, event.DetailType+" "+event.Detail["state"])
	}
	return out
}

func TestInterruptionIsToldMarkedAndCarriedOut(t *testing.T) {
	w := world.New(world.Options{Events: world.Span{Min: 2 * time.Second}})
	id := spotInstance(w)
	w.Tick(time.Minute)
	w.Fleet.Interrupt(id, 2*time.Minute)
	warned := []model.SpotInterruption{{InstanceID: id, SinceUnix: w.Clock.Now().Unix()}}
	w.Fleet.Interrupt(id, 2*time.Minute) // once
	w.Tick(time.Second)
	if found, err := w.Fleet.Interrupted(t.Context(), world.Name); err != nil || !slices.Equal(found, warned) {
		t.Errorf("marked: %v, %v; want %v", found, err, warned)
	}
	if ids, _ := w.Fleet.Interrupted(t.Context(), "other"); len(ids) != 0 {
		t.Errorf("of another cluster: %v", ids)
	}
	if got := reported(t, w); len(got) != 0 {
		t.Errorf("too early: %v", got)
	}
	w.Tick(time.Second)
	if got := reported(t, w); !slices.Equal(got, []string{"EC2 Spot Instance Interruption Warning "}) {
		t.Errorf("told %v", got)
	}
	w.Tick(3 * time.Minute)
	want := []string{"EC2 Spot Instance Interruption Warning ", "EC2 Instance State-change Notification shutting-down", "EC2 Instance State-change Notification terminated"}
	if got := reported(t, w); !slices.Equal(got, want) {
		t.Errorf("told %v", got)
	}
	if found, _ := w.Fleet.Interrupted(t.Context(), world.Name); !slices.Equal(found, warned) {
		t.Errorf("afterwards: %v", found)
	}
}

func TestEventThatIsLostIsInTheLogAndNotInTheQueue(t *testing.T) {
	w := world.New(world.Options{})
	id := spotInstance(w)
	w.Tick(time.Minute)
	w.Events.LoseNext(1)
	w.Fleet.Interrupt(id, 2*time.Minute)
	w.Tick(time.Minute)
	lost := 0
	for _, e := range w.Log.Since(0) {
		if moved, ok := e.Fact.(world.EventMoved); ok && moved.Verb == "lost" {
			lost++
		}
	}
	if got := reported(t, w); len(got) != 0 || lost != 1 {
		t.Errorf("told %v, %d lost", got, lost)
	}
}

func TestImpairedInstanceIsShownUntilItIsMendedOrEnds(t *testing.T) {
	w := world.New(world.Options{})
	a, b := spotInstance(w), spotInstance(w)
	w.Tick(time.Minute)
	w.Fleet.Impair(a, model.ImpairedSystem, "")
	w.Fleet.Impair(b, model.ImpairedEvent, "instance-retirement")
	if all, err := w.Fleet.Impaired(t.Context()); err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	w.Fleet.Mend(a)
	w.Fleet.EndByHand(b)
	if all, err := w.Fleet.Impaired(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("%+v, %v", all, err)
	}
}

func TestStoppedInstanceCanBeTerminated(t *testing.T) {
	w := world.New(world.Options{})
	id := spotInstance(w)
	w.Tick(time.Minute)
	w.Fleet.Stop(id)
	w.Tick(time.Minute)
	if m, _ := w.Fleet.Instance(id); m.State != "stopped" {
		t.Fatalf("it is %s", m.State)
	}
	if ended, err := w.Fleet.Terminate(t.Context(), world.Name, []string{id}); err != nil || len(ended) != 1 {
		t.Errorf("%v, %v", ended, err)
	}
}

func TestClaimIsFoundByItsInstance(t *testing.T) {
	w := world.New(world.Options{})
	fence, err := w.Ledger.AcquireLease(t.Context(), world.Name, model.LeaseCollector, "me", 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	claim := model.Claim{Name: "a", Pool: "web", State: model.Launched, InstanceID: "i-1"}
	if err := w.Ledger.Adopt(t.Context(), fence, claim); err != nil {
		t.Fatal(err)
	}
	found, now, err := w.Ledger.ByInstance(t.Context(), []string{"i-2", "i-1"})
	if err != nil || now != w.Clock.Now().Unix() || len(found) != 1 || found[0].Cluster != world.Name || found[0].Claim.Name != "a" || found[0].Claim.Version != 1 {
		t.Errorf("%+v at %d, %v", found, now, err)
	}
}

// A spot warning names its instance by zone, or by region and account: the two readings of what EC2 sends.
func TestWarningNamesItsInstanceInTwoWays(t *testing.T) {
	for text, reads := range map[string]*reading.Set{
		"arn:aws:ec2:us-west-2a:instance/":             reading.Default(),
		"arn:aws:ec2:us-west-2:123456789012:instance/": reading.AllOther(),
	} {
		w := world.New(world.Options{Fleet: world.FleetOptions{Readings: reads}})
		id := spotInstance(w)
		w.Tick(time.Second)
		w.Fleet.Interrupt(id, time.Minute)
		w.Tick(time.Second)
		messages := w.Notices.Peek()
		if len(messages) != 1 || !strings.Contains(messages[0].Body, `"resources":["`+text+id+`"]`) {
			t.Errorf("want %s%s: %v", text, id, messages)
			continue
		}
		if notice, err := wire.DecodeEvent([]byte(messages[0].Body)); err != nil || !slices.Equal(notice.Instances, []string{id}) {
			t.Errorf("%s is read as %+v, %v", messages[0].Body, notice, err)
		}
	}
}
