package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// The kinds of what people and tenants do that nobody may call a fault. The auditors hear of none: whatever is promised is promised beside
// them.
const (
	KindTaken    = "taken limits"    // a NodePool's limits become what it has, between a plan and the record of its launch
	KindVisitors = "visitors"        // pods come to nodes while it is planned which to disrupt
	KindBudgets  = "taken evictions" // a PodDisruptionBudget forbids evictions between a plan and the record of its command
	KindAlarms   = "alarms"          // an alarm that NodePools name goes on for minutes, or CloudWatch does not answer
	KindStops    = "stops"           // disruption voluntarily is stopped for minutes
	KindTenant   = "hostile tenant"  // a namespace asks for what it can, and has it taken away again
	KindDaemons  = "daemons"         // a DaemonSet is applied while nodes run
	KindKept     = "kept nodes"      // finalizers of others keep Nodes for minutes, whoever deletes them
	KindHostile  = "hostile cluster" // another cluster attached to the control plane sends what it can, and changes its own nodes
)

var byPeople = []string{KindTaken, KindVisitors, KindBudgets, KindStops, KindTenant, KindDaemons, KindKept}

// drawPeople draws what people and tenants do: most of it in few runs, also in those where nothing goes wrong.
func drawPeople(seed uint64, length time.Duration, neighbors int) (plan []Source) {
	for _, kind := range byPeople {
		if d := newDraws(seed, kind); d.IntN(8) == 0 {
			from := d.between(0, length/2)
			plan = append(plan, Source{Kind: kind, Rate: 0.2 + 0.7*d.Float64(), From: from, Until: min(length, from+d.between(length/4, length))})
		}
	}
	if neighbors > 0 {
		hostile := Neighbor(neighbors)
		plan = append(plan, Source{Kind: KindHostile, Rate: 1, Until: length},
			Source{Kind: KindSlow, Target: "cluster", Of: hostile, Rate: 0.1, Until: length}, Source{Kind: KindError, Target: "cluster", Of: hostile, Rate: 0.2, Until: length})
	}
	return plan
}

// drawHostile draws whether a hostile cluster is attached beside the one that is evaluated.
func drawHostile(d draws, s *Scenario) {
	if d.IntN(20) != 0 {
		return
	}
	s.Neighbors = 1
	var own []world.Workload
	for i := range 2 {
		own = append(own, drawWorkload(d, i, s.Length))
	}
	s.Neighbor = func(int) []world.Workload { return slices.Clone(own) }
}

// people are those who work with the cluster of a run, and whoever is hostile to it.
type people struct {
	*engine
	stopped   []model.Stop // that hold
	forbidden int          // PodDisruptionBudgets that were applied
	asked     int          // what has a number, so far
	kept      []string     // Nodes that finalizers of others keep
	alarming  int          // how many causes there are for the alarm
}

// counted notes what people did, of which no auditor hears.
func (e *people) counted(kind string) { e.stats.Faults[kind]++ }

// begin puts on the agenda what people do again and again.
func (e *people) begin(s Source, d draws) {
	again := func(mean time.Duration, do func(d draws)) {
		e.often(d, mean, world.Start.Add(s.From), world.Start.Add(s.Until), func(d draws) {
			e.counted(s.Kind)
			do(d)
		})
	}
	switch s.Kind {
	case KindStops:
		again(20*time.Minute, e.stop)
	case KindAlarms:
		again(15*time.Minute, e.alarm)
	case KindTenant:
		again(12*time.Minute, e.ask)
	case KindDaemons:
		again(40*time.Minute, e.apply)
	case KindKept:
		again(8*time.Minute, e.keep)
	case KindHostile:
		again(2*time.Minute, e.attack)
	}
}

// storm has half of the kubelets fall silent for longer than is tolerated, or the status checks of half of the instances fail for minutes.
func (e *people) storm(d draws) {
	alive := e.world.Kubelets.Alive()
	d.Shuffle(len(alive), func(i, j int) { alive[i], alive[j] = alive[j], alive[i] })
	checks, until := d.IntN(2) == 0, d.between(32*time.Minute, 50*time.Minute)
	if checks {
		until = d.between(3*time.Minute, 8*time.Minute)
	}
	for _, id := range alive[:(len(alive)+1)/2] {
		if checks {
			e.world.Fleet.Impair(id, model.ImpairedSystem, "")
		} else {
			e.world.Kubelets.Silence(id)
		}
		e.eventQueue.Add(e.now().Add(until), func() {
			e.world.Fleet.Mend(id)
			e.world.Kubelets.Resume(id)
			e.check()
		})
	}
}

// done reports whether people do something of a kind at the n-th of whatever somebody asks for.
func (e *people) done(kind string, p *process) (draws, bool) {
	for i := range e.config.Plan {
		if s := &e.config.Plan[i]; s.Kind == kind {
			if key, roll, hit := e.strikes(s, p.key, p.ops); hit {
				e.counted(kind)
				e.injected = append(e.injected, key)
				return roll, true
			}
		}
	}
	return draws{}, false
}

// before has people do what they do right before an operation gets there.
func (e *people) before(p *process, op world.Op) {
	switch op.Name {
	case "ledger.record":
		if d, hit := e.done(KindTaken, p); hit {
			e.take(d)
		}
	case "ledger.step":
		if d, hit := e.done(KindStops, p); hit {
			e.stop(d)
		}
	case "ledger.commit":
		if d, hit := e.done(KindBudgets, p); hit {
			e.forbid(d)
		}
	case "store.at":
		if p.program != "disrupt" {
			return
		}
		if d, hit := e.done(KindVisitors, p); hit {
			e.visit(d)
		}
	}
}

// take has people lower the limits of NodePools to what their claims hold, one node more or less, and put them back later.
func (e *people) take(d draws) {
	ledger, err := e.world.Ledger.Load(context.Background(), world.Registration())
	if err != nil || e.undefined {
		return
	}
	has := map[string]int64{}
	for i := range ledger.Claims {
		if ledger.Claims[i].Live() {
			has[ledger.Claims[i].Pool]++
		}
	}
	for _, pool := range e.poolsNow() {
		if pool.Replicas == nil && pool.DeletedUnix == 0 {
			pool.Limits = maps.Clone(pool.Limits)
			if pool.Limits == nil {
				pool.Limits = model.Resources{}
			}
			pool.Limits[model.Nodes] = max(0, has[pool.Name]+int64(d.IntN(3))-1)
			e.world.Cluster.AddPool(pool)
		}
	}
	e.eventQueue.Add(e.now().Add(d.skewed(time.Minute, 40*time.Minute)), e.giveLimits)
}

// giveLimits puts limits back to what the run began with.
func (e *people) giveLimits() {
	if e.undefined { // define applies pools as they were
		return
	}
	for _, pool := range e.poolsNow() {
		for _, was := range e.config.Scenario.Pools {
			if was.Name == pool.Name && pool.DeletedUnix == 0 && !maps.Equal(was.Limits, pool.Limits) {
				pool.Limits = was.Limits
				e.world.Cluster.AddPool(pool)
			}
		}
	}
	e.check()
}

// poolsNow returns the NodePools that are there.
func (e *people) poolsNow() []model.Pool {
	snapshot, err := e.world.Cluster.List(context.Background())
	if err != nil {
		return nil
	}
	return snapshot.Pools
}

// forbid has people forbid every eviction of a workload's pods, or of all, for some minutes.
func (e *people) forbid(d draws) {
	var labels map[string]string
	if workloads := e.config.Scenario.Workloads; len(workloads) > 0 && d.IntN(3) == 0 {
		labels = workloads[d.IntN(len(workloads))].Shape.Labels
	}
	e.forbidden++
	name := fmt.Sprintf("forbids-%d", e.forbidden)
	e.world.Cluster.AddBudget(model.PDB{Namespace: "default", Name: name, MaxUnavailable: "0", Selector: &model.Selector{MatchLabels: labels}})
	e.eventQueue.Add(e.now().Add(d.between(time.Minute, 10*time.Minute)), func() {
		e.world.Cluster.DeleteBudget("default/" + name)
		e.check()
	})
}

// visit has some small pods created, which kube-scheduler binds to nodes that have room.
func (e *people) visit(d draws) {
	shape := world.Shape(20, 16<<20)
	shape.OwnerName = "visitors"
	e.asked++
	name := fmt.Sprintf("visitor-%d", e.asked)
	n := 1 + d.IntN(3)
	e.world.Cluster.AddPods(name, n, shape)
	e.leave("default", name, n, d.between(time.Minute, 10*time.Minute))
}

// leave has pods deleted after some time.
func (e *people) leave(namespace, prefix string, n int, after time.Duration) {
	e.eventQueue.Add(e.now().Add(after), func() {
		for i := range n {
			e.world.Cluster.DeletePod(namespace, fmt.Sprintf("%s-%d", prefix, i))
		}
		e.check()
	})
}

// stop has people stop disruption voluntarily of the cluster or of a NodePool for some minutes.
func (e *people) stop(d draws) {
	stop := model.Stop{Scope: model.StopCluster, Why: "a change is under way", By: "people", SinceUnix: e.now().Unix()}
	if d.IntN(2) == 0 {
		stop.Scope, stop.Pool = model.StopPool, e.config.Scenario.Pools[d.IntN(len(e.config.Scenario.Pools))].Name
	}
	ctx, reg := context.Background(), world.Registration()
	if err := e.world.Ledger.Stop(ctx, reg, stop); err != nil {
		panic(err) // plain data
	}
	e.stopped = append(e.stopped, stop)
	e.eventQueue.Add(e.now().Add(d.between(time.Minute, 20*time.Minute)), func() { e.resumeChoices(stop) })
}

// stopAlarm is the alarm that every NodePool names in runs with KindAlarms.
const stopAlarm = "errors"

// alarmed are the NodePools of a run as they name the alarm.
func alarmed(pools []model.Pool) []model.Pool {
	out := slices.Clone(pools)
	for i := range out {
		out[i].Annotations = maps.Clone(out[i].Annotations)
		if out[i].Annotations == nil {
			out[i].Annotations = map[string]string{}
		}
		out[i].Annotations[model.AnnotationStopAlarms] = stopAlarm
	}
	return out
}

// alarm has the alarm go on for some minutes, or CloudWatch not answer.
func (e *people) alarm(d draws) {
	alarms := e.world.Alarms
	if d.IntN(3) == 0 {
		alarms.Down(true)
		e.eventQueue.Add(e.now().Add(d.between(10*time.Second, 5*time.Minute)), func() { alarms.Down(false) })
		return
	}
	e.alarming++
	alarms.Set(stopAlarm, model.AlarmOn)
	e.eventQueue.Add(e.now().Add(d.between(time.Minute, 20*time.Minute)), func() {
		if e.alarming--; e.alarming == 0 {
			alarms.Set(stopAlarm, model.AlarmOK)
			e.check()
		}
	})
}

// resumeChoices has people take a stop back.
func (e *people) resumeChoices(stop model.Stop) {
	if i := slices.Index(e.stopped, stop); i >= 0 {
		e.stopped = slices.Delete(e.stopped, i, i+1)
		if !slices.ContainsFunc(e.stopped, func(s model.Stop) bool { return s.Scope == stop.Scope && s.Pool == stop.Pool }) {
			_ = e.world.Ledger.Resume(context.Background(), world.Registration(), stop) // it was valid when it was set
		}
		e.check()
	}
}

// ask has a namespace ask for what it can: very many pods, pods of very many shapes, one node for each, pods that fit nowhere, and pods
// that nobody may evict. All of it goes again some minutes later.
func (e *people) ask(d draws) {
	shape := world.Shape(50*int64(1+d.IntN(30)), int64(1+d.IntN(12))<<28)
	shape.Namespace, shape.OwnerName = hostileNamespace, "tenant"
	shape.Labels = map[string]string{"app": "tenant"}
	e.asked++
	name := fmt.Sprintf("tenant-%d", e.asked)
	n := 0
	add := func(shape model.PodShape) {
		e.world.Cluster.CreatePod(fmt.Sprintf("%s-%d", name, n), shape)
		n++
	}
	switch d.IntN(5) {
	case 0:
		for range 20 + d.IntN(40) {
			add(shape)
		}
	case 1:
		for i := range 12 {
			own := shape
			own.Requests = model.Resources{model.CPU: int64(100 + 37*i), model.Memory: int64(64+11*i) << 20, model.Pods: 1}
			add(own)
		}
	case 2:
		shape.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: &model.Selector{MatchLabels: shape.Labels}}}
		for range 6 {
			add(shape)
		}
	case 3:
		shape.NodeSelector = map[string]string{"no/such": "node"}
		for range 10 {
			add(shape)
		}
	case 4:
		shape.DoNotDisrupt, shape.GraceSeconds = "true", 600
		for range 4 {
			add(shape)
		}
	}
	e.leave(hostileNamespace, name, n, d.between(2*time.Minute, 15*time.Minute))
}

// hostileNamespace is the namespace of a hostile tenant.
const hostileNamespace = "hostile"

// apply has people apply a small DaemonSet.
func (e *people) apply(d draws) {
	e.asked++
	shape := world.Shape(10+int64(d.IntN(60)), int64(8+d.IntN(56))<<20)
	shape.GraceSeconds = 5
	e.world.Cluster.AddDaemonSet(fmt.Sprintf("late-%d", e.asked), shape)
}

// keep has somebody's finalizer keep a Node for some minutes.
func (e *people) keep(d draws) {
	nodes := e.world.Cluster.Nodes()
	if len(nodes) == 0 {
		return
	}
	name := nodes[d.IntN(len(nodes))].Name
	world.KeepNode(e.world.Cluster, name, true)
	e.kept = append(e.kept, name)
	e.eventQueue.Add(e.now().Add(d.skewed(time.Minute, 40*time.Minute)), func() {
		world.KeepNode(e.world.Cluster, name, false)
		e.check()
	})
}

// attack has the hostile cluster do what it may: hints in others' names, of groups it made up, with nonsense in them, very many of them,
// nodes that show other room than they have, NodePools and EC2NodeClasses of nonsense, and pods that fit nowhere.
func (e *people) attack(d draws) {
	w := e.worlds[len(e.worlds)-1]
	own := Neighbor(len(e.worlds) - 1)
	send := func(group, body string) {
		e.asked++
		_, _ = w.Plan.Queue.Send(context.Background(), world.Outgoing{Body: body, Group: group, Dedup: fmt.Sprint("attack ", e.asked)}) // a queue that is out of order
	}
	hint := func(cluster string, reason wire.HintReason) string {
		body, err := wire.EncodeHint(wire.Hint{
			Cluster: cluster, Epoch: int64(d.IntN(7)), Seq: int64(d.IntN(1000)), Number: int64(d.IntN(1 << 30)), Reason: reason, SentAtMillis: e.now().UnixMilli(),
			Pods: []model.PodRef{{Namespace: "default", Name: "app-0-0", UID: fmt.Sprint("nobody-", d.IntN(1<<20))}},
		})
		if err != nil {
			panic(err) // plain data
		}
		return string(body)
	}
	switch d.IntN(6) {
	case 0:
		for range 20 + d.IntN(100) {
			send([]string{own, world.Name, wire.ForwardGroup(world.Name), fmt.Sprint("made up ", d.IntN(50))}[d.IntN(4)],
				hint([]string{own, world.Name}[d.IntN(2)], []wire.HintReason{wire.ReasonBatch, wire.ReasonEnd, wire.ReasonDrain, wire.ReasonConfig, wire.ReasonResync}[d.IntN(5)]))
		}
	case 1:
		for _, body := range []string{"{", "null", "[]", `{"cluster":"` + world.Name + `"}`, "\x00"} {
			send(own, body)
		}
	case 2:
		for _, node := range w.Cluster.Nodes() {
			node.Allocatable, node.Capacity = scaled(node.Allocatable, d), scaled(node.Capacity, d)
			w.Cluster.PutNode(node)
		}
	case 3:
		class := world.Class(fmt.Sprintf("nonsense-%d", d.IntN(5)))
		class.Subnets = nil
		w.Cluster.AddClass(class)
		w.Cluster.AddPool(world.Pool(class.Name, class.Name, world.Need(model.LabelArch, "abacus")))
	case 4:
		shape := world.Shape(100, 64<<20)
		shape.NodeSelector = map[string]string{"no/such": "node"}
		w.Cluster.AddPods(fmt.Sprintf("nowhere-%d", e.asked), 5, shape)
	case 5:
		for _, node := range w.Cluster.Nodes() {
			w.Cluster.DeleteNode(node.Name)
		}
	}
}

// scaled returns other amounts than those.
func scaled(amounts model.Resources, d draws) model.Resources {
	out := model.Resources{}
	for _, name := range slices.Sorted(maps.Keys(amounts)) { // what is drawn must not depend on the order of a map
		out[name] = amounts[name] * int64(d.IntN(9)) / 2
	}
	return out
}

// settle ends what people do.
func (e *people) settle() {
	w := e.world
	e.giveLimits()
	for _, name := range e.kept {
		world.KeepNode(w.Cluster, name, false)
	}
	for _, stop := range slices.Clone(e.stopped) {
		e.resumeChoices(stop)
	}
	for i := range e.forbidden {
		w.Cluster.DeleteBudget(fmt.Sprintf("default/forbids-%d", i+1))
	}
	for _, pod := range w.Cluster.Pods() {
		if pod.Namespace == hostileNamespace {
			w.Cluster.DeletePod(pod.Namespace, pod.Name)
		}
	}
}
