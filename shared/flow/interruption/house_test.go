package interruption_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// house returns a world that a Deployment of so many pods lives in, each on a node of its own. Objects are held by
// finalizers.
func house(t *testing.T, pods int, options world.Options, change func(shape *model.PodShape)) *world.World {
	t.Helper()
	w := start(t, options)
	w.Cluster.HoldClaims(true)
	shape := big()
	if change != nil {
		change(&shape)
	}
	w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "web", Shape: shape, Replicas: pods})
	w.Tick(2 * time.Second)
	settle(t, w)
	return w
}

func labeled(shape *model.PodShape) { shape.Labels = map[string]string{"app": "web"} }

// budget forbids that more than so many pods of the Deployment are away.
func budget(w *world.World, name, mostAway string) {
	w.Cluster.AddBudget(model.PDB{
		Namespace: "default", Name: name, MaxUnavailable: mostAway,
		Selector: &model.Selector{MatchLabels: map[string]string{"app": "web"}},
	})
}

// end begins the end of a claim, as whoever finds that it is to end does. within is when no pod may be left; 0 = never.
func end(t *testing.T, w *world.World, claim model.Claim, code string, within time.Duration) model.Claim {
	t.Helper()
	ports := w.Ports(w.Process(world.Fault{}), "finder")
	flow := ports.Interruption(w.Clock.Now, interruption.Settings{})
	site, err := flow.Connector.Connect(t.Context(), world.Registration())
	if err != nil {
		t.Fatal(err)
	}
	why := interruption.Cause{Code: code, Message: "the test says so", NowUnix: w.Clock.Now().Unix()}
	if within != 0 {
		why.DeadlineUnix = w.Clock.Now().Add(within).Unix()
	}
	begun, tainted, err := interruption.Begin(t.Context(), flow, site, world.Registration(), claim, why)
	if err != nil || !tainted {
		t.Fatalf("begin the end of %s: tainted %v, %v", claim.Name, tainted, err)
	}
	if err := w.Passes.Drain(t.Context(), world.Name, "end/"+claim.Name, 0); err != nil {
		t.Fatal(err)
	}
	return begun
}

// play lets time pass with everything at work: drains and looks as they are asked for and ticked, and provisioning.
func play(t *testing.T, w *world.World, d time.Duration) totals {
	t.Helper()
	return playWith(t, w, d, func(context.Context, *world.Process, *interruption.Flow) {})
}

// playWith is play with a change to every flow.
func playWith(t *testing.T, w *world.World, d time.Duration, alter change) totals {
	t.Helper()
	var sum totals
	for second := range int(d / time.Second) {
		sum.receive(t, w, alter)
		if second%60 == 30 {
			sum.run(t, w, alter)
		}
		if second%5 == 0 {
			_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync) // what it could not do the next does
		}
		w.Tick(time.Second)
	}
	return sum
}

// leave is a pod that was made to leave.
type leave struct {
	verb  string // evict, delete
	pod   string // namespace/name
	at    time.Time
	grace time.Duration
	actor string
}

// leaves returns the evictions and deletions of pods by processes so far.
func leaves(w *world.World) []leave {
	var out []leave
	for _, entry := range w.Log.Since(0) {
		written, ok := entry.Fact.(world.ObjectWritten)
		if !ok || written.Kind != world.KindPod || entry.Actor == "" || written.Verb != "evict" && written.Verb != "delete" {
			continue
		}
		out = append(out, leave{written.Verb, written.Name, entry.At, time.Unix(written.Pod.DeletedUnix, 0).Sub(entry.At.Truncate(time.Second)), entry.Actor})
	}
	return out
}

// gone returns when a pod was really gone; the zero time where it is there.
func gone(w *world.World, key string) time.Time {
	for _, entry := range w.Log.Since(0) {
		if written, ok := entry.Fact.(world.ObjectWritten); ok && written.Kind == world.KindPod && written.Name == key && written.Verb == "gone" {
			return entry.At
		}
	}
	return time.Time{}
}

// terminated returns when EC2 was first told to end an instance; the zero time where it was not.
func terminated(w *world.World, id string) time.Time {
	for _, entry := range w.Log.Since(0) {
		if called, ok := entry.Fact.(world.TerminateCalled); ok && slices.Contains(called.IDs, id) {
			return entry.At
		}
	}
	return time.Time{}
}

// claimOf returns a claim as it is recorded.
func claimOf(t *testing.T, w *world.World, name string) model.Claim {
	t.Helper()
	for _, claim := range records(t, w).Claims {
		if claim.Name == name {
			return claim
		}
	}
	t.Fatalf("there is no claim %s", name)
	return model.Claim{}
}

// nodeOf returns a claim's Node object; nil where there is none.
func nodeOf(w *world.World, claim model.Claim) *model.Node {
	for _, node := range w.Cluster.Nodes() {
		if node.UID == claim.NodeUID {
			return &node
		}
	}
	return nil
}

// objectOf returns a claim's NodeClaim object; nil where there is none.
func objectOf(w *world.World, claim model.Claim) *world.NodeClaim {
	for _, object := range w.Cluster.Claims() {
		if object.UID == claim.ObjectUID {
			return &object
		}
	}
	return nil
}

// podsOn returns the keys of the pods on a claim's node that have not ended.
func podsOn(w *world.World, claim model.Claim) []string {
	var out []string
	for _, pod := range w.Cluster.Pods() {
		if pod.NodeName == claim.NodeName && !pod.Terminal() {
			out = append(out, pod.Key())
		}
	}
	return out
}

// ended fails where a claim, its instance, or an object of it is left.
func ended(t *testing.T, w *world.World, claim model.Claim) {
	t.Helper()
	if now := claimOf(t, w, claim.Name); now.State != model.Gone {
		t.Errorf("claim %s is %s: %+v", claim.Name, now.State, now.Drain)
	}
	if m, ok := w.Fleet.Instance(claim.InstanceID); ok && m.State != "terminated" {
		t.Errorf("machine %s is %s", claim.InstanceID, m.State)
	}
	if nodeOf(w, claim) != nil || objectOf(w, claim) != nil {
		t.Errorf("node %+v or NodeClaim %+v is left", nodeOf(w, claim), objectOf(w, claim))
	}
}

// saying returns the events on an object whose reason is this, joined.
func saying(w *world.World, kind, name, reason string) string {
	var out []string
	for _, event := range w.Cluster.Events(kind, name) {
		if event.Reason == reason {
			out = append(out, event.Message)
		}
	}
	return strings.Join(out, "\n")
}
