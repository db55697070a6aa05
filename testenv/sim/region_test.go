package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// scarce are types that are on sale in a neighborhood and of which there is nothing available, cheap ones among them. A call finds
// that out of one offering at a time.
var scarce = func() (names []string) {
	for _, t := range catalog.Types() {
		if strings.HasPrefix(t.Name, "r") && strings.HasSuffix(t.Name, "large") && len(names) < 20 {
			names = append(names, t.Name)
		}
	}
	return names
}()

const (
	begins     = 90 * time.Second
	growsAgain = 4 * time.Minute // after that
)

// neighborhood is a run of so many clusters on one control plane, in each of which applications grow now and then, all of them at
// the very same moment twice: once the catalog function has resolved their classes and EC2 knows the instance profiles, however it is read,
// and four minutes later.
func neighborhood(seed uint64, clusters int) sim.Config {
	grown := func(cluster int) []world.Workload {
		var out []world.Workload
		for i := range 3 {
			w := world.Workload{Kind: world.Deployment, Name: fmt.Sprintf("app-%d", i), Shape: world.Shape(900+int64(100*i), 2<<30)}
			w.Shape.Labels = map[string]string{"app": w.Name}
			own, begin := time.Duration(60+(cluster*7+i*53)%150)*time.Second, world.Start.Add(begins)
			w.Steps = []world.Step{
				{At: begin, Replicas: 3}, {At: begin.Add(own), Replicas: 7}, {At: begin.Add(growsAgain), Replicas: 12}, {At: begin.Add(growsAgain + own), Replicas: 18},
			}
			out = append(out, w)
		}
		return out
	}
	batch := world.Pool("batch", "default", world.Need(model.LabelCapacityType, model.OnDemand))
	batch.Weight = 10
	return sim.Config{Seed: seed, Scenario: sim.Scenario{
		Length: begins + 8*time.Minute, Types: slices.Concat([]string{"m5.large", "m6g.large", "c5.xlarge", "m5.2xlarge"}, scarce), Versions: 1,
		Pools: []model.Pool{world.Pool("web", "default"), batch}, Workloads: grown(0), Neighbors: clusters - 1, Neighbor: grown,
		Arrange: shortage,
	}}
}

// shortage has EC2 run out of the scarce types.
func shortage(w *world.World, _ func(time.Duration, func())) {
	for _, name := range scarce {
		w.Fleet.Short(world.Shortage{Code: "InsufficientInstanceCapacity", Offering: model.OfferingKey{InstanceType: name}, OneAtATime: true})
	}
}

// p95 plays a neighborhood and returns how long the neighbors' pods waited from hint to launch, at the 95th percentile, and what
// happened besides. Nothing crosses from one cluster to another meanwhile.
func p95(t *testing.T, c sim.Config) (time.Duration, *counts) {
	waits, crossing, seen := sim.NewWaits(), audit.NewCrossing(), &counts{}
	c.Checkers = func() []audit.Checker { return []audit.Checker{waits, crossing, seen} }
	r := sim.Run(c)
	if len(r.Violations) > 0 {
		t.Fatal(report(r))
	}
	for _, kind := range []string{"ledger", "lease", "snapshot", "decision", "message", "object", "launch", "machine", "Pod", "Node", "NodeClaim"} {
		if crossing.Seen()[kind] < 10*c.Scenario.Neighbors {
			t.Errorf("%d times a %s was looked at: that shows nothing (%v)", crossing.Seen()[kind], kind, crossing.Seen())
		}
	}
	waited, still := waits.Of(func(cluster string) bool { return cluster != world.Name })
	if still > 0 || len(waited) < 20*c.Scenario.Neighbors {
		t.Fatalf("%d pods of neighbours waited and were launched for, %d wait still", len(waited), still)
	}
	at := func(percent int) time.Duration { return waited[(len(waited)-1)*percent/100].Round(time.Millisecond) }
	t.Logf("%d pods of %d neighbours from hint to launch: p50 %s, p90 %s, p95 %s, p99 %s, all %s", len(waited), c.Scenario.Neighbors, at(50), at(90), at(95), at(99), at(100))
	t.Logf("%+v", *seen)
	t.Log(r.Stats.String())
	return at(95), seen
}

// counts counts what the first cluster did to others, as a checker without a rule.
type counts struct {
	Calls, NoCapacity int // of CreateFleet by the first cluster, and of these without an instance
	Messages          int // sent for it
	Invocations       int // in all
}

func (c *counts) Check(entries []world.Entry) []audit.Violation {
	for _, e := range entries {
		switch fact := e.Fact.(type) {
		case world.FleetCalled:
			if fact.Cluster == world.Name {
				if c.Calls++; len(fact.Instances) == 0 {
					c.NoCapacity++
				}
			}
		case world.MessageMoved:
			if fact.Verb == "send" && fact.Group == world.Name {
				c.Messages++
			}
		case world.ProcessMoved:
			if fact.Verb == "start" {
				c.Invocations++
			}
		}
	}
	return nil
}

func (*counts) Quiet(time.Time) []audit.Violation { return nil }

// D8: of fifty clusters on one control plane one is hostile and noisy. The p95 of the other 49 from hint to launch stays within 20 % of
// what it is while that one is as calm as they are, and state never crosses. The short form has twelve.
func TestD8FiftyClustersOneOfThemHostile(t *testing.T) {
	t.Parallel()
	beside(t, 1, 12, 720)
	if long() {
		beside(t, 2, 12, 1500)
		beside(t, 3, 12, 720)
		beside(t, 1, 50, 1500)
	}
}

// beside holds that of so many clusters those do as well that have a hostile one beside them, with bursts of so many pods, as they do
// where it is calm.
func beside(t *testing.T, seed uint64, clusters, pods int) {
	t.Helper()
	calm, _ := p95(t, neighborhood(seed, clusters))
	noisy, noise := p95(t, hostile(neighborhood(seed, clusters), pods))
	if noisy > calm*12/10 {
		t.Errorf("seed %d, %d clusters: p95 from hint to launch is %s beside a hostile one with bursts of %d pods, %s without", seed, clusters, noisy, pods, calm)
	}
	if calm > 20*time.Second {
		t.Errorf("seed %d, %d clusters: p95 from hint to launch is %s though nobody is hostile", seed, clusters, calm)
	}
	if noise.Messages < 3000 || noise.Calls < 50 || noise.NoCapacity < 10 {
		t.Errorf("seed %d: the hostile cluster makes too little noise to show anything: %+v", seed, *noise)
	}
}

// TestW3AFloodedPlanQueueDelaysNobodyElse floods the only queue that a watcher may send to with more messages than a receive looks at, right
// before all clusters grow at the same moment: hints that say what is so, hints in others' names, and groups made up. The p95 of the others
// from hint to launch stays within 20 % of what it is where nobody sends them. Of the short form's queues a receive looks at 2,000 messages;
// the long form has what SQS looks at, 120,000.
func TestW3AFloodedPlanQueueDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	flooded(t, 1, 12, 2000)
	if long() {
		flooded(t, 2, 12, 2000)
		flooded(t, 1, 12, 120_000)
	}
}

// flooded holds that of so many clusters those do as well whose neighbor floods its queue as they do where it is calm. A receive from a
// plan queue looks at so many messages.
func flooded(t *testing.T, seed uint64, clusters, searched int) {
	t.Helper()
	quiet := neighborhood(seed, clusters)
	quiet.Scenario.Searched = searched
	calm, _ := p95(t, quiet)
	loud, most := flood(quiet, searched*11/10)
	noisy, noise := p95(t, loud)
	if noisy > calm*12/10 {
		t.Errorf("seed %d, %d clusters: p95 from hint to launch is %s beside a flooded queue, %s without", seed, clusters, noisy, calm)
	}
	if *most <= searched || noise.Messages < searched {
		t.Errorf("seed %d: there were %d messages at most in the flooded queue, of which a receive looks at %d, and %d were sent in all", seed, *most, searched, noise.Messages)
	}
	t.Logf("seed %d, %d clusters, of whose queues %d messages are looked at: p95 %s beside one with up to %d, %s without", seed, clusters, searched, noisy, *most, calm)
}

// flood has the first cluster's watcher send so many messages to its plan queue, at the beginning and before the fourth minute, and as
// many as a watcher can send in a second every second between. It also returns how many there were at most.
func flood(c sim.Config, messages int) (sim.Config, *int) {
	most := new(int)
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		shortage(w, at)
		number := int64(1_000_000)
		send := func(n int) func() {
			return func() {
				for range n {
					number++
					hint := wire.Hint{
						Cluster: world.Name, Epoch: number % 7, Seq: number, Number: number, Reason: wire.ReasonBatch,
						SentAtMillis: w.Clock.Now().UnixMilli(), Pods: []model.PodRef{{Namespace: "default", Name: "nobody", UID: fmt.Sprint("nobody-", number)}},
					}
					group := world.Name
					switch number % 10 {
					case 7:
						group = wire.ForwardGroup(world.Name)
						hint.Reason = wire.ReasonEnd
					case 8:
						hint.Cluster = sim.Neighbor(1)
						group = hint.Cluster
					case 9:
						group = fmt.Sprint("made up ", number)
					}
					body, err := wire.EncodeHint(hint)
					if err != nil {
						panic(err) // plain data
					}
					_, _ = w.Plan.Queue.Send(context.Background(), world.Outgoing{Body: string(body), Group: group, Dedup: fmt.Sprint("flood ", number)})
				}
				*most = max(*most, w.Plan.Len())
			}
		}
		at(5*time.Second, send(messages))
		for second := 6 * time.Second; second < c.Scenario.Length; second += time.Second {
			at(second, send(20))
		}
		at(begins+growsAgain-3*time.Second, send(messages))
	}
	return c, most
}

// hostile makes the first cluster of a neighborhood as bad a neighbor as one can be without rights to anything but itself, with
// bursts of so many pods: one right before all the others grow, and one before and after it.
func hostile(c sim.Config, pods int) sim.Config {
	length := c.Scenario.Length
	c.Plan = []sim.Source{ // its API server is slow, and refuses a third of what it is asked
		{Kind: sim.KindSlow, Target: "cluster", Of: world.Name, Rate: 0.1, Until: length},
		{Kind: sim.KindError, Target: "cluster", Of: world.Name, Rate: 0.3, Until: length},
	}
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		shortage(w, at)
		w.Cluster.AddPool(world.Pool("dry", "default", world.Need(model.LabelInstanceType, scarce...)))
		w.Cluster.AddPool(world.Pool("lost", "nowhere", world.Need("no/such", "thing")))
		for i := range 20 {
			class := world.Class(fmt.Sprintf("nonsense-%d", i))
			class.Subnets = nil
			w.Cluster.AddClass(class)
			w.Cluster.AddPool(world.Pool(fmt.Sprintf("nonsense-%d", i), class.Name, world.Need(model.LabelArch, "abacus")))
		}
		burst := func(n int) func() {
			return func() {
				name := fmt.Sprintf("burst-%d", n)
				w.Cluster.AddPods(name, pods, world.Shape(700, 1<<30))
				dry := world.Shape(900, 1<<30)
				dry.NodeSelector = map[string]string{model.LabelNodePool: "dry"}
				w.Cluster.AddPods(name+"-dry", 100, dry)
			}
		}
		for n, second := range []time.Duration{30, 235, 330} {
			at(second*time.Second, burst(n))
		}
		number := int64(1_000_000)
		for after := 5 * time.Second; after < length; after += 250 * time.Millisecond {
			at(after, func() {
				number++
				ctx := context.Background()
				hint := wire.Hint{
					Cluster: world.Name, Epoch: number % 7, Seq: number, Number: number, Reason: wire.ReasonBatch,
					SentAtMillis: w.Clock.Now().UnixMilli(), Pods: []model.PodRef{{Namespace: "default", Name: "nobody", UID: fmt.Sprint("nobody-", number)}},
				}
				_ = w.Plan.Send(ctx, hint)
				hint.Cluster = sim.Neighbor(1)
				_ = w.Plan.Send(ctx, hint) // in its own queue it may name others and make up groups
				_, _ = w.Plan.Queue.Send(ctx, world.Outgoing{Body: "{", Group: world.Name, Dedup: fmt.Sprint("poison", number)})
				_, _ = w.Plan.Queue.Send(ctx, world.Outgoing{Body: "{", Group: fmt.Sprint("made up ", number), Dedup: fmt.Sprint("group", number)})
			})
		}
	}
	return c
}
