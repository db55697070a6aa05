package interruption_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

const gib = int64(1) << 30

// start returns a world with one class and one pool of instances that hold one pod of big each.
func start(t *testing.T, options world.Options) *world.World {
	t.Helper()
	if options.Types == nil {
		options.Types = []string{"m5.large"}
	}
	w := world.New(options)
	w.Cluster.AddClass(world.Class("default"))
	w.Cluster.AddPool(world.Pool("default", "default"))
	return w
}

// big fills an m5.large.
func big() model.PodShape { return world.Shape(1500, gib) }

// settled returns a world with n nodes that run a pod each.
func settled(t *testing.T, n int, options world.Options) *world.World {
	t.Helper()
	w := start(t, options)
	w.Cluster.AddPods("web", n, big())
	w.Tick(time.Second)
	settle(t, w)
	return w
}

// settle runs provisioning, and nothing else, until every pod is bound and every claim initialized.
func settle(t *testing.T, w *world.World) {
	t.Helper()
	var last error
	for range 60 {
		_, last = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
		w.Tick(5 * time.Second)
		if len(w.Cluster.Waiting()) == 0 && initialized(t, w) {
			return
		}
	}
	t.Fatalf("after five minutes pods still wait: %v\nclaims: %s\nlast run: %v", w.Cluster.Waiting(), claimsText(t, w), last)
}

func initialized(t *testing.T, w *world.World) bool {
	ledger := load(t, w)
	for _, claim := range ledger.Claims {
		if claim.State != model.Initialized {
			return false
		}
	}
	return len(ledger.Intents) == 0
}

func load(t *testing.T, w *world.World) model.Ledger {
	t.Helper()
	ledger, err := w.Ledger.Load(t.Context(), world.Registration())
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

func records(t *testing.T, w *world.World) model.ClusterRecords {
	t.Helper()
	records, err := w.Ledger.Records(t.Context(), world.Registration())
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func claimsText(t *testing.T, w *world.World) string {
	var lines []string
	for _, claim := range records(t, w).Claims {
		lines = append(lines, fmt.Sprintf("%s %s %s %s node %q %s", claim.Name, claim.State, claim.InstanceID, claim.InstanceType, claim.NodeName, claim.FailureCode))
	}
	return strings.Join(lines, "\n        ")
}

// collect runs the flow in a process of its own and fails the test on an error.
func collect(t *testing.T, w *world.World) interruption.Outcome {
	t.Helper()
	outcome, err := w.Process(world.Fault{}).Collect(t.Context())
	if err != nil {
		t.Fatalf("%v\n%+v", err, outcome)
	}
	return outcome
}

// totals adds up what the runs of a while did.
type totals struct {
	interruption.Outcome
	Evicted int // pods that were asked to leave
	Deleted int // and that were made to
	Refused int
	runs    int
	drains  int // runs of the other kind
	errs    []error
}

// pass lets time pass with the collector's tick of each minute and the looks it asks for, and says what was done.
func pass(t *testing.T, w *world.World, d time.Duration) totals {
	t.Helper()
	return passWith(t, w, d, func(context.Context, *world.Process, *interruption.Flow) {})
}

// change alters a flow before it runs.
type change func(ctx context.Context, p *world.Process, flow *interruption.Flow)

// passOnce runs the flow once, changed.
func passOnce(t *testing.T, w *world.World, alter change) totals {
	var sum totals
	sum.run(t, w, alter)
	return sum
}

func (sum *totals) run(t *testing.T, w *world.World, alter change) {
	t.Helper()
	p := w.Process(world.Fault{})
	flow := w.Ports(p, "collector").Interruption(w.Clock.Now, interruption.Settings{})
	alter(t.Context(), p, flow)
	o, err := flow.Run(t.Context(), interruption.Request{
		Cluster: world.Name, Owner: fmt.Sprintf("run %d of %p", sum.runs, sum), Deadline: flow.Now().Add(world.InvocationTimeout),
	})
	if err != nil {
		sum.errs = append(sum.errs, err)
	}
	sum.runs++
	sum.Adopted += o.Adopted
	sum.Terminated = append(sum.Terminated, o.Terminated...)
	sum.Drained += o.Drained
	sum.Hastened += o.Hastened
	sum.Retired += o.Retired
	sum.Closed += o.Closed
	sum.Removed += o.Removed
	sum.Limited += o.Limited
	for kind, n := range o.Impaired {
		if sum.Impaired == nil {
			sum.Impaired = map[string]int{}
		}
		sum.Impaired[kind] += n
	}
	sum.problems(o.Problems)
}

// passWith is pass with a change to every flow.
func passWith(t *testing.T, w *world.World, d time.Duration, alter change) totals {
	t.Helper()
	var sum totals
	for second := range int(d / time.Second) {
		if second%60 == 30 { // whatever is wrong began half a minute before the tick
			sum.run(t, w, alter)
		}
		sum.receive(t, w, alter)
		w.Tick(time.Second)
	}
	return sum
}

// receive does what the messages that have arrived ask for, as the function does: drains before looks.
func (sum *totals) receive(t *testing.T, w *world.World, alter change) {
	t.Helper()
	messages, err := w.Passes.Receive(t.Context(), 10)
	if err != nil || len(messages) == 0 {
		return
	}
	var drains interruption.Request
	drain, check := false, false
	for _, m := range messages {
		hint, err := wire.DecodeHint([]byte(m.Body))
		if err != nil {
			t.Fatal(err)
		}
		if hint.Reason == wire.ReasonDrain {
			drain = true
			drains.Take(hint)
		} else {
			check = true
		}
	}
	failed := false
	if drain {
		failed = sum.drain(t, w, drains, alter) != nil
	}
	if check {
		sum.run(t, w, alter)
	}
	for _, m := range messages {
		if failed {
			continue // it comes again
		}
		if err := w.Passes.Delete(t.Context(), m.Receipt); err != nil {
			t.Fatal(err)
		}
	}
}

// drain runs the drains once, changed.
func (sum *totals) drain(t *testing.T, w *world.World, request interruption.Request, alter change) error {
	t.Helper()
	p := w.Process(world.Fault{})
	flow := w.Ports(p, "drainer").Interruption(w.Clock.Now, interruption.Settings{Parallel: 1})
	alter(t.Context(), p, flow)
	request.Cluster, request.Owner, request.Deadline = world.Name, fmt.Sprintf("drain %d of %p", sum.drains, sum), flow.Now().Add(world.InvocationTimeout)
	o, err := flow.Drain(t.Context(), request)
	if err != nil {
		sum.errs = append(sum.errs, err)
	}
	sum.drains++
	sum.Evicted += o.Evicted
	sum.Deleted += o.Deleted
	sum.Refused += o.Refused
	sum.Terminated = append(sum.Terminated, o.Terminated...)
	sum.Closed += o.Closed
	sum.problems(o.Problems)
	return err
}

// drainOnce runs the drains in a process.
func drainOnce(t *testing.T, w *world.World, p *world.Process) (interruption.DrainOutcome, error) {
	t.Helper()
	drainers++
	owner := fmt.Sprintf("drainer %d", drainers)
	flow := w.Ports(p, owner).Interruption(w.Clock.Now, interruption.Settings{Parallel: 1})
	return flow.Drain(t.Context(), interruption.Request{Cluster: world.Name, Owner: owner, Deadline: w.Clock.Now().Add(world.InvocationTimeout)})
}

var drainers int // so far, in this package's tests, of which none run side by side

// problems keeps the first few of a while.
func (sum *totals) problems(list []string) {
	const most = 10
	sum.Problems = append(sum.Problems, list[:min(len(list), max(0, most-len(sum.Problems)))]...)
}

// instances returns the instances that have not ended, in order of launch.
func instances(w *world.World) []world.Instance {
	var out []world.Instance
	for _, m := range w.Fleet.Instances() {
		if m.State == "pending" || m.State == "running" {
			out = append(out, m)
		}
	}
	return out
}

// nothing fails where a while removed or ended anything.
func nothing(t *testing.T, w *world.World, sum totals) {
	t.Helper()
	if len(sum.Terminated)+sum.Drained+sum.Evicted+sum.Deleted+sum.Retired+sum.Closed+sum.Removed+sum.Adopted > 0 {
		t.Errorf("done in %d runs: %+v\n%s", sum.runs, sum.Outcome, claimsText(t, w))
	}
}

// sound checks what must hold when a world has come to rest: instances and live claims are the same set, so are claims and
// NodeClaim objects, and the pools' counters are true.
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
	for _, m := range instances(w) {
		if m.Cluster == world.Name && owner[m.ID] == "" {
			t.Errorf("machine %s belongs to no claim", m.ID)
		}
		delete(owner, m.ID)
	}
	for id, name := range owner {
		t.Errorf("claim %s has instance %s, which has ended or never was", name, id)
	}
	objects := map[string]string{}
	for _, object := range w.Cluster.Claims() {
		objects[object.Claim.Name] = object.UID
	}
	for _, claim := range ledger.Claims {
		if uid := objects[claim.Name]; uid != claim.ObjectUID {
			t.Errorf("claim %s has object %q, there is %q", claim.Name, claim.ObjectUID, uid)
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
