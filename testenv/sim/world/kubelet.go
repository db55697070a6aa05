package world

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
)

// KubeletOptions say how instances become nodes and stop being some. The zero value of a time means the one named with
// it; probabilities are 0 unless set.
type KubeletOptions struct {
	BootMin, BootMax time.Duration // from launch until the node joins: 20 s and 20 s
	Ready            time.Duration // from then until it is ready: 5 s
	NeverJoins       float64       // probability that an instance never joins
	JoinsLate        float64       // probability that it joins only after LateAfter
	LateAfter        time.Duration // 16 min
	NotReadyAfter    time.Duration // silence after which the node is NotReady: 40 s, node-monitor-grace-period
	EvictAfter       time.Duration // from then until its pods are deleted: 300 s, the default toleration
	NodeGoneMin      time.Duration // from an instance's end until the cloud controller removes its Node: 5 s
	NodeGoneMax      time.Duration // and at most: 40 s
	PodGoneAfter     time.Duration // from a Node's end until pod garbage collection removes its pods: 20 s
	Rejoins          bool          // a Node that is deleted while its instance lives is made anew
	HostNames        int           // how many private host names there are to share; 0 = one for each instance
}

func (o KubeletOptions) withDefaults() KubeletOptions {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.BootMin, 20*time.Second)
	set(&o.BootMax, o.BootMin)
	set(&o.Ready, 5*time.Second)
	set(&o.LateAfter, 16*time.Minute)
	set(&o.NotReadyAfter, 40*time.Second)
	set(&o.EvictAfter, 300*time.Second)
	set(&o.NodeGoneMin, 5*time.Second)
	set(&o.NodeGoneMax, 40*time.Second)
	set(&o.PodGoneAfter, 20*time.Second)
	return o
}

// Kubelets are the instances of a cluster as Kubernetes sees them: they boot, join, become ready, run and end pods, fall
// silent and end; with the controllers that watch over nodes (node life cycle, cloud provider, pod garbage collection).
type Kubelets struct {
	cluster *Cluster
	options KubeletOptions
	rand    *rand.Rand // nil where nothing is left to chance
	room    func(instanceType string) (capacity, allocatable model.Resources)

	kubelets   map[string]*kubelet // by instance id
	eventQueue eventqueue.Queue
	spoil      Spoil // how nodes come up
	deaf       bool  // no instance that is launched now ever joins
	hangs      float64
	hang       Span  // how much longer than its grace a pod takes to end, with that probability
	at         int64 // version of the cluster it has looked at
	started    int
}

// kubelet is one instance.
type kubelet struct {
	instance model.Instance
	userData []byte
	name     string // host name
	ended    bool
	silent   bool
	spell    int  // of silence, to tell an old event from one of now
	joined   bool // its Node is there
	stuck    bool // it boots late, or never
	spoilt   *spoilt
}

// NewKubelets returns the kubelets of a cluster that has no instance yet. room tells what a type has, and what of it for pods.
func NewKubelets(
	cluster *Cluster, options KubeletOptions, random *rand.Rand, room func(instanceType string) (capacity, allocatable model.Resources),
) *Kubelets {
	return &Kubelets{cluster: cluster, options: options.withDefaults(), rand: random, room: room, kubelets: map[string]*kubelet{}}
}

func (k *Kubelets) chance(p float64) bool { return p > 0 && k.rand.Float64() < p }

func (k *Kubelets) between(low, high time.Duration) time.Duration {
	if high <= low || k.rand == nil {
		return low
	}
	return low + time.Duration(k.rand.Int64N(int64(high-low)))
}

// Start lets an instance boot that was launched at the given time.
func (k *Kubelets) Start(instance model.Instance, userData []byte, at time.Time) {
	host := strings.Replace(instance.ID, "i-", "ip-", 1) + ".world.internal"
	if k.options.HostNames > 0 {
		host = "ip-10-0-0-" + string(rune('a'+k.started%k.options.HostNames)) + ".world.internal"
	}
	k.started++
	one := &kubelet{instance: instance, userData: userData, name: host}
	k.kubelets[instance.ID] = one
	boot := k.between(k.options.BootMin, k.options.BootMax)
	switch {
	case k.deaf, k.chance(k.options.NeverJoins):
		one.stuck = true
		return
	case k.chance(k.options.JoinsLate):
		one.stuck = true
		boot = k.options.LateAfter
	}
	k.eventQueue.Add(at.Add(boot), func() { k.join(one) })
}

// End takes an instance away at once: its kubelet says nothing any more, and the cloud controller removes its Node.
func (k *Kubelets) End(id string) {
	one := k.kubelets[id]
	if one == nil || one.ended {
		return
	}
	one.ended = true
	now := k.cluster.now()
	k.eventQueue.Add(now.Add(k.between(k.options.NodeGoneMin, k.options.NodeGoneMax)), func() {
		k.cluster.mu.Lock()
		defer k.cluster.mu.Unlock()
		if node := k.cluster.nodes.get(one.name); one.owns(node) {
			k.cluster.finish(KindNode, node.Name)
		}
		delete(k.kubelets, id)
	})
	k.hush(one)
}

// Silence lets a kubelet say nothing any more though its instance lives on.
func (k *Kubelets) Silence(id string) {
	if one := k.kubelets[id]; one != nil && !one.silent {
		k.hush(one)
	}
}

func (k *Kubelets) hush(one *kubelet) {
	one.silent = true
	one.spell++
	spell := one.spell
	k.eventQueue.Add(k.cluster.now().Add(k.options.NotReadyAfter), func() {
		if one.silent && one.spell == spell {
			k.lost(one, spell)
		}
	})
}

// Resume lets a silent kubelet speak again.
func (k *Kubelets) Resume(id string) {
	one := k.kubelets[id]
	if one == nil || !one.silent || one.ended {
		return
	}
	one.silent = false
	one.spell++
	if one.joined {
		k.becomeReady(one)
	}
}

// Heal lets every instance that boots from now on join in time and every kubelet speak. It returns the instances, by id,
// that are still to join late or never.
func (k *Kubelets) Heal() []string {
	k.options.NeverJoins, k.options.JoinsLate = 0, 0
	k.deaf, k.hangs = false, 0
	k.Unspoil()
	var stuck []string
	for _, id := range k.ids() {
		k.Resume(id)
		if one := k.kubelets[id]; one.stuck && !one.joined && !one.ended {
			stuck = append(stuck, id)
		}
	}
	return stuck
}

// Alive returns the ids of instances whose kubelets have joined and speak, sorted.
func (k *Kubelets) Alive() []string {
	var out []string
	for id, one := range k.kubelets {
		if one.joined && !one.silent && !one.ended {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// Next returns when something is due.
func (k *Kubelets) Next() (time.Time, bool) {
	c := k.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	at, due := k.eventQueue.Next()
	if i := c.after(k.at); i < len(c.history) {
		return sooner(at, due, c.history[i].at)
	}
	return at, due
}

// Run does what is due.
func (k *Kubelets) Run(now time.Time) {
	k.reconcile()
	k.eventQueue.Run(now)
	k.reconcile()
}

// reconcile takes in what happened to pods and nodes: deleted pods end within their grace, nodes that are deleted are made anew
// where kubelets do so, and pods of nodes that are gone are collected.
func (k *Kubelets) reconcile() {
	c := k.cluster
	c.mu.Lock()
	steps := c.history[c.after(k.at):]
	k.at = c.version
	c.mu.Unlock()
	for _, step := range steps {
		switch after := step.after.(type) {
		case *model.Pod:
			if after.DeletedUnix != 0 {
				k.ending(*after, step.at)
			}
		case *model.Node:
			if before, ok := step.before.(*model.Node); !ok || before.UID != after.UID {
				k.nodeMade(after.ProviderID, step.at)
			}
		case nil:
			if node, ok := step.before.(*model.Node); ok {
				k.nodeGone(*node, step.at)
			}
		}
	}
}

// ending lets the kubelet end a pod some time within its grace.
func (k *Kubelets) ending(pod model.Pod, at time.Time) {
	until := max(time.Unix(pod.DeletedUnix, 0).Sub(at), 0)
	ends := k.between(min(time.Second, until), until)
	if k.chance(k.hangs) {
		ends = until + k.between(k.hang.Min, k.hang.Max)
	}
	k.eventQueue.Add(at.Add(ends), func() {
		c := k.cluster
		c.mu.Lock()
		defer c.mu.Unlock()
		stored := c.pods.get(pod.Key())
		if stored == nil || stored.UID != pod.UID || !k.speaks(stored.NodeName) {
			return // a dead node's pod goes with its Node
		}
		c.dropPod(pod.Key())
	})
}

// nodeMade lets the kubelet of a new Node report that it is ready, some time later.
func (k *Kubelets) nodeMade(provider string, at time.Time) {
	for _, one := range k.kubelets {
		if one.instance.ProviderID() == provider {
			k.eventQueue.Add(at.Add(k.options.Ready), func() {
				if !one.silent && !one.ended {
					k.becomeReady(one)
				}
			})
		}
	}
}

// owns reports whether a Node is the kubelet's.
func (one *kubelet) owns(node *model.Node) bool {
	return node != nil && node.ProviderID == one.instance.ProviderID()
}

// speaks reports whether there is a kubelet on the node to end a pod. A Node that was put there by hand has one.
func (k *Kubelets) speaks(name string) bool {
	node := k.cluster.nodes.get(name)
	for _, one := range k.kubelets {
		if one.owns(node) {
			return !one.silent
		}
	}
	return node != nil
}

func (k *Kubelets) nodeGone(node model.Node, at time.Time) {
	k.eventQueue.Add(at.Add(k.options.PodGoneAfter), func() {
		c := k.cluster
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.nodes.get(node.Name) != nil {
			return
		}
		for _, key := range slices.Clone(c.pods.keys) {
			if pod := c.pods.get(key); pod.NodeName == node.Name {
				c.dropPod(key)
			}
		}
	})
	for _, id := range k.ids() {
		one := k.kubelets[id]
		if one.ended || !one.joined || node.ProviderID != one.instance.ProviderID() {
			continue
		}
		one.joined = false
		if k.options.Rejoins && !one.silent {
			k.eventQueue.Add(at.Add(10*time.Second), func() { k.join(one) })
		}
	}
}

func (k *Kubelets) ids() []string {
	out := make([]string, 0, len(k.kubelets))
	for id := range k.kubelets {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// join makes the Node a kubelet and the cloud provider would make. Where a Node of the host's name is still there from
// another machine, the kubelet takes it for its own, provider id and all, until somebody removes it.
func (k *Kubelets) join(one *kubelet) {
	c := k.cluster
	if one.ended || one.silent || one.joined {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.nodes.get(one.name) != nil {
		k.eventQueue.Add(c.now().Add(10*time.Second), func() { k.join(one) })
		return
	}
	t, _ := catalog.Lookup(one.instance.Type)
	labels := map[string]string{
		model.LabelHostname: one.name, model.LabelInstanceType: one.instance.Type, model.LabelZone: one.instance.Zone, model.LabelRegion: catalog.Region,
		model.LabelArch: goArch(t.Architecture), model.LabelOS: "linux",
	}
	ordered, taints := nodeConfig(one.userData)
	capacity, allocatable := k.room(one.instance.Type)
	capacity, allocatable = withoutGPUs(c, capacity), withoutGPUs(c, allocatable)
	c.putNode(model.Node{
		Name: one.name, ProviderID: one.instance.ProviderID(), Labels: union(labels, ordered), Capacity: capacity, Allocatable: allocatable,
		Taints:     append(taints, model.Taint{Key: taintNotReady, Effect: model.NoSchedule}),
		Conditions: []model.NodeCondition{{Type: conditionReady, Status: "False", SinceUnix: c.now().Unix()}},
	})
	one.joined = true
	k.spoilNode(one)
}

// Deafen has no instance join that is launched from now on, or every one again.
func (k *Kubelets) Deafen(deaf bool) { k.deaf = deaf }

// Hang has pods that are deleted from now on take so much longer than their grace to end, with that probability.
func (k *Kubelets) Hang(probability float64, longer Span) { k.hangs, k.hang = probability, longer }

// The taints of the node life cycle controller.
const (
	taintNotReady    = "node.kubernetes.io/not-ready"
	taintUnreachable = "node.kubernetes.io/unreachable"
)

const conditionReady = "Ready"

// without returns the conditions that are not of a type.
func without(conditions []model.NodeCondition, of string) []model.NodeCondition {
	return slices.DeleteFunc(slices.Clone(conditions), func(c model.NodeCondition) bool { return c.Type == of })
}

// Report has a node show a condition that is not as on a healthy one, or, with an empty status, show it no more.
func (k *Kubelets) Report(name, condition, status string) {
	c := k.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changeNode(name, "status", func(node *model.Node) {
		if node.Conditions = without(node.Conditions, condition); status != "" {
			node.Conditions = append(node.Conditions, model.NodeCondition{Type: condition, Status: status, SinceUnix: c.now().Unix()})
		}
	})
}

func (k *Kubelets) becomeReady(one *kubelet) {
	c := k.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if node := c.nodes.get(one.name); !one.owns(node) || node.Ready {
		return
	}
	c.changeNode(one.name, "status", func(node *model.Node) {
		node.Ready, node.ReadyUnix, node.Conditions = true, c.now().Unix(), without(node.Conditions, conditionReady)
		node.Taints = slices.DeleteFunc(slices.Clone(node.Taints), func(t model.Taint) bool { return t.Key == taintNotReady || t.Key == taintUnreachable })
	})
	c.setPodsReady(one.name, true)
}

// lost is the node life cycle controller: a node that says nothing is NotReady, and its pods are deleted in the end.
func (k *Kubelets) lost(one *kubelet, spell int) {
	c := k.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if node := c.nodes.get(one.name); !one.owns(node) {
		return
	}
	c.changeNode(one.name, "status", func(node *model.Node) {
		node.Ready, node.ReadyUnix = false, c.now().Unix()
		node.Conditions = append(without(node.Conditions, conditionReady), model.NodeCondition{Type: conditionReady, Status: "Unknown", SinceUnix: node.ReadyUnix})
		node.Taints = append(slices.Clone(node.Taints),
			model.Taint{Key: taintUnreachable, Effect: model.NoSchedule}, model.Taint{Key: taintUnreachable, Effect: model.NoExecute})
	})
	c.setPodsReady(one.name, false)
	k.eventQueue.Add(c.now().Add(k.options.EvictAfter), func() {
		if one.silent && one.spell == spell {
			k.evictAll(one.name)
		}
	})
}

// evictAll deletes the pods of a node that has been unreachable for too long; they stay until their node speaks or goes.
func (k *Kubelets) evictAll(name string) {
	c := k.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range slices.Clone(c.pods.keys) {
		pod := c.pods.get(key)
		shape := &c.shapes[pod.Shape]
		taint := model.Taint{Key: taintUnreachable, Effect: model.NoExecute}
		if pod.NodeName == name && pod.DeletedUnix == 0 && !toleratesAll([]model.Taint{taint}, shape) && shape.OwnerKind != KindDaemons {
			c.deletePod("delete", *pod, nil)
		}
	}
}

func (c *Cluster) setPodsReady(node string, ready bool) {
	for _, key := range c.pods.keys {
		if pod := c.pods.get(key); pod.NodeName == node && pod.Ready != ready && !pod.Terminal() {
			next := *pod
			next.Ready = ready
			c.putPod("status", next)
		}
	}
}

// sooner returns the earlier of two times, the first of which may not be there.
func sooner(a time.Time, hasA bool, b time.Time) (time.Time, bool) {
	if !hasA || b.Before(a) {
		return b, true
	}
	return a, true
}
