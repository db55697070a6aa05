package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/world"
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
	c.Checkers = func() []audit.Checker { return append(audit.All(), d) }
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

// running counts the machines that have not ended.
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

// ended counts machines that were told to end, or that ended, between two times of the run.
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

// small is a world of m5.large machines on demand, and pods of which one fills a machine.
func small(pods int, length time.Duration) sim.Config {
	pool := world.Pool("web", "default", world.Need(model.LabelCapacityType, model.OnDemand))
	return sim.Config{Seed: 1, Scenario: sim.Scenario{
		Length: length, Types: []string{"m5.large"}, Pools: []model.Pool{pool}, Versions: 1,
		Workloads: []world.Workload{{Kind: world.Deployment, Name: "web", Shape: world.Shape(1500, 1<<30), Replicas: pods}},
	}}
}

// alone fails the test unless exactly so many machines run and nobody waits.
func (d *diary) alone(t *testing.T, machines int) {
	t.Helper()
	if waiting := d.world.Cluster.Waiting(); d.running() != machines || len(waiting) != 0 {
		t.Errorf("%d machines run, want %d; waiting: %v", d.running(), machines, waiting)
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
				w.Fleet.SetCapacity(model.OfferKey{InstanceType: "m5.large", Zone: zone, CapacityType: model.OnDemand}, n)
			}
			at(10*time.Minute, func() {
				w.Fleet.SetCapacity(model.OfferKey{InstanceType: "m5.large", Zone: "us-west-2a", CapacityType: model.OnDemand}, 1000)
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

func TestScenario05NewMachinesAreHiddenForFourMinutesWhileTheCollectorRuns(t *testing.T) {
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
			foreign[w.Fleet.AddMachine(model.Instance{Type: "m5.large", Zone: "us-west-2a", CapacityType: model.OnDemand, Tags: tags})] = true
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
	dear := world.Pool("dear", "default", world.Need("karpenter.k8s.aws/instance-category", "m", "c"))
	dear.Weight = 100
	cheap := world.Pool("fallback", "default", world.Need("karpenter.k8s.aws/instance-category", "t"))
	cheap.Weight = 10
	c.Scenario.Pools = []model.Pool{dear, cheap}
	special := world.Shape(1000, 2<<30)
	special.NodeSelector = map[string]string{model.LabelNodePool: "dear"}
	c.Scenario.Workloads = append(c.Scenario.Workloads, world.Workload{Kind: world.Deployment, Name: "special", Shape: special, Replicas: 5})
	c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
		for _, machine := range catalog.Types() {
			if machine.Name[0] != 't' {
				w.Fleet.Short(world.Shortage{
					Offer: model.OfferKey{InstanceType: machine.Name}, Code: "InsufficientInstanceCapacity", Until: world.Start.Add(time.Hour),
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
		if written, ok := e.Fact.(world.LedgerWritten); ok && len(written.Marks) > 0 {
			t.Fatalf("marked %+v", written.Marks)
		}
	}
}

func TestScenarioDryOfferIsLeftAlone(t *testing.T) {
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

func TestScenarioMachinesNobodyAskedForEnd(t *testing.T) {
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

func TestScenarioMachinesThatNeverJoinEnd(t *testing.T) {
	c := small(40, 35*time.Minute)
	c.Plan = []sim.Source{{Kind: sim.KindJoin, Rate: 1, Until: 35 * time.Minute}}
	d := play(t, c)
	if n := d.ended(15*time.Minute, 34*time.Minute); n == 0 {
		t.Error("no machine was ended")
	}
}
