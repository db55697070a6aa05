package world

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
)

// Kinds of workload.
const (
	Deployment  = "ReplicaSet"  // pods of ever new names
	StatefulSet = "StatefulSet" // pods of the same names, one after the other
	Job         = "Job"         // pods that end by themselves and are not made anew
)

// Workload is what people run: so many pods of a shape, changing over time.
type Workload struct {
	Kind     string
	Name     string
	Shape    model.PodShape
	Replicas int
	Steps    []Step        // later numbers of replicas, in order of time
	Runs     time.Duration // of a Job's pod, from its start until it has succeeded
	Stores   bool          // each pod has a volume
}

// Step is another number of replicas from a time on.
type Step struct {
	At       time.Time
	Replicas int
}

// Workloads are the controllers that make and remove pods: Deployments, StatefulSets, Jobs and DaemonSets; and the garbage
// collector.
type Workloads struct {
	cluster *Cluster
	rand    *rand.Rand // nil where nothing is left to chance
	delay   time.Duration

	loads      []*load
	eventQueue eventqueue.Queue
	at         int64 // version of the cluster it has looked at
	stale      bool  // something of its own changed
}

type load struct {
	Workload
	owner   int // shape
	created int
}

// NewWorkloads returns controllers that act delay after a change.
func NewWorkloads(cluster *Cluster, random *rand.Rand, delay time.Duration) *Workloads {
	return &Workloads{cluster: cluster, rand: random, delay: delay}
}

// Add starts a workload.
func (w *Workloads) Add(workload Workload) {
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	workload.Shape.OwnerKind, workload.Shape.OwnerName = workload.Kind, workload.Name
	one := &load{Workload: workload, owner: c.intern(workload.Shape)}
	if workload.Stores {
		c.storage[one.owner] = true
	}
	w.loads = append(w.loads, one)
	for _, step := range workload.Steps {
		w.eventQueue.Add(step.At, func() { one.Replicas, w.stale = step.Replicas, true })
	}
	w.stale = true
}

// Scale changes how many replicas a workload has.
func (w *Workloads) Scale(name string, replicas int) {
	for _, one := range w.loads {
		if one.Name == name {
			one.Replicas, w.stale = replicas, true
		}
	}
}

// Wanted returns how many pods the workloads should have in all, Jobs and DaemonSets left out.
func (w *Workloads) Wanted() int {
	n := 0
	for _, one := range w.loads {
		if one.Kind != Job {
			n += one.Replicas
		}
	}
	return n
}

// Next returns when something is due.
func (w *Workloads) Next() (time.Time, bool) {
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	at, due := w.eventQueue.Next()
	if w.stale {
		return sooner(at, due, c.now())
	}
	if i := c.after(w.at); i < len(c.history) {
		return sooner(at, due, c.history[i].at.Add(w.delay))
	}
	return at, due
}

// Run does what is due.
func (w *Workloads) Run(now time.Time) {
	w.eventQueue.Run(now)
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.after(w.at)
	if !w.stale && (i == len(c.history) || c.history[i].at.Add(w.delay).After(now)) {
		return
	}
	owners := slices.ContainsFunc(c.history[i:], func(step change) bool {
		return step.after == nil && (step.kind == KindPool || step.kind == KindNodeClaim)
	})
	if w.stale || c.relevant(w.at) {
		w.reconcile()
	}
	if owners {
		c.orphaned()
	}
	if c.choices {
		c.countBudgets()
	}
	w.at, w.stale = c.version, false
}

// reconcile makes what is missing and removes what is too much; the caller holds the cluster's mutex.
func (w *Workloads) reconcile() {
	c := w.cluster
	byShape := map[int][]*model.Pod{}
	for _, key := range c.pods.keys {
		pod := c.pods.get(key)
		byShape[pod.Shape] = append(byShape[pod.Shape], pod)
	}
	for _, one := range w.loads {
		switch one.Kind {
		case StatefulSet:
			w.ordinals(one, byShape[one.owner])
		case Job:
			w.job(one, byShape[one.owner])
		default:
			w.replicas(one, byShape[one.owner])
		}
	}
	for _, key := range c.daemons.keys {
		w.daemons(c.daemons.get(key), byShape)
	}
}

func (w *Workloads) create(one *load, name string) {
	c := w.cluster
	c.putPod("create", model.Pod{Namespace: c.shapes[one.owner].Namespace, Name: name, UID: c.uid("pod"), Shape: one.owner, CreatedUnix: c.now().Unix()})
}

// replicas keeps so many pods that are not going away. Where there are too many, those that wait go first, then any.
func (w *Workloads) replicas(one *load, pods []*model.Pod) {
	var live []*model.Pod
	for _, pod := range pods {
		if pod.DeletedUnix == 0 && !pod.Terminal() {
			live = append(live, pod)
		}
	}
	for range one.Replicas - len(live) {
		one.created++
		w.create(one, fmt.Sprintf("%s-%05d", one.Name, one.created))
	}
	excess := len(live) - one.Replicas
	if excess <= 0 {
		return
	}
	if w.rand != nil {
		w.rand.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	}
	slices.SortStableFunc(live, func(a, b *model.Pod) int { return min(len(a.NodeName), 1) - min(len(b.NodeName), 1) })
	for _, pod := range live[:excess] {
		w.cluster.deletePod("delete", *pod, nil)
	}
}

// ordinals keeps <name>-0 to <name>-<n-1>: a name is free again only when its pod is really gone.
func (w *Workloads) ordinals(one *load, pods []*model.Pod) {
	taken := map[string]bool{}
	for _, pod := range pods {
		taken[pod.Name] = true
		var ordinal int
		if _, err := fmt.Sscanf(pod.Name[len(one.Name):], "-%d", &ordinal); err == nil && ordinal >= one.Replicas && pod.DeletedUnix == 0 {
			w.cluster.deletePod("delete", *pod, nil)
		}
	}
	for i := range one.Replicas {
		if name := fmt.Sprintf("%s-%d", one.Name, i); !taken[name] {
			w.create(one, name)
		}
	}
}

// job makes as many pods as it has replicas, once, and lets those that have run long enough succeed and go.
func (w *Workloads) job(one *load, pods []*model.Pod) {
	c := w.cluster
	for ; one.created < one.Replicas; one.created++ {
		w.create(one, fmt.Sprintf("%s-%05d", one.Name, one.created))
	}
	for _, pod := range pods {
		switch {
		case pod.Terminal():
			c.dropPod(pod.Key())
		case pod.NodeName != "" && pod.Phase == model.Running:
			key, uid := pod.Key(), pod.UID
			if end := time.Unix(pod.StartedUnix, 0).Add(one.Runs); !end.After(c.now()) {
				next := *pod
				next.Phase, next.Ready = model.Succeeded, false
				c.putPod("status", next)
			} else {
				w.eventQueue.Add(end, func() {
					c.mu.Lock()
					defer c.mu.Unlock()
					w.stale = w.stale || c.pods.get(key) != nil && c.pods.get(key).UID == uid
				})
			}
		}
	}
}

// daemons keeps a pod of the set on every node that it tolerates and selects.
func (w *Workloads) daemons(set *model.DaemonSet, byShape map[int][]*model.Pod) {
	c := w.cluster
	shape := c.shapes[set.Shape]
	shape.Tolerations = append(slices.Clone(shape.Tolerations),
		model.Toleration{Key: taintNotReady, Operator: "Exists"}, model.Toleration{Key: taintUnreachable, Operator: "Exists"})
	on := map[string]bool{}
	for _, pod := range byShape[set.Shape] {
		on[pod.NodeName] = true
	}
	for _, name := range c.nodes.keys {
		node := c.nodes.get(name)
		if on[name] || node.DeletedUnix != 0 || !toleratesAll(node.Taints, &shape) || !chooses(node, &shape) {
			continue
		}
		now := c.now().Unix()
		c.putPod("create", model.Pod{
			Namespace: set.Namespace, Name: set.Name + "-" + name, UID: c.uid("pod"), Shape: set.Shape, NodeName: name, Phase: model.Running, Ready: true,
			CreatedUnix: now, StartedUnix: now,
		})
	}
}
