package world

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
)

// Kinds of objects of dynamic resource allocation.
const (
	KindResourceClaim = "ResourceClaim"
	KindClaimTemplate = "ResourceClaimTemplate"
	KindDeviceClass   = "DeviceClass"
	KindResourceSlice = "ResourceSlice"
)

// Devices are what there is of dynamic resource allocation beside kube-scheduler, which allocates: the driver on each
// node, which publishes the node's devices some time after it joined, and the controller that makes ResourceClaims for
// pods and takes them away with them. Nothing happens before Install.
type Devices struct {
	cluster *Cluster
	rand    *rand.Rand // nil where nothing is left to chance
	publish Span       // from when a node joins until its driver publishes
	late    Span       // how much longer it takes now

	eventQueue eventqueue.Queue
	at         int64             // version of the cluster it has looked at
	owed       map[string]string // nodes whose driver is yet to publish: the UID, by name
	pools      map[string]int64  // generation of what a node's driver has published, by UID of the node
}

// NewDevices returns the devices of a cluster that has no driver.
func NewDevices(cluster *Cluster, random *rand.Rand) *Devices {
	return &Devices{cluster: cluster, rand: random, owed: map[string]string{}, pools: map[string]int64{}}
}

// Install installs the driver on every node to come, with DeviceClasses and templates of claims.
func (v *Devices) Install(publish Span) {
	c := v.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	v.publish, v.at, c.taken = publish, c.version, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(deviceClassSpecs)) {
		class := model.DeviceClass{Name: name, Spec: deviceClassSpecs[name], CreatedUnix: c.now().Unix()}
		put(c, &c.deviceClasses, KindDeviceClass, name, c.uid("deviceclass"), "create", &class)
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		t := model.ResourceClaimTemplate{Namespace: "default", Name: name, Spec: claimSpec(templates[name])}
		put(c, &c.claimTemplates, KindClaimTemplate, "default/"+name, c.uid("template"), "create", &t)
	}
}

// Delay has drivers of nodes that join from now on publish so much later; the zero value is as usual.
func (v *Devices) Delay(late Span) { v.late = late }

// Restart has the driver of a node begin anew: what it published is gone, and comes again after a while.
func (v *Devices) Restart(node string, after time.Duration) {
	c := v.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.nodes.get(node); n != nil && v.pools[n.UID] > 0 {
		v.withdraw(n.UID)
		v.owe(n, c.now().Add(after))
	}
}

// Heal has every driver publish that is late.
func (v *Devices) Heal() {
	v.late = Span{}
	v.cluster.mu.Lock()
	defer v.cluster.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(v.owed)) {
		v.publishNow(name, v.owed[name])
	}
}

// Next returns when something is due.
func (v *Devices) Next() (time.Time, bool) {
	c := v.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken == nil {
		return time.Time{}, false
	}
	at, due := v.eventQueue.Next()
	if i := c.after(v.at); i < len(c.history) {
		return sooner(at, due, c.history[i].at)
	}
	return at, due
}

// Run does what is due.
func (v *Devices) Run(now time.Time) {
	c := v.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	v.reconcile()
	v.eventQueue.Run(now)
	v.reconcile()
}

// reconcile takes in what happened to nodes and pods; the caller holds the cluster's mutex, here and below.
func (v *Devices) reconcile() {
	c := v.cluster
	steps := c.history[c.after(v.at):]
	v.at = c.version
	for _, step := range steps {
		switch step.kind {
		case KindNode:
			before, _ := step.before.(*model.Node)
			after, _ := step.after.(*model.Node)
			if before != nil && (after == nil || after.UID != before.UID) {
				v.eventQueue.Add(step.at.Add(time.Second), func() { v.withdraw(before.UID) })
			}
			if after != nil && (before == nil || after.UID != before.UID) {
				v.owe(after, step.at.Add(v.publish.draw(v.rand)+v.late.draw(v.rand)))
			}
		case KindPod:
			before, _ := step.before.(*model.Pod)
			after, _ := step.after.(*model.Pod)
			if before == nil && after != nil && len(c.shapes[after.Shape].DeviceClaims) > 0 {
				v.eventQueue.Add(step.at.Add(Span{Max: 2 * time.Second}.draw(v.rand)), func() { v.makeClaims(after) })
			}
			if before != nil && !before.Terminal() && (after == nil || after.Terminal()) {
				v.eventQueue.Add(step.at.Add(time.Second), func() { v.dropClaims(before) })
			}
		}
	}
}

// owe has the driver of a node publish at a time, where the node has devices.
func (v *Devices) owe(node *model.Node, at time.Time) {
	if DevicesOf(node.Labels[model.LabelInstanceType]) == nil {
		return
	}
	name, uid := node.Name, node.UID
	v.owed[name] = uid
	v.eventQueue.Add(at, func() { v.publishNow(name, uid) })
}

// publishNow publishes a node's devices: where it has several, in two slices, one a little after the other.
func (v *Devices) publishNow(name, uid string) {
	c := v.cluster
	node := c.nodes.get(name)
	if v.owed[name] != uid {
		return
	}
	delete(v.owed, name)
	if node == nil || node.UID != uid {
		return
	}
	v.pools[uid]++
	generation, devices := v.pools[uid], DevicesOf(node.Labels[model.LabelInstanceType])
	publish := func(slice string, some []Device, of int) {
		r := model.ResourceSlice{Name: uid + "-" + slice, Driver: DeviceDriver, Node: name,
			Spec: sliceSpec(name, generation, of, some)}
		put(c, &c.slices, KindResourceSlice, r.Name, r.Name, "create", &r)
	}
	half := len(devices) / 2
	if half == 0 {
		publish("a", devices, 1)
		return
	}
	publish("a", devices[:half], 2)
	v.eventQueue.Add(c.now().Add(time.Second), func() {
		if n := c.nodes.get(name); n != nil && n.UID == uid && v.pools[uid] == generation && v.owed[name] == "" {
			publish("b", devices[half:], 2)
		}
	})
}

// withdraw takes away what the driver of a node published.
func (v *Devices) withdraw(uid string) {
	c := v.cluster
	for _, name := range []string{uid + "-a", uid + "-b"} {
		if c.slices.get(name) != nil {
			drop(c, &c.slices, KindResourceSlice, name, name)
		}
	}
}

// makeClaims makes what a pod's templates ask for.
func (v *Devices) makeClaims(pod *model.Pod) {
	c := v.cluster
	if now := c.pods.get(pod.Key()); now == nil || now.UID != pod.UID {
		return
	}
	for _, entry := range c.shapes[pod.Shape].DeviceClaims {
		name := pod.Name + "-" + entry.Name
		if c.deviceClaims.get(pod.Namespace+"/"+name) == nil { // else it is made once the old one is gone
			put(c, &c.deviceClaims, KindResourceClaim, pod.Namespace+"/"+name, pod.UID+"-"+entry.Name, "create",
				&model.ResourceClaim{Namespace: pod.Namespace, Name: name, UID: pod.UID + "-" + entry.Name,
					PodUID: pod.UID, PodClaim: entry.Name, Spec: claimSpec(templates[entry.Template])})
			continue
		}
		v.eventQueue.Add(c.now().Add(time.Second), func() { v.makeClaims(pod) })
	}
}

// dropClaims takes the claims of a pod away that has ended, and what was allocated for them.
func (v *Devices) dropClaims(pod *model.Pod) {
	c := v.cluster
	for _, key := range slices.Clone(c.deviceClaims.keys) {
		claim := c.deviceClaims.get(key)
		if claim.PodUID != pod.UID {
			continue
		}
		drop(c, &c.deviceClaims, KindResourceClaim, key, claim.UID)
		maps.DeleteFunc(c.taken, func(_, by string) bool { return by == claim.UID })
	}
}

// claimed reports whether what a pod's claims are made for is there, so that kube-scheduler looks at it.
func claimed(c *Cluster, pod *model.Pod) bool {
	return !slices.ContainsFunc(c.shapes[pod.Shape].DeviceClaims, func(entry model.PodClaim) bool {
		claim := c.deviceClaims.get(pod.Namespace + "/" + pod.Name + "-" + entry.Name)
		return c.taken != nil && (claim == nil || claim.PodUID != pod.UID)
	})
}

// published returns the devices of a node that its driver has published, all of the pool or none.
func published(c *Cluster, node *model.Node) []Device {
	all := DevicesOf(node.Labels[model.LabelInstanceType])
	if c.slices.get(node.UID+"-a") == nil || len(all) > 1 && c.slices.get(node.UID+"-b") == nil {
		return nil
	}
	return all
}

// allot returns the devices of a node that kube-scheduler would allocate for a pod; false where they do not suffice.
func allot(c *Cluster, node *model.Node, needs []DeviceNeed) ([]string, bool) {
	if c.taken == nil || len(needs) == 0 {
		return nil, true
	}
	return Allot(published(c, node), func(name string) bool { return c.taken[node.Name+"/"+name] != "" }, needs)
}

// allocate has kube-scheduler allocate devices of a node for a pod that it binds there: for the claims of the pod, and
// for one that it makes where an extended resource stands for devices.
func allocate(c *Cluster, pod *model.Pod, node string) {
	shape := &c.shapes[pod.Shape]
	names, _ := allot(c, c.nodes.get(node), NeedsOf(shape))
	give := func(claim model.ResourceClaim, verb string, needs []DeviceNeed) {
		n := 0
		for _, need := range needs {
			n += need.Count
		}
		for _, name := range names[:n] {
			c.taken[node+"/"+name] = claim.UID
		}
		claim.Allocation, claim.ReservedFor = allocationOf(node, needs, names[:n]), []string{pod.UID}
		claim.Affinity = []model.NodeTerm{{Fields: []model.Requirement{
			{Key: "metadata.name", Operator: model.In, Values: []string{node}}}}}
		names = names[n:]
		put(c, &c.deviceClaims, KindResourceClaim, claim.Namespace+"/"+claim.Name, claim.UID, verb, &claim)
	}
	if len(names) == 0 {
		return
	}
	for _, entry := range shape.DeviceClaims {
		claim := c.deviceClaims.get(pod.Namespace + "/" + pod.Name + "-" + entry.Name)
		give(*claim, "status", templates[entry.Template])
	}
	if needs := extendedNeeds(shape); needs != nil {
		give(model.ResourceClaim{Namespace: pod.Namespace, Name: pod.Name + "-extended-resources", PodUID: pod.UID,
			UID: pod.UID + "-extended-resources", Spec: claimSpec(needs)}, "create", needs)
	}
}

// withoutGPUs returns resources without those that stand for devices.
func withoutGPUs(c *Cluster, r model.Resources) model.Resources {
	if c.taken == nil || r[GPUResource] == 0 {
		return r
	}
	out := maps.Clone(r)
	delete(out, GPUResource)
	return out
}
