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

// diary keeps what happened, as one more checker that never complains.
type diary struct {
	world   *world.World
	entries []world.Entry
}

func (d *diary) Check(entries []world.Entry) []audit.Violation {
	d.entries = append(d.entries, entries...)
	return nil
}

func (d *diary) Quiet(time.Time) []audit.Violation { return nil }

// play makes a run and fails the test where a rule is broken.
func play(t *testing.T, c sim.Config) *diary {
	t.Helper()
	d := &diary{}
	arrange := c.Scenario.Arrange
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		d.world = w
		if arrange != nil {
			arrange(w, at)
		}
	}
	c.Checkers = func() []audit.Checker { return append(audit.For(c.Scenario.DisruptRuns), d) }
	result := sim.Run(c)
	for _, v := range result.Violations {
		t.Errorf("%v: %s", c.Exact, v)
	}
	if t.Failed() {
		for _, line := range result.Trace {
			t.Log(line)
		}
		t.FailNow()
	}
	return d
}

// running counts the instances that have not ended.
func (d *diary) running() int {
	n := 0
	for _, e := range d.entries {
		switch e.Fact.(type) {
		case world.InstanceStarted:
			n++
		case world.InstanceEnded:
			n--
		}
	}
	return n
}

// calls returns the times of calls of CreateFleet; dry ones only, where asked for.
func (d *diary) calls(dry bool) []time.Time {
	var out []time.Time
	for _, e := range d.entries {
		if call, ok := e.Fact.(world.FleetCalled); ok && (!dry || len(call.Instances) == 0 && len(call.Errors) > 0) {
			out = append(out, e.At)
		}
	}
	return out
}

// ended counts instances that were told to end, or that ended, between two times of the run.
func (d *diary) ended(from, until time.Duration) int {
	n := 0
	for _, e := range d.entries {
		if after := e.At.Sub(world.Start); after >= from && after < until {
			switch fact := e.Fact.(type) {
			case world.TerminateCalled:
				n += len(fact.IDs)
			case world.InstanceEnded:
				n++
			}
		}
	}
	return n
}

// mostInAMinute returns how many of the times lie within some minute.
func mostInAMinute(times []time.Time) int {
	most, first := 0, 0
	for i, at := range times {
		for at.Sub(times[first]) >= time.Minute {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// small is a world of m5.large instances on demand, and pods of which one fills an instance.
func small(pods int, length time.Duration) sim.Config {
	pool := world.Pool("web", "default", world.Need(model.LabelCapacityType, model.OnDemand))
	return sim.Config{Seed: 1, Scenario: sim.Scenario{
		Length: length, Types: []string{"m5.large"}, Pools: []model.Pool{pool}, Versions: 1,
		Workloads: []world.Workload{{Kind: world.Deployment, Name: "web", Shape: world.Shape(1500, 1<<30), Replicas: pods}},
	}}
}

// alone fails the test unless exactly so many instances run and nobody waits.
func (d *diary) alone(t *testing.T, instances int) {
	t.Helper()
	if waiting := d.world.Cluster.Waiting(); d.running() != instances || len(waiting) != 0 {
		t.Errorf("%d machines run, want %d; waiting: %v", d.running(), instances, waiting)
	}
}

func TestScenario01KillAtEveryEffectOfASinglePod(t *testing.T) {
	modes := []world.Mode{world.DiesBefore, world.DiesAfter}
	if testing.Short() {
		modes = modes[:1]
	}
	for _, mode := range modes {
		for invocation := 1; invocation <= 4; invocation++ {
			for effect := 1; effect <= 12; effect++ {
				c := small(1, 8*time.Minute)
				c.Exact = []sim.Exact{{Program: "provision", Invocation: invocation, Effect: effect, Mode: mode}}
				play(t, c).alone(t, 1)
			}
		}
	}
}

func TestScenario02CreateFleetTimesOutAfterSuccessAndIsRetriedTenMinutesLater(t *testing.T) {
	c := small(3, 25*time.Minute)
	c.Plan = []sim.Source{
		{Kind: sim.KindLost, Target: "fleet", Rate: 1, Until: 2 * time.Minute},
		{Kind: sim.KindOutage, Target: "fleet", Rate: 1, From: 2 * time.Minute, Until: 12 * time.Minute},
	}
	play(t, c).alone(t, 3)
}

func TestScenario03PartialBatchAndACrashBeforeItIsWritten(t *testing.T) {
	for seed := range uint64(5) {
		c := small(50, 30*time.Minute)
		c.Seed = seed
		c.Plan = []sim.Source{{Kind: sim.KindCrash, Target: "ledger", Rate: 0.2, Until: 4 * time.Minute}}
		c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
			for zone, n := range map[string]int{"us-west-2a": 20, "us-west-2b": 10, "us-west-2c": 7} {
				w.Fleet.SetCapacity(model.OfferingKey{InstanceType: "m5.large", Zone: zone, CapacityType: model.OnDemand}, n)
			}
			at(10*time.Minute, func() {
				w.Fleet.SetCapacity(model.OfferingKey{InstanceType: "m5.large", Zone: "us-west-2a", CapacityType: model.OnDemand}, 1000)
			})
		}
		play(t, c).alone(t, 50)
	}
}

func TestScenario04ThreePlannersAndALimitWithRoomForOne(t *testing.T) {
	c := small(3, 15*time.Minute)
	c.Scenario.Pools[0].Limits = model.Resources{model.Nodes: 1}
	c.Plan = []sim.Source{
		{Kind: sim.KindDouble, Rate: 1, Until: 15 * time.Minute},
		{Kind: sim.KindSlow, Target: "ledger", Rate: 0.5, Until: 15 * time.Minute},
	}
	if d := play(t, c); d.running() != 1 {
		t.Errorf("%d machines run", d.running())
	}
}

func TestScenario05NewInstancesAreHiddenForFourMinutesWhileTheCollectorRuns(t *testing.T) {
	for seed := range uint64(5) {
		c := small(8, 20*time.Minute)
		c.Seed = seed
		c.Plan = []sim.Source{
			{Kind: sim.KindVisibility, Rate: 0.5, Until: 20 * time.Minute},
			{Kind: sim.KindCrash, Target: "fleet", Rate: 0.3, Until: 5 * time.Minute},
		}
		play(t, c).alone(t, 8)
	}
}

func TestScenario06ListLosesHalfItsPagesOnce(t *testing.T) {
	c := small(20, 30*time.Minute)
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		at(15*time.Minute, func() { w.Fleet.HalveNext(1) })
		at(20*time.Minute, func() { w.Fleet.HalveNext(2) })
	}
	d := play(t, c)
	if d.alone(t, 20); d.ended(14*time.Minute, 40*time.Minute) != 0 {
		t.Errorf("%d machines were ended", d.ended(14*time.Minute, 40*time.Minute))
	}
}

func TestScenario07RollingStockOutAndRecovery(t *testing.T) {
	c := small(300, 70*time.Minute)
	c.Scenario.Types = nil // every type
	c.Scenario.Pools[0].Template.Requirements = []model.Requirement{world.Need("karpenter.k8s.aws/instance-category", "m", "c", "r")}
	c.Scenario.Workloads[0].Shape = world.Shape(900, 2<<30)
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		w.Fleet.Short(world.Shortage{Code: "InsufficientInstanceCapacity", OneAtATime: true, Until: world.Start.Add(40 * time.Minute)})
	}
	d := play(t, c)
	if waiting := d.world.Cluster.Waiting(); len(waiting) != 0 {
		t.Errorf("%d pods wait", len(waiting))
	}
	if n := mostInAMinute(d.calls(true)); n == 0 || n >= 20 {
		t.Errorf("%d launches in a minute gave nothing", n)
	}
}

func TestScenario14ServerShowsATenMinutesOldListAfterAFailover(t *testing.T) {
	c := small(10, 40*time.Minute)
	c.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(12 * time.Minute), Replicas: 14}, {At: world.Start.Add(16 * time.Minute), Replicas: 18}}
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		at(15*time.Minute, func() { w.Stale(10 * time.Minute) })
		at(25*time.Minute, func() { w.Stale(0) })
	}
	d := play(t, c)
	if n := d.ended(0, time.Hour); n != 0 || d.running() < 18 {
		t.Errorf("%d machines were ended, %d run", n, d.running())
	}
}

func TestScenario15LedgerIsDownForThreeHours(t *testing.T) {
	c := small(10, 3*time.Hour+40*time.Minute)
	c.Plan = []sim.Source{{Kind: sim.KindOutage, Target: "ledger", Rate: 1, From: 20 * time.Minute, Until: 3*time.Hour + 20*time.Minute}}
	c.Scenario.Workloads[0].Steps = []world.Step{{At: world.Start.Add(time.Hour), Replicas: 60}}
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		at(3*time.Hour, func() {
			for n := range 20_000 { // as watchers that saw nothing happen would
				_ = w.Plan.Send(context.Background(), wire.Hint{
					Cluster: world.Name, Epoch: 1, Seq: 1, Number: int64(100_000 + n), Reason: wire.ReasonBatch,
					SentAtMillis: world.Start.Add(20*time.Minute + time.Duration(n)*400*time.Millisecond).UnixMilli(),
					Pods:         []model.PodRef{{Namespace: "default", Name: fmt.Sprint("x", n), UID: fmt.Sprint("x", n)}},
				})
			}
		})
	}
	d := play(t, c)
	if n := d.ended(0, 5*time.Hour); n != 0 {
		t.Errorf("%d machines were ended", n)
	}
	d.alone(t, 60)
	if left := d.world.Plan.Len(); left > 10 {
		t.Errorf("%d hints are left", left)
	}
}

func TestScenario16AnotherClusterOfTheSameName(t *testing.T) {
	c := small(5, 20*time.Minute)
	foreign := map[string]bool{}
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		for _, tags := range []map[string]string{
			{"kubernetes.io/cluster/" + world.Name: "owned", "eks:eks-cluster-name": world.Name, "Name": "of the other one, made by hand"},
			{"kubernetes.io/cluster/" + world.Name: "shared", model.LabelNodePool: "web", "joiner.sh/intent": "01OTHER"},
			{"kubernetes.io/cluster/other": "owned", "eks:eks-cluster-name": "other", model.LabelNodePool: "web", "joiner.sh/intent": "01OTHER"},
			nil,
		} {
			foreign[w.Fleet.AddInstance(model.Instance{Type: "m5.large", Zone: "us-west-2a", CapacityType: model.OnDemand, Tags: tags})] = true
		}
	}
	d := play(t, c)
	for _, e := range d.entries {
		if ended, ok := e.Fact.(world.InstanceEnded); ok && foreign[ended.ID] {
			t.Errorf("%s was ended", ended.ID)
		}
	}
	d.alone(t, 5+len(foreign))
}

// TestTotalStockOutForAnHour: few calls while there is nothing, the fallback pool serves what it can within a minute, and
// the end of it is found out by probing.
func TestTotalStockOutForAnHour(t *testing.T) {
	c := small(30, 100*time.Minute)
	c.Scenario.Types = nil
	expensive := world.Pool("dear", "default", world.Need("karpenter.k8s.aws/instance-category", "m", "c"))
	expensive.Weight = 100
	cheap := world.Pool("fallback", "default", world.Need("karpenter.k8s.aws/instance-category", "t"))
	cheap.Weight = 10
	c.Scenario.Pools = []model.Pool{expensive, cheap}
	special := world.Shape(1000, 2<<30)
	special.NodeSelector = map[string]string{model.LabelNodePool: "dear"}
	c.Scenario.Workloads = append(c.Scenario.Workloads, world.Workload{Kind: world.Deployment, Name: "special", Shape: special, Replicas: 5})
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		for _, instance := range catalog.Types() {
			if instance.Name[0] != 't' {
				w.Fleet.Short(world.Shortage{
					Offering: model.OfferingKey{InstanceType: instance.Name}, Code: "InsufficientInstanceCapacity", Until: world.Start.Add(time.Hour),
				})
			}
		}
	}
	d := play(t, c)
	if n := mostInAMinute(d.calls(true)); n == 0 || n >= 20 {
		t.Errorf("%d launches in a minute gave nothing", n)
	}
	served, all := 0, 0
	for _, e := range d.entries {
		pod, ok := e.Fact.(world.ObjectWritten)
		if ok && pod.Kind == world.KindPod && pod.Verb == "bind" {
			if all++; e.At.Sub(world.Start) < 4*time.Minute {
				served++
			}
		}
	}
	if served < 30 {
		t.Errorf("%d pods ran on the fallback pool within four minutes, boot included", served)
	}
	if waiting := d.world.Cluster.Waiting(); len(waiting) != 0 {
		t.Errorf("after the stock-out wait %v", waiting)
	}
}

// TestMessagesAreHandledOnceMore: the rule that this changes nothing (C5) is really looked at.
func TestMessagesAreHandledOnceMore(t *testing.T) {
	c := small(3, 10*time.Minute)
	result := sim.Run(c)
	for _, v := range result.Violations {
		t.Error(v)
	}
	if result.Stats.Again != 1 {
		t.Error("the world was not at rest")
	}
}

func TestScenarioThrottlingSaysNothingAboutCapacity(t *testing.T) {
	c := small(2, 20*time.Minute)
	for i := range 8 {
		c.Scenario.Workloads[0].Steps = append(c.Scenario.Workloads[0].Steps, world.Step{At: world.Start.Add(time.Duration(i+1) * time.Minute), Replicas: 4 + 2*i})
	}
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		w.Fleet.Throttle("CreateFleet", 0.01, 1)
		at(12*time.Minute, func() { w.Fleet.Throttle("CreateFleet", 0, 0) })
	}
	d := play(t, c)
	d.alone(t, 18)
	for _, e := range d.entries {
		if written, ok := e.Fact.(world.LedgerWritten); ok && len(written.Unavailable) > 0 {
			t.Fatalf("marked %+v", written.Unavailable)
		}
	}
}

func TestScenarioUnavailableOfferingIsLeftAlone(t *testing.T) {
	c := small(3, 40*time.Minute)
	c.Scenario.Pools[0].Template.Requirements = append(c.Scenario.Pools[0].Template.Requirements, world.Need(model.LabelZone, "us-west-2a"))
	c.Scenario.Arrange = func(w *world.World, _ func(time.Duration, func())) {
		w.Fleet.Short(world.Shortage{Code: "InsufficientInstanceCapacity", Until: world.Start.Add(36 * time.Minute)})
	}
	d := play(t, c)
	d.alone(t, 3)
	if n := len(d.calls(true)); n < 3 || n > 20 {
		t.Errorf("%d calls in 36 minutes gave nothing", n)
	}
}

func TestScenarioInstancesNobodyAskedForEnd(t *testing.T) {
	c := small(6, 20*time.Minute)
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		w.Fleet.GiveMore(1)
		at(5*time.Minute, func() { w.Fleet.GiveMore(0) })
	}
	d := play(t, c)
	if d.alone(t, 6); d.ended(0, 20*time.Minute) == 0 {
		t.Error("nothing was ended")
	}
}

func TestScenarioInstancesThatNeverJoinEnd(t *testing.T) {
	c := small(40, 35*time.Minute)
	c.Plan = []sim.Source{{Kind: sim.KindJoin, Rate: 1, Until: 35 * time.Minute}}
	d := play(t, c)
	if n := d.ended(15*time.Minute, 34*time.Minute); n == 0 {
		t.Error("no machine was ended")
	}
}

// TestScenarioInstancesStayWhenDefinitionsVanish: what the API server deletes because its definition was deleted ends nothing; all of
// it is back once the definitions, the class and the pool are, and no instance is another.
func TestScenarioInstancesStayWhenDefinitionsVanish(t *testing.T) {
	c := small(20, 60*time.Minute)
	pools := c.Scenario.Pools
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		at(10*time.Minute, w.Cluster.DeleteDefinitions)
		at(25*time.Minute, func() {
			if !w.Cluster.DefineAnew() {
				live, err := w.Cluster.ReadLive(t.Context())
				definitions, _ := w.Cluster.Definitions(t.Context())
				t.Errorf("a finalizer still holds an object of a definition that was deleted a quarter of an hour ago: %s: %+v %v", definitions.Missing(), live.Objects, err)
			}
			w.Cluster.AddClass(world.Class("default"))
			for _, pool := range pools {
				w.Cluster.AddPool(pool)
			}
		})
	}
	d := play(t, c)
	if n := d.ended(0, 60*time.Minute); n != 0 {
		t.Errorf("%d machines were told to end, or ended", n)
	}
	live, err := d.world.Cluster.ReadLive(t.Context())
	if err != nil || len(live.Objects) != d.running() {
		t.Errorf("%d NodeClaims of %d machines: %v", len(live.Objects), d.running(), err)
	}
	d.alone(t, 20)
}

// standing puts n spot instances of a type into the world with their claims and nodes, as if they had been there for long, and
// one pod of a deployment on each: instances without a registration, because there are many.
func standing(t *testing.T, w *world.World, n, deployments int) []string {
	t.Helper()
	ctx := t.Context()
	fence, err := w.Ledger.AcquireLease(ctx, world.Name, "standing", "standing", 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := w.Cluster.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pool := snapshot.Pools[0]
	room := model.Resources{model.CPU: 1930, model.Memory: 7 << 30, model.Pods: 29, "ephemeral-storage": 17 << 30}
	ids := make([]string, n)
	zones := []string{"us-west-2a", "us-west-2b", "us-west-2c"}
	shapes := make([]model.PodShape, deployments)
	for i := range shapes {
		shapes[i] = world.Shape(1500, 1<<30)
		shapes[i].Labels = map[string]string{"app": fmt.Sprintf("app-%d", i)}
		shapes[i].OwnerKind, shapes[i].OwnerName, shapes[i].GraceSeconds = world.Deployment, fmt.Sprintf("app-%d", i), 20
	}
	for i := range n {
		instance := model.Instance{Type: "m5.large", Zone: zones[i%3], CapacityType: model.Spot, Tags: map[string]string{
			"kubernetes.io/cluster/" + world.Name: "owned", model.LabelNodePool: pool.Name, "joiner.sh/intent": "01STANDING", model.LabelNodeClass: "default",
			"karpenter.sh/nodeclaim": fmt.Sprintf("standing-%04d", i),
		}}
		id := w.Fleet.AddInstance(instance)
		ids[i] = id
		inst, _ := w.Fleet.Instance(id)
		now := w.Clock.Now().Unix()
		claim := model.Claim{
			Name: fmt.Sprintf("standing-%04d", i), Pool: pool.Name, PoolUID: pool.UID, Class: "default", State: model.Initialized, Intent: "01STANDING",
			InstanceTypes: []string{"m5.large"}, Reserved: model.Resources{model.Nodes: 1}, InstanceID: id, ProviderID: inst.ProviderID(), InstanceType: "m5.large",
			Zone: inst.Zone, CapacityType: model.Spot, Annotations: map[string]string{model.AnnotationTagged: "true"}, NodeName: "ip-" + id[2:] + ".world.internal", NodeUID: "uid-" + id, Capacity: room, Allocatable: room,
			CreatedUnix: now, LaunchedUnix: now, RegisteredUnix: now, InitializedUnix: now,
		}
		if claim.ObjectUID, err = w.Cluster.PutClaim(ctx, claim); err != nil {
			t.Fatal(err)
		}
		if err := w.Ledger.Adopt(ctx, fence, claim); err != nil {
			t.Fatal(err)
		}
		w.Cluster.PutNode(model.Node{
			Name: claim.NodeName, UID: claim.NodeUID, ProviderID: claim.ProviderID, Ready: true, ReadyUnix: now, Capacity: room, Allocatable: room, Finalizer: true,
			Labels: map[string]string{
				model.LabelHostname: claim.NodeName, model.LabelInstanceType: "m5.large", model.LabelZone: inst.Zone, model.LabelRegion: catalog.Region,
				model.LabelArch: "amd64", model.LabelOS: "linux", model.LabelNodePool: pool.Name, model.LabelNodeClass: "default",
				model.LabelCapacityType: model.Spot, model.LabelRegistered: "true", model.LabelInitialized: "true",
			},
		})
		w.Cluster.CreatePodOn(fmt.Sprintf("app-%d-s%04d", i%deployments, i), claim.NodeName, shapes[i%deployments])
	}
	for i, shape := range shapes {
		w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: fmt.Sprintf("app-%d", i), Shape: shape, Replicas: (n + deployments - 1 - i) / deployments})
		w.Cluster.AddBudget(model.PDB{Namespace: "default", Name: fmt.Sprintf("app-%d", i), Selector: &model.Selector{MatchLabels: shape.Labels}, MaxUnavailable: "20%"})
	}
	return ids
}

// latencies are what the warnings of spot instances came to: from when each was in the queue until its node was tainted, and
// until its first pod was asked to leave; for those whose event was lost, from the warning itself.
type latencies struct{ taint, leave, lost []time.Duration }

func (d *diary) latencies() latencies {
	var out latencies
	warned, lost, done, asked := map[string]time.Time{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	instance := func(node string) string {
		return "i-" + strings.TrimSuffix(strings.TrimPrefix(node, "ip-"), ".world.internal")
	}
	for _, e := range d.entries {
		switch fact := e.Fact.(type) {
		case world.InstanceWarned:
			warned[fact.ID] = e.At
		case world.EventMoved:
			for _, id := range fact.IDs {
				if fact.Kind == string(model.NoticeSpotInterrupted) {
					lost[id] = fact.Verb == "lost"
					warned[id] = warned[id].Add(fact.Late)
				}
			}
		case world.ObjectWritten:
			if fact.Kind != world.KindNode || fact.Node == nil {
				continue
			}
			id := instance(fact.Name)
			at, was := warned[id]
			if !was || done[id] || !slices.ContainsFunc(fact.Node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted }) {
				continue
			}
			done[id] = true
			if lost[id] {
				out.lost = append(out.lost, e.At.Sub(at))
			} else {
				out.taint = append(out.taint, e.At.Sub(at))
			}
		case world.EvictionRequested:
			id := instance(fact.Node)
			if at, was := warned[id]; was && !asked[id] && !lost[id] {
				asked[id] = true
				out.leave = append(out.leave, e.At.Sub(at))
			}
		}
	}
	for _, list := range [][]time.Duration{out.taint, out.leave, out.lost} {
		slices.Sort(list)
	}
	return out
}

// share returns the value that so many of a hundred are not above.
func share(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

// TestScenario08: C1, C2, B1.
func TestScenario08AThousandSpotWarningsInTwoMinutes(t *testing.T) {
	n := 250
	if long() {
		n = 1000
	}
	c := small(0, 8*time.Minute)
	c.Scenario.Pools[0].Template.Requirements = nil
	c.Scenario.Workloads = nil
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		ids := standing(t, w, n, 20)
		for i, id := range ids {
			at(time.Minute+time.Duration(i)*2*time.Minute/time.Duration(n), func() {
				if i%20 == 7 {
					w.Events.LoseNext(1)
				}
				w.Fleet.Interrupt(id, 2*time.Minute)
			})
		}
	}
	d := play(t, c)
	l := d.latencies()
	t.Logf("taint: %d, half %s, 99 %% %s, worst %s; first pod asked: %d, half %s, 99 %% %s, worst %s; lost: %d, worst %s", len(l.taint), share(l.taint, 50), share(l.taint, 99),
		share(l.taint, 100), len(l.leave), share(l.leave, 50), share(l.leave, 99), share(l.leave, 100), len(l.lost), share(l.lost, 100))
	if len(l.taint) < n*94/100 || share(l.taint, 99) > 5*time.Second || share(l.taint, 100) > 20*time.Second {
		t.Errorf("C1: %d of %d nodes were tainted after a warning that was sent, 99 %% within %s, all within %s", len(l.taint), n, share(l.taint, 99), share(l.taint, 100))
	}
	if share(l.leave, 99) > 8*time.Second {
		t.Errorf("C1: the first pod was asked to leave after %s", share(l.leave, 99))
	}
	if len(l.lost) < n*4/100 || share(l.lost, 100) > 45*time.Second {
		t.Errorf("C2: %d warnings that got lost were found, the last after %s", len(l.lost), share(l.lost, 100))
	}
}

// leaves counts the pods that were asked to leave.
func (d *diary) leaves() int {
	n := 0
	for _, e := range d.entries {
		if _, ok := e.Fact.(world.EvictionRequested); ok {
			n++
		}
	}
	return n
}

// claimsOf returns the NodeClaim objects of a world, at least so many.
func claimsOf(t *testing.T, w *world.World, least int) []world.NodeClaim {
	t.Helper()
	claims := w.Cluster.Claims()
	if len(claims) < least {
		t.Fatalf("%d NodeClaims, want %d", len(claims), least)
	}
	return claims
}

// TestScenario09: a pod that must not be disrupted and comes while its node is condemned is waited for.
func TestScenario09ProtectedPodLandsBetweenDecisionAndTaint(t *testing.T) {
	for offset := range 12 {
		c := small(2, 12*time.Minute)
		c.Scenario.Workloads[0].Shape = world.Shape(300, 1<<28)
		c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
			shape := world.Shape(100, 1<<28)
			shape.DoNotDisrupt, shape.OwnerKind = "true", ""
			at(5*time.Minute, func() { w.Cluster.Delete(world.KindNodeClaim, claimsOf(t, w, 1)[0].Claim.Name) })
			at(5*time.Minute+time.Duration(offset)*250*time.Millisecond, func() {
				w.Cluster.CreatePodOn("guarded", w.Cluster.Nodes()[0].Name, shape)
			})
			at(11*time.Minute, func() {
				if nodes := w.Cluster.Nodes(); !slices.ContainsFunc(w.Cluster.Pods(), func(p model.Pod) bool { return p.Name == "guarded" && p.DeletedUnix == 0 }) || len(nodes) == 0 {
					t.Errorf("offset %d: the pod was disrupted", offset)
				}
				w.Cluster.DeletePod("default", "guarded")
			})
		}
		if d := play(t, c); d.leaves() == 0 {
			t.Error("nothing was drained")
		}
	}
}

// TestScenario10: a pod that was made anew under the same name while its node is emptied is another.
func TestScenario10StatefulSetPodIsMadeAnewDuringADrain(t *testing.T) {
	for seed := range uint64(30) {
		c := small(0, 12*time.Minute)
		c.Seed = seed
		shape := world.Shape(300, 1<<28)
		shape.GraceSeconds = 2
		c.Scenario.Workloads = []world.Workload{{Kind: world.StatefulSet, Name: "db", Shape: shape, Replicas: 6}}
		c.Plan = []sim.Source{{Kind: sim.KindSlow, Target: "cluster", Rate: 0.3, From: 5 * time.Minute, Until: 6 * time.Minute}}
		c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
			at(4*time.Minute, func() { w.Workloads.Scale("db", 8) }) // on a second node
			at(5*time.Minute, func() { w.Cluster.Delete(world.KindNodeClaim, claimsOf(t, w, 2)[0].Claim.Name) })
			for i := range 20 {
				at(5*time.Minute+time.Duration(i)*731*time.Millisecond, func() { w.Cluster.DeletePod("default", fmt.Sprintf("db-%d", i%8)) })
			}
		}
		play(t, c)
	}
}

// TestScenario15: while anything is down for hours, nothing ends and nobody is evicted; what people asked for meanwhile is done
// afterwards.
func TestScenario15OthersAreDownForThreeHours(t *testing.T) {
	for _, port := range []string{"queue", "fleet", "cluster", "store", "ledger"} {
		t.Run(port, func(t *testing.T) {
			c := small(0, 3*time.Hour+50*time.Minute)
			c.Scenario.Pools[0].Template.Requirements = nil // spot, as is cheapest
			c.Scenario.Workloads = []world.Workload{
				{Kind: world.Deployment, Name: "web", Shape: world.Shape(1500, 1<<30), Replicas: 8},
				{Kind: world.StatefulSet, Name: "db", Shape: world.Shape(700, 1<<30), Replicas: 4, Stores: true},
			}
			from, until := 20*time.Minute, 3*time.Hour+20*time.Minute
			c.Plan = []sim.Source{{Kind: sim.KindOutage, Target: port, Rate: 1, From: from, Until: until}}
			asked := ""
			c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
				at(2*time.Hour, func() {
					asked = claimsOf(t, w, 8)[0].Claim.Name
					if port != "queue" && port != "store" { // where it can still be seen it may be done at once
						w.Cluster.Delete(world.KindNodeClaim, asked)
					}
				})
			}
			d := play(t, c)
			if n := d.ended(0, until); n != 0 {
				t.Errorf("%d machines ended while the %s was down", n, port)
			}
			for _, e := range d.entries {
				if leave, ok := e.Fact.(world.EvictionRequested); ok && e.At.Sub(world.Start) < until {
					t.Errorf("%s was asked to leave while the %s was down", leave.Pod.Key(), port)
					break
				}
			}
			left := slices.ContainsFunc(d.world.Cluster.Claims(), func(o world.NodeClaim) bool { return o.Claim.Name == asked })
			if want := port == "queue" || port == "store"; left != want {
				t.Errorf("the NodeClaim somebody deleted is there: %v", left)
			}
		})
	}
}

// TestScenario16Events: what AWS says of others' instances, of unknown ones, and of ours in another region or account, is nothing
// to us.
func TestScenario16EventsOfOthersAndForgedOnesDrainNobody(t *testing.T) {
	c := small(5, 20*time.Minute)
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		other := w.Fleet.AddInstance(model.Instance{Type: "m5.large", Zone: "us-west-2a", CapacityType: model.Spot, Tags: map[string]string{
			"kubernetes.io/cluster/" + world.Name: "owned", "eks:eks-cluster-name": world.Name, // of the same name, made by somebody else
		}})
		at(8*time.Minute, func() {
			w.Fleet.Interrupt(other, 2*time.Minute)
			w.Events.Health("AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", other, "i-00000000000000000")
			for _, alive := range w.Kubelets.Alive() {
				if instance, _ := w.Fleet.Instance(alive); instance.Tags[model.LabelNodePool] != "" {
					w.Events.Foreign(world.Registration().Account, "us-east-1", alive)
					w.Events.Foreign("210987654321", world.Registration().Region, alive)
				}
			}
		})
	}
	d := play(t, c)
	if n := d.leaves(); n != 0 {
		t.Errorf("%d pods were asked to leave", n)
	}
	d.alone(t, 5)
}

// TestScenario19: a third of the nodes is silent for a quarter of an hour, or for longer than is tolerated.
func TestScenario19ZoneIsSilentAndComesBack(t *testing.T) {
	for _, silence := range []time.Duration{15 * time.Minute, 45 * time.Minute} {
		c := small(24, 80*time.Minute)
		c.Scenario.Workloads[0].Shape.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: &model.Selector{MatchLabels: map[string]string{"app": "web"}}}}
		c.Scenario.Workloads[0].Shape.Labels = map[string]string{"app": "web"}
		silenced := 0
		c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
			var quiet []string
			at(15*time.Minute, func() {
				for _, id := range w.Kubelets.Alive() {
					if instance, _ := w.Fleet.Instance(id); instance.Zone == "us-west-2a" {
						quiet = append(quiet, id)
						w.Kubelets.Silence(id)
					}
				}
				silenced = len(quiet)
			})
			at(15*time.Minute+silence, func() {
				for _, id := range quiet {
					w.Kubelets.Resume(id)
				}
			})
		}
		d := play(t, c)
		if n := d.ended(0, 2*time.Hour); n != 0 || silenced < 6 {
			t.Errorf("%d nodes were silent for %s, and %d machines ended", silenced, silence, n)
		}
	}
}

// TestScenarioChecksOfManyFail: B8: what repairs has a removal limit.
func TestScenarioChecksOfManyInstancesFailAtOnce(t *testing.T) {
	c := small(30, 40*time.Minute)
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		at(10*time.Minute, func() {
			for _, id := range w.Kubelets.Alive()[:14] {
				w.Fleet.Impair(id, model.ImpairedSystem, "")
			}
		})
	}
	d := play(t, c)
	if n := d.ended(12*time.Minute, 17*time.Minute); n == 0 || n > 2*5 { // told to end, and ended
		t.Errorf("%d ends in five minutes", n)
	}
	d.alone(t, 30)
}

// TestScenarioSilentKubelets: a few nodes that are silent for longer than is tolerated are given up.
func TestScenarioNodesThatStaySilentAreRepaired(t *testing.T) {
	c := small(20, 60*time.Minute)
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		at(10*time.Minute, func() {
			for _, id := range w.Kubelets.Alive()[:3] {
				w.Kubelets.Silence(id)
			}
		})
	}
	d := play(t, c)
	if early, late := d.ended(0, 39*time.Minute), d.ended(40*time.Minute, 60*time.Minute); early != 0 || late != 6 {
		t.Errorf("%d ends before they were due, %d after", early, late)
	}
	d.alone(t, 20)
}
