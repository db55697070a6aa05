package provision_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

const gib = int64(1) << 30

// start returns a world with one class and one pool of the same name.
func start(t *testing.T, options world.Options) *world.World {
	t.Helper()
	w := world.New(options)
	w.Cluster.AddClass(world.Class("default"))
	w.Cluster.AddPool(world.Pool("default", "default"))
	return w
}

// pending adds pods and lets kube-scheduler find that nothing holds them.
func pending(w *world.World, prefix string, n int, shape model.PodShape) {
	w.Cluster.AddPods(prefix, n, shape)
	w.Tick(time.Second)
}

// pass runs the flow in a process of its own and fails the test on an error.
func pass(t *testing.T, w *world.World, trigger string) provision.Outcome {
	t.Helper()
	outcome, err := w.Process(world.Fault{}).Run(t.Context(), trigger)
	if err != nil {
		t.Fatalf("%s: %v\n%+v", trigger, err, outcome)
	}
	return outcome
}

// settle lets time pass and the resync run, until every pod is bound and every claim initialized. It fails after the
// minutes in which everything must have come right.
func settle(t *testing.T, w *world.World) {
	t.Helper()
	var last error
	for range 60 {
		w.Tick(5 * time.Second)
		_, last = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
		if len(w.Cluster.Waiting()) == 0 && allInitialized(t, w) {
			return
		}
	}
	t.Fatalf("after five minutes pods still wait: %v\nclaims: %s\nlast run: %v", w.Cluster.Waiting(), claimsText(t, w), last)
}

func load(t *testing.T, w *world.World) model.Ledger {
	t.Helper()
	ledger, err := w.Ledger.Load(t.Context(), world.Registration())
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

func allInitialized(t *testing.T, w *world.World) bool {
	ledger := load(t, w)
	for _, claim := range ledger.Claims {
		if claim.State != model.Initialized {
			return false
		}
	}
	return len(ledger.Intents) == 0
}

func claimsText(t *testing.T, w *world.World) string {
	var lines []string
	for _, claim := range load(t, w).Claims {
		lines = append(lines, fmt.Sprintf("%s %s %s %s node %q", claim.Name, claim.State, claim.InstanceID, claim.InstanceType, claim.NodeName))
	}
	return strings.Join(lines, "\n        ")
}

// sound checks what must hold whenever a world has come to rest: one instance for each claim and one claim for each
// instance, one object for each, nothing open, and the pools' counters true.
func sound(t *testing.T, w *world.World) {
	t.Helper()
	ledger := load(t, w)
	owner := map[string]string{}
	for _, claim := range ledger.Claims {
		if before, twice := owner[claim.InstanceID]; twice || claim.InstanceID == "" {
			t.Errorf("claim %s has instance %q, as %q", claim.Name, claim.InstanceID, before)
		}
		owner[claim.InstanceID] = claim.Name
	}
	for _, instance := range w.Fleet.Instances() {
		if !instance.Terminated && owner[instance.ID] == "" {
			t.Errorf("machine %s of intent %s belongs to no claim", instance.ID, instance.Tags["joiner.sh/intent"])
		}
		delete(owner, instance.ID)
	}
	if len(owner) > 0 {
		t.Errorf("claims of machines that never were: %v", owner)
	}
	if len(ledger.Intents) > 0 {
		t.Errorf("%d intents are open", len(ledger.Intents))
	}
	objects := map[string]world.NodeClaim{}
	for _, object := range w.Cluster.Claims() {
		objects[object.Claim.Name] = object
	}
	for _, claim := range ledger.Claims {
		object, ok := objects[claim.Name]
		if !ok || object.UID != claim.ObjectUID || object.Claim.ProviderID != claim.ProviderID || object.Claim.State != claim.State {
			t.Errorf("claim %s is %s with object %q; its NodeClaim shows %s, UID %q", claim.Name, claim.State, claim.ObjectUID, object.Claim.State, object.UID)
		}
		delete(objects, claim.Name)
	}
	if len(objects) > 0 {
		t.Errorf("NodeClaims without a claim: %v", objects)
	}
	for _, usage := range ledger.Usage {
		if counted, claimed := w.Ledger.Held(usage.Pool); !reflect.DeepEqual(counted, claimed) {
			t.Errorf("pool %s counts %v held, its claims hold %v", usage.Pool, counted, claimed)
		}
	}
}
