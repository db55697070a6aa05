package provision_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// R1: the same pod in two batches, 100 ms apart.
func TestR1SamePodInTwoBatchesGetsOneClaim(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 1, world.Shape(1500, gib))
	pass(t, w, provision.TriggerBatch)
	w.Clock.Advance(100 * time.Millisecond)
	if outcome := pass(t, w, provision.TriggerBatch); outcome.Claims != 0 || outcome.Nominated != 1 {
		t.Errorf("the second batch: %+v", outcome)
	}
	if n, _ := running(t, w); n != 1 {
		t.Errorf("%d machines", n)
	}
}

// R2, scenario 1: killed after CreateFleet returned; scenario 2: CreateFleet's answer is lost, and the same launch is looked
// into ten minutes later by another process, after the token lapsed too.
func TestR2LA19InstanceIsAdoptedAndNeverLaunchedTwice(t *testing.T) {
	for _, mode := range []world.Mode{world.DiesAfter, world.LosesReply} {
		for _, lapsed := range []bool{false, true} {
			w := start(t, world.Options{Types: []string{"m5.large"}, Visibility: 20 * time.Second})
			pending(w, "web", 3, world.Shape(1500, gib))
			_, _ = w.Process(world.Fault{At: 1, Effect: "launch", Mode: mode}).Run(t.Context(), provision.TriggerBatch)
			w.Tick(10 * time.Minute)
			if lapsed {
				w.Fleet.ForgetTokens()
			}
			settle(t, w)
			sound(t, w)
			if n, _ := running(t, w); n != 3 {
				t.Errorf("%s: %d machines, want 3", mode, n)
			}
		}
	}
}

// R3, scenario 3: of fifty EC2 gives some and errors, and the process dies before it writes that down. The instances there
// are belong to claims, one each, by a map any process finds again, and what is missing is launched anew.
func TestR3PartOfAFleetIsDealtOutTheSameWayByWhomeverFindsIt(t *testing.T) {
	const wanted, given = 50, 37
	w := start(t, world.Options{Types: []string{"m5.large"}, Visibility: 5 * time.Second})
	pool := world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand), world.Need(model.LabelZone, "us-west-2a"))
	w.Cluster.AddPool(pool)
	only := model.OfferingKey{InstanceType: "m5.large", Zone: "us-west-2a", CapacityType: model.OnDemand}
	w.Fleet.SetCapacity(only, given)
	pending(w, "web", wanted, world.Shape(1500, gib))
	_, _ = w.Process(world.Fault{At: 1, Effect: "settle", Mode: world.DiesBefore}).Run(t.Context(), provision.TriggerBatch)
	if n, _ := running(t, w); n != given {
		t.Fatalf("%d machines, want %d", n, given)
	}
	w.Fleet.SetCapacity(only, 1000)
	w.Tick(due)
	pass(t, w, provision.TriggerResync)
	byIntent := map[string][]model.Claim{}
	for _, claim := range load(t, w).Claims {
		byIntent[claim.Intent] = append(byIntent[claim.Intent], claim)
	}
	for _, claims := range byIntent { // by name: their instances must be in order too
		for i := 1; i < len(claims); i++ {
			if claims[i].InstanceID != "" && claims[i].InstanceID <= claims[i-1].InstanceID {
				t.Errorf("claim %s has %s after %s", claims[i].Name, claims[i].InstanceID, claims[i-1].InstanceID)
			}
		}
	}
	w.Tick(5 * time.Minute)
	settle(t, w)
	sound(t, w)
	if n, _ := running(t, w); n != wanted {
		t.Errorf("%d machines in the end, want %d", n, wanted)
	}
}

// R20, S5: no id is no identity. A claim that has no instance yet and a node without a provider id do not pair.
func TestR20S5BlankProviderIDsNeverMatch(t *testing.T) {
	w := unfinished(t, 1, world.DiesBefore)
	w.Cluster.PutNode(model.Node{Name: "stranger", Labels: map[string]string{model.LabelNodePool: "default"}, Ready: true})
	w.Tick(40 * time.Second) // the lease is over, the launch not due yet
	outcome := pass(t, w, provision.TriggerNode)
	if claim := load(t, w).Claims[0]; outcome.Registered != 0 || claim.NodeName != "" || claim.State != model.Intended {
		t.Errorf("%+v, claim %+v", outcome, claim)
	}
}

// R21, S4: a description that has one instance twice is one instance.
func TestR21S4InstanceDescribedTwiceIsOne(t *testing.T) {
	w := unfinished(t, 2, world.DiesAfter)
	w.Tick(due)
	flow := w.Process(world.Fault{}).Flow()
	flow.Connector = stutters{flow.Connector}
	outcome, err := flow.Run(t.Context(), provision.Request{
		Cluster: world.Name, Trigger: provision.TriggerResync, Owner: "reader", Deadline: w.Clock.Now().Add(world.InvocationTimeout),
	})
	if err != nil || outcome.Recovered != 1 {
		t.Fatalf("%+v %v", outcome, err)
	}
	settle(t, w)
	sound(t, w)
}

// stutters finds every instance twice.
type stutters struct{ provision.Connector }

func (s stutters) Connect(ctx context.Context, reg model.Registration) (provision.Clients, error) {
	site, err := s.Connector.Connect(ctx, reg)
	site.Fleet = findsTwice{site.Fleet}
	return site, err
}

type findsTwice struct{ provision.Fleet }

func (f findsTwice) FindInstances(ctx context.Context, intent string) ([]model.Instance, error) {
	found, err := f.Fleet.FindInstances(ctx, intent)
	return append(append([]model.Instance{}, found...), found...), err
}

// Scenario 4: three at once, and the limit has room for one.
func TestScenario4ThreeAtOnceWithRoomForOne(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pool := world.Pool("default", "default")
	pool.Limits = model.Resources{model.Nodes: 1}
	w.Cluster.AddPool(pool)
	pending(w, "web", 3, world.Shape(1500, gib))
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { _, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch) })
	}
	group.Wait()
	pass(t, w, provision.TriggerResync)
	if n, _ := running(t, w); n != 1 {
		t.Errorf("%d machines, want 1", n)
	}
	sound(t, w)
}

// R63: what a run could not do is its error, so that every message comes back, and the resync finds the rest.
func TestR63UnexpectedErrorIsNotSwallowed(t *testing.T) {
	for _, effect := range []string{"acquire", "record"} {
		w := start(t, world.Options{Types: []string{"m5.large"}})
		pending(w, "web", 1, world.Shape(1500, gib))
		if _, err := w.Process(world.Fault{At: 1, Effect: effect, Mode: world.Fails}).Run(t.Context(), provision.TriggerBatch); err == nil {
			t.Errorf("%s fails and nobody hears of it", effect)
		}
		settle(t, w)
		sound(t, w)
	}
}

// R64: a throttled launch is made later, with nothing lost.
func TestR64ThrottledLaunchIsNotSkipped(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	for range 3 {
		w.Fleet.RefuseNext(fault.New(fault.Throttled, "RequestLimitExceeded", "request limit exceeded"))
	}
	pending(w, "web", 60, world.Shape(1500, gib))
	pass(t, w, provision.TriggerBatch)
	settle(t, w)
	sound(t, w)
	if n, _ := running(t, w); n != 60 {
		t.Errorf("%d machines, want 60", n)
	}
}

// R71: the holder of the lease is killed at each of its effects; whoever comes next takes over with a larger token, and
// nothing the dead one still had to write is written.
func TestR71KilledHolderIsFencedOff(t *testing.T) {
	for at := 1; at <= 12; at++ {
		w := start(t, world.Options{Types: []string{"m5.large"}, Visibility: 3 * time.Second})
		pending(w, "web", 2, world.Shape(1500, gib))
		_, _ = w.Process(world.Fault{At: at, Mode: world.DiesAfter}).Run(t.Context(), provision.TriggerBatch)
		if _, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch); err != nil && !fault.Is(err, fault.Conflict) {
			t.Errorf("while the dead one's lease runs: %v", err)
		}
		settle(t, w)
		sound(t, w)
		if n, _ := running(t, w); n != 2 {
			t.Errorf("killed after effect %d: %d machines, want 2", at, n)
		}
	}
}

// S26: NodeClaims made and deleted at once wedge nothing.
func TestS26ObjectsDeletedAtOnceWedgeNothing(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	for i := range 20 {
		pending(w, "web", 1+i, world.Shape(1500, gib))
		pass(t, w, provision.TriggerBatch)
		for _, object := range w.Cluster.Claims() {
			w.Cluster.DeleteClaim(object.Claim.Name)
		}
		w.Tick(10 * time.Second)
	}
	for range 12 {
		w.Tick(5 * time.Second)
		pass(t, w, provision.TriggerResync)
	}
	if waiting := w.Cluster.Waiting(); len(waiting) != 0 {
		t.Errorf("pods wait: %v", waiting)
	}
}
