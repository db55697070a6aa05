package sim

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// The kinds of sources that are in the world itself.
const (
	KindShortage    = "shortage"     // EC2 has no capacity in some offers
	KindLimit       = "rate limit"   // EC2 refuses calls for being too many
	KindFleet       = "odd answers"  // EC2 fails, gives too few or too many, and lists half
	KindVisibility  = "visibility"   // EC2 shows new instances minutes late
	KindJoin        = "no join"      // instances join late, or never
	KindSilence     = "silence"      // kubelets fall silent for minutes
	KindSpot        = "spot"         // spot instances are taken away
	KindFailure     = "failure"      // instances fail
	KindStale       = "stale list"   // the API server lists what was minutes ago
	KindLag         = "watch lag"    // changes reach the watcher late
	KindMute        = "no watcher"   // no replica of the watcher runs
	KindQueue       = "odd queue"    // messages come late, twice, few at a time or never
	KindTicks       = "odd ticks"    // ticks come late, twice or never
	KindTemplates   = "templates"    // somebody deletes launch templates
	KindPeople      = "people"       // somebody deletes nodes, claims and instances by hand
	KindObjects     = "objects"      // published snapshots are deleted
	KindDeltas      = "segments"     // a segment after the base that is published, or that base, is deleted
	KindUnread      = "unread items" // an item of the ledger cannot be read for minutes
	KindByHand      = "by hand"      // somebody deletes a claim from the ledger, or changes a pool's usage there
	KindEvents      = "odd events"   // AWS's events come late, twice or never
	KindChecks      = "checks"       // status checks of instances fail, and events are scheduled for them
	KindLongHush    = "long hush"    // kubelets fall silent for longer than is tolerated
	KindForce       = "force"        // somebody takes nodes and claims away with finalizers and all
	KindPools       = "pools"        // somebody deletes a NodePool, and puts it back
	KindSpoilt      = "spoilt"       // nodes come up with a taint nobody declared, without a label, or with little room
	KindStorm       = "storm"        // half of the kubelets fall silent at once, or the status checks of half of the instances fail
	KindStuck       = "stuck pods"   // kubelets do not end pods for minutes
	KindBurst       = "burst"        // no instance joins that is launched while it lasts: one incident
	KindDefinitions = "definitions"  // the definitions of NodePools, NodeClaims and EC2NodeClasses vanish, and come back
	KindDrivers     = "drivers"      // drivers of devices publish minutes late, and begin anew now and then
	KindShift       = "zonal shift"  // AWS shifts the cluster away from a zone, and ARC does not answer now and then
)

var mischiefs = []string{
	KindShortage, KindLimit, KindFleet, KindVisibility, KindJoin, KindSilence, KindSpot, KindFailure, KindStale, KindLag, KindQueue, KindTicks,
	KindTemplates, KindPeople, KindObjects, KindEvents, KindChecks, KindLongHush, KindForce, KindPools,
}

// worldOptions are what a plan asks of the world before it begins.
func worldOptions(plan []Source, options *world.Options) {
	for _, s := range plan {
		switch s.Kind {
		case KindVisibility:
			options.Fleet.Visibility.Max = max(options.Fleet.Visibility.Max, time.Duration(s.Rate*float64(8*time.Minute)))
		case KindJoin:
			options.Kubelets.NeverJoins, options.Kubelets.JoinsLate = s.Rate/10, s.Rate/20
		case KindSpot:
			options.Fleet.SpotLife = time.Duration(float64(10*time.Minute) / s.Rate)
		case KindFailure:
			options.Fleet.FailureLife = time.Duration(float64(20*time.Minute) / s.Rate)
		}
	}
}

// misbehave puts what a plan asks of the world on the agenda.
func (e *engine) misbehave() {
	for _, s := range e.config.Plan {
		d := newDraws(e.config.Seed, s.String())
		from, until := world.Start.Add(s.From), world.Start.Add(s.Until)
		during := func(begin, end func()) {
			e.eventQueue.Add(from, func() { e.inject("", "", s.Kind); begin(); e.check() })
			e.eventQueue.Add(until, func() {
				if !e.healed {
					end()
				}
			})
		}
		again := func(mean time.Duration, do func(d draws)) {
			e.often(d, mean, from, until, func(d draws) {
				e.inject("", "", s.Kind)
				do(d)
			})
		}
		w := e.world
		switch s.Kind {
		case KindShortage:
			shortage := drawShortage(d, from, until)
			during(func() { w.Fleet.Short(shortage) }, func() {})
		case KindLimit:
			during(func() {
				for _, api := range []string{"CreateFleet", "DescribeInstances", "TerminateInstances", "CreateLaunchTemplate"} {
					w.Fleet.Throttle(api, 0.05+0.5*(1-s.Rate), 1+4*(1-s.Rate))
				}
			}, func() {
				for _, api := range []string{"CreateFleet", "DescribeInstances", "TerminateInstances", "CreateLaunchTemplate"} {
					w.Fleet.Throttle(api, 0, 0)
				}
			})
		case KindFleet:
			share := func() float64 { return s.Rate * d.Float64() / 2 }
			chances := world.Chances{ServerError: share(), LostReply: share(), Partial: share(), Surplus: share() / 5, Half: share(), Double: share()}
			during(func() { w.Fleet.SetChances(chances) }, func() { w.Fleet.SetChances(world.Chances{}) })
		case KindSilence:
			again(10*time.Minute, e.silence)
		case KindDrivers:
			late := world.Span{Max: d.skewed(time.Minute, 25*time.Minute)}
			during(func() { w.Devices.Delay(late) }, func() { w.Devices.Delay(world.Span{}) })
			again(8*time.Minute, func(d draws) { restartDriver(w, d) })
		case KindStale:
			age := d.between(10*time.Second, 10*time.Minute)
			if d := newDraws(e.config.Seed, "flap "+s.String()); d.IntN(2) == 0 { // of two API servers one is behind
				behind := false
				during(func() {}, func() { w.Stale(0) })
				again(30*time.Second, func(draws) {
					if behind = !behind; behind {
						w.Stale(age)
					} else {
						w.Stale(0)
					}
				})
				break
			}
			during(func() { w.Stale(age) }, func() { w.Stale(0) })
			again(30*time.Second, func(draws) {}) // what is older than what was seen before is not believed
		case KindLag:
			lag := d.skewed(time.Second, 3*time.Minute)
			during(func() { e.watchers[0].setLag(lag) }, func() { e.watchers[0].setLag(0) })
		case KindMute:
			during(func() { e.watchers[0].silence(until) }, func() {})
		case KindQueue:
			share := func() float64 { return s.Rate * d.Float64() / 2 }
			chances := world.QueueChances{Duplicate: share(), Delay: share() / 4, Reorder: share(), Few: share(), Lose: share()}
			during(func() {
				w.Plan.SetChances(chances)
				w.Passes.SetChances(chances)
			}, func() {
				w.Plan.SetChances(world.QueueChances{})
				w.Passes.SetChances(world.QueueChances{})
			})
		case KindTicks:
			chances := world.ScheduleChances{Lost: s.Rate * d.Float64(), Doubled: s.Rate * d.Float64(), Late: s.Rate * d.Float64()}
			during(func() { w.Ticks.SetChances(chances) }, func() { w.Ticks.Heal() })
		case KindTemplates:
			again(5*time.Minute, func(draws) { w.Fleet.ForgetBeforeNext() })
		case KindPeople:
			again(time.Duration(float64(5*time.Minute)/(0.1+s.Rate)), e.meddle)
		case KindObjects:
			again(20*time.Minute, func(draws) { w.Store.Lose() })
		case KindDeltas:
			again(8*time.Minute, e.tear)
		case KindUnread:
			again(10*time.Minute, e.spoil)
		case KindByHand:
			again(10*time.Minute, e.tamper)
		case KindEvents:
			chances := world.EventChances{Lost: s.Rate * d.Float64(), Doubled: s.Rate * d.Float64(), Late: s.Rate * d.Float64()}
			during(func() { w.Events.SetChances(chances) }, func() { w.Events.Heal() })
		case KindChecks:
			again(time.Duration(float64(10*time.Minute)/(0.1+s.Rate)), e.impair)
		case KindLongHush:
			again(30*time.Minute, func(d draws) { e.hush(d, 25*time.Minute, 50*time.Minute) })
		case KindForce:
			again(time.Duration(float64(10*time.Minute)/(0.1+s.Rate)), e.force)
		case KindPools:
			again(30*time.Minute, e.pools)
		case KindSpoilt:
			spoil := drawSpoil(d)
			during(func() { w.Kubelets.Spoil(spoil) }, func() {
				w.Kubelets.Unspoil()
				e.correct()
			})
		case KindBurst:
			during(func() { w.Kubelets.Deafen(true) }, func() { w.Kubelets.Deafen(false) })
		case KindDefinitions:
			during(e.undefine, e.define)
		case KindShift:
			zones := catalog.Zones()
			id := zones[d.IntN(len(zones))].ID
			w.Zones.Enable()
			during(func() { w.Zones.Shift(id, time.Time{}) }, func() { w.Zones.Cancel(id) })
			down := false
			again(5*time.Minute, func(draws) {
				down = !down
				w.Zones.Down(down)
			})
		case KindStorm:
			during(func() { e.people.storm(d) }, func() {})
			again(40*time.Minute, e.people.storm)
		case KindStuck:
			during(func() { w.Kubelets.Hang(s.Rate/2, world.Span{Min: time.Minute, Max: 20 * time.Minute}) }, func() { w.Kubelets.Hang(0, world.Span{}) })
		default:
			e.people.begin(s, d)
		}
	}
}

// often does something again and again between two times, about as often as the mean says, until everything is healed.
func (e *engine) often(d draws, mean time.Duration, from, until time.Time, do func(d draws)) {
	var next func()
	next = func() {
		at := e.now().Add(d.between(mean/10, 2*mean))
		e.eventQueue.Add(at, func() {
			if e.healed || !at.Before(until) {
				return
			}
			do(d)
			e.check()
			next()
		})
	}
	e.eventQueue.Add(from, next)
}

// drawShortage draws one of the patterns in which capacity is missing.
func drawShortage(d draws, from, until time.Time) world.Shortage {
	zones := catalog.Zones()
	s := world.Shortage{Code: "InsufficientInstanceCapacity", From: from, Until: until}
	types := catalog.Types()
	switch d.IntN(7) {
	case 0:
		s.Offering = model.OfferingKey{InstanceType: types[d.IntN(len(types))].Name, Zone: zones[d.IntN(len(zones))].Name}
	case 1:
		s.Offering.Zone = zones[d.IntN(len(zones))].Name
	case 2:
		s.Offering.CapacityType, s.Code = model.Spot, []string{"MaxSpotInstanceCountExceeded", "InsufficientInstanceCapacity"}[d.IntN(2)]
	case 3: // everything
	case 4:
		s.OneAtATime = true
		s.Offering.Zone = zones[d.IntN(len(zones))].Name
	case 5:
		s.Period = 3 * time.Minute
	case 6:
		s.Offering.CapacityType, s.Code = model.OnDemand, []string{"VcpuLimitExceeded", "InsufficientFreeAddressesInSubnet", "UnfulfillableCapacity"}[d.IntN(3)]
	}
	return s
}

// restartDriver has the driver of a node's devices begin anew.
func restartDriver(w *world.World, d draws) {
	if nodes := w.Cluster.Nodes(); len(nodes) > 0 {
		w.Devices.Restart(nodes[d.IntN(len(nodes))].Name, d.skewed(time.Second, 3*time.Minute))
	}
}

// silence lets a kubelet say nothing for some minutes.
func (e *engine) silence(d draws) { e.hush(d, 20*time.Second, 20*time.Minute) }

// hush lets a kubelet say nothing for some time.
func (e *engine) hush(d draws, low, high time.Duration) {
	alive := e.world.Kubelets.Alive()
	if len(alive) == 0 {
		return
	}
	id := alive[d.IntN(len(alive))]
	e.world.Kubelets.Silence(id)
	e.eventQueue.Add(e.now().Add(d.skewed(low, high)), func() {
		e.world.Kubelets.Resume(id)
		e.check()
	})
}

// impair has the status checks of an instance fail for some minutes, or an event be scheduled for it.
func (e *engine) impair(d draws) {
	alive := e.world.Kubelets.Alive()
	if len(alive) == 0 {
		return
	}
	id := alive[d.IntN(len(alive))]
	switch d.IntN(4) {
	case 0:
		e.world.Fleet.Impair(id, model.ImpairedEvent, "instance-retirement")
		return
	case 1:
		e.world.Events.Health("AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", id)
		return
	case 2:
		e.world.Fleet.Impair(id, model.ImpairedInstance, "")
	case 3:
		e.world.Fleet.Impair(id, model.ImpairedSystem, "")
	}
	e.eventQueue.Add(e.now().Add(d.between(10*time.Second, 10*time.Minute)), func() {
		e.world.Fleet.Mend(id)
		e.check()
	})
}

// remove deletes a node or NodeClaim that our finalizer holds, as people do who know that it will be emptied first; or
// recommends a rebalance.
func (e *engine) remove(d draws) {
	w := e.world
	switch d.IntN(3) {
	case 0:
		nodes := slices.DeleteFunc(w.Cluster.Nodes(), func(n model.Node) bool { return !n.Finalizer })
		if len(nodes) > 0 {
			w.Cluster.Delete(world.KindNode, nodes[d.IntN(len(nodes))].Name)
		}
	case 1:
		if claims := w.Cluster.Claims(); len(claims) > 0 {
			w.Cluster.Delete(world.KindNodeClaim, claims[d.IntN(len(claims))].Claim.Name)
		}
	case 2:
		if alive := w.Kubelets.Alive(); len(alive) > 0 {
			w.Fleet.Rebalance(alive[d.IntN(len(alive))])
		}
	}
}

// meddle does what people do by hand.
func (e *engine) meddle(d draws) {
	w := e.world
	switch d.IntN(5) {
	case 0, 1:
		e.remove(d)
	case 2:
		if alive := w.Kubelets.Alive(); len(alive) > 0 {
			w.Fleet.EndByHand(alive[d.IntN(len(alive))])
		}
	case 3:
		if pods := w.Cluster.Pods(); len(pods) > 0 {
			pod := pods[d.IntN(len(pods))]
			w.Cluster.DeletePod(pod.Namespace, pod.Name)
		}
	case 4:
		if alive := w.Kubelets.Alive(); len(alive) > 0 {
			w.Fleet.Stop(alive[d.IntN(len(alive))])
		}
	}
}

// force takes a node or a NodeClaim away whatever holds it.
func (e *engine) force(d draws) {
	w := e.world
	if nodes := w.Cluster.Nodes(); len(nodes) > 0 && d.IntN(2) == 0 {
		w.Cluster.DeleteNode(nodes[d.IntN(len(nodes))].Name)
	} else if claims := w.Cluster.Claims(); len(claims) > 0 {
		w.Cluster.DeleteClaim(claims[d.IntN(len(claims))].Claim.Name)
	}
}

// tear deletes one of the objects that the pointer names: a segment nine times in ten, where there is one.
func (e *engine) tear(d draws) {
	manifest, err := e.world.Ledger.Manifest(context.Background(), world.Name)
	if err != nil || manifest == nil {
		return
	}
	deltas := manifest.HeadSeq - manifest.SnapshotSeq
	if deltas == 0 || d.IntN(10) == 0 {
		e.world.Store.LoseSnapshot(world.Name, manifest.Epoch, manifest.SnapshotSeq)
		return
	}
	e.world.Store.LoseDelta(world.Name, manifest.Epoch, manifest.SnapshotSeq+1+d.Int64N(deltas))
}

// spoil has an item of the ledger be unreadable for some time. It goes on being something that is wrong until it is mended.
func (e *engine) spoil(d draws) {
	ledger, err := e.world.Ledger.Load(context.Background(), model.Registration{Cluster: world.Name})
	if err != nil || e.unread {
		return
	}
	var items []model.Unread
	for _, c := range ledger.Claims {
		items = append(items, model.Unread{Kind: model.UnreadClaim, Name: c.Name})
	}
	for _, u := range ledger.Usage {
		items = append(items, model.Unread{Kind: model.UnreadUsage, Name: u.Pool})
	}
	for _, c := range ledger.Commands {
		items = append(items, model.Unread{Kind: model.UnreadCommand, Name: c.ID})
	}
	for range 3 { // there are few, and they matter most
		for _, i := range ledger.Intents {
			items = append(items, model.Unread{Kind: model.UnreadIntent, Name: i.ID})
		}
	}
	if len(items) == 0 {
		return
	}
	item := items[d.IntN(len(items))]
	world.SpoilItem(e.world.Ledger, world.Name, item.Kind, item.Name)
	e.unread = true
	until := e.now().Add(d.skewed(20*time.Second, 8*time.Minute))
	var goesOn func()
	goesOn = func() {
		if e.healed {
			return
		}
		e.inject("", "", "unread "+item.Kind)
		if e.now().Before(until) {
			e.eventQueue.Add(e.now().Add(20*time.Second), goesOn)
			return
		}
		e.mendItems()
	}
	goesOn()
}

// mendItems makes every item of the ledger readable again.
func (e *engine) mendItems() {
	world.MendItems(e.world.Ledger, world.Name)
	e.unread = false
}

// tamper deletes the claim of an instance that is not to end, or adds to what a pool is counted to hold.
func (e *engine) tamper(d draws) {
	ledger, err := e.world.Ledger.Load(context.Background(), model.Registration{Cluster: world.Name})
	if err != nil {
		return
	}
	if len(ledger.Usage) > 0 && d.IntN(3) == 0 {
		world.Miscount(e.world.Ledger, world.Name, ledger.Usage[d.IntN(len(ledger.Usage))].Pool, model.Resources{model.Nodes: int64(1 + d.IntN(3)), model.CPU: 1000 * int64(d.IntN(9))})
		return
	}
	claims := slices.DeleteFunc(ledger.Claims, func(c model.Claim) bool { return !c.Live() || c.Ending() || c.InstanceID == "" })
	if len(claims) > 0 {
		world.Skew(e.world.Ledger, world.Name, claims[d.IntN(len(claims))].Name)
	}
}

// pools deletes a NodePool and applies it again a while later.
func (e *engine) pools(d draws) {
	pools := e.config.Scenario.Pools
	pool := pools[d.IntN(len(pools))]
	e.world.Cluster.Delete(world.KindPool, pool.Name)
	e.eventQueue.Add(e.now().Add(d.skewed(time.Second, 10*time.Minute)), func() { e.restore(pool) })
}

// undefine deletes the definitions with every object of them.
func (e *engine) undefine() {
	e.undefined = true
	e.world.Cluster.DeleteDefinitions()
}

// define applies definitions, NodePools and EC2NodeClasses that are not there, and tries again while a finalizer holds what was.
func (e *engine) define() {
	if !e.undefined {
		return
	}
	if !e.world.Cluster.DefineAnew() {
		e.eventQueue.Add(e.now().Add(10*time.Second), e.define)
		return
	}
	e.undefined = false
	e.world.Cluster.AddClass(world.Class("default"))
	for _, pool := range e.config.Scenario.Pools {
		e.restore(pool)
	}
	e.check()
}

// restore applies a NodePool where it is not there.
func (e *engine) restore(pool model.Pool) {
	if e.undefined { // define does, once it can
		return
	}
	snapshot, err := e.world.Cluster.List(context.Background())
	if err == nil && !slices.ContainsFunc(snapshot.Pools, func(p model.Pool) bool { return p.Name == pool.Name }) {
		e.world.Cluster.AddPool(pool)
		e.check()
	}
}

// drawSpoil draws how nodes come up.
func drawSpoil(d draws) world.Spoil {
	switch d.IntN(4) {
	case 0:
		return world.Spoil{Label: model.LabelArch}
	case 1:
		daemon := world.Shape(int64(500+d.IntN(1500)), int64(1+d.IntN(4))<<30)
		daemon.OwnerKind = "Node"
		return world.Spoil{Daemon: &daemon}
	case 2:
		return world.Spoil{Taint: &model.Taint{Key: "late", Effect: model.NoSchedule}, For: d.skewed(time.Second, 3*time.Minute)}
	}
	return world.Spoil{Taint: &model.Taint{Key: "late", Value: "true", Effect: model.NoSchedule}}
}

// correct changes the template of every NodePool, as people do who have mended what was wrong with its nodes.
func (e *engine) correct() {
	snapshot, err := e.world.Cluster.List(context.Background())
	if err != nil {
		return
	}
	for _, pool := range snapshot.Pools {
		if pool.DeletedUnix == 0 {
			pool.Template.Annotations = maps.Clone(pool.Template.Annotations)
			if pool.Template.Annotations == nil {
				pool.Template.Annotations = map[string]string{}
			}
			pool.Template.Annotations["mended"] = e.elapsed().String()
			e.world.Cluster.AddPool(pool)
		}
	}
	e.check()
}

// spoils reports whether nodes come up spoilt in the run.
func (e *engine) spoils() bool {
	return slices.ContainsFunc(e.config.Plan, func(s Source) bool { return s.Kind == KindSpoilt })
}

// heal ends everything that goes wrong.
func (e *engine) heal() {
	e.healed = true
	w := e.world
	w.Fleet.Heal()
	w.Plan.Heal()
	w.Passes.Heal()
	w.Notices.Heal()
	w.Events.Heal()
	w.Zones.Heal()
	w.Alarms.Heal()
	w.Devices.Heal()
	w.Ticks.Heal()
	w.Stale(0)
	e.mendItems()
	if e.undefined {
		e.define()
	} else {
		for _, pool := range e.config.Scenario.Pools {
			e.restore(pool)
		}
	}
	w.Fleet.MendAll()
	for _, id := range w.Kubelets.Heal() {
		w.Fleet.FailInstance(id)
	}
	if e.spoils() {
		e.correct()
	}
	e.people.settle()
	e.watchers[0].setLag(0)
	e.setClocks()
	e.check()
}

// setClocks sets every process's clock right. A watcher whose clock was ahead begins anew: a real one counts what it waits for by a clock that
// nobody sets, and of the two the engine has one.
func (e *engine) setClocks() {
	for _, p := range slices.Clone(e.alive) {
		if p.program == "watcher" && p.skew > 0 {
			e.kill(p, "kill")
			continue
		}
		p.skew = 0
	}
}
