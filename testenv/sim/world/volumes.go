package world

import (
	"math/rand/v2"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
)

// KindVolume is the kind of VolumeAttachments.
const KindVolume = "VolumeAttachment"

// VolumeAttachment is a volume that is attached to a node.
type VolumeAttachment struct {
	model.Attachment
	Node string
}

// Volumes are the attach-detach controller and what does its bidding: a volume is attached when its pod is bound, and
// detached some time after the last pod that used it on the node is gone. Each pod of a shape named to Store has one of
// its own; a pod of the same name has the same.
type Volumes struct {
	cluster *Cluster
	rand    *rand.Rand // nil where nothing is left to chance
	detach  Span

	eventQueue eventqueue.Queue
	at         int64 // version of the cluster it has looked at
}

// NewVolumes returns the controller. Volumes detach within a span.
func NewVolumes(cluster *Cluster, random *rand.Rand, detach Span) *Volumes {
	return &Volumes{cluster: cluster, rand: random, detach: detach}
}

// SetDetach changes how long volumes take to detach from now on.
func (v *Volumes) SetDetach(d Span) {
	v.cluster.mu.Lock()
	defer v.cluster.mu.Unlock()
	v.detach = d
}

// Store gives every pod of a shape that is made from now on a volume.
func (c *Cluster) Store(shape model.PodShape) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storage[c.intern(shape)] = true
}

// volumesOf returns the names of a pod's volumes.
func (c *Cluster) volumesOf(pod *model.Pod) []string {
	if !c.storage[pod.Shape] {
		return nil
	}
	return []string{"pv-" + pod.Namespace + "-" + pod.Name}
}

// Attachments returns the volumes that are attached anywhere, by name.
func (c *Cluster) Attachments() []VolumeAttachment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attached.all()
}

// Next returns when something is due.
func (v *Volumes) Next() (time.Time, bool) {
	c := v.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	at, due := v.eventQueue.Next()
	if len(c.storage) == 0 {
		v.at = c.version
	}
	if i := c.after(v.at); i < len(c.history) {
		return sooner(at, due, c.history[i].at)
	}
	return at, due
}

// Run does what is due.
func (v *Volumes) Run(now time.Time) {
	v.reconcile()
	v.eventQueue.Run(now)
	v.reconcile()
}

// reconcile takes in which pods came and went.
func (v *Volumes) reconcile() {
	c := v.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	steps := c.history[c.after(v.at):]
	v.at = c.version
	for _, step := range steps {
		if step.kind != KindPod {
			continue
		}
		before, _ := step.before.(*model.Pod)
		after, _ := step.after.(*model.Pod)
		switch {
		case after != nil && after.NodeName != "" && !after.Terminal() && (before == nil || before.NodeName == ""):
			for _, volume := range c.volumesOf(after) {
				v.attach(volume, after.NodeName)
			}
		case before != nil && before.NodeName != "" && (after == nil || after.Terminal()):
			for _, volume := range c.volumesOf(before) {
				v.release(volume, before.NodeName)
			}
		}
	}
	v.at = c.version
}

func (v *Volumes) attach(volume, node string) {
	name := "csi-" + volume + "-" + node
	put(v.cluster, &v.cluster.attached, KindVolume, name, name, "create", &VolumeAttachment{model.Attachment{Name: name, Volume: volume, Attached: true}, node})
}

// release begins to detach a volume that no pod on the node uses any more.
func (v *Volumes) release(volume, node string) {
	c := v.cluster
	name := "csi-" + volume + "-" + node
	before := c.attached.get(name)
	if before == nil || v.used(volume, node) {
		return
	}
	next := *before
	next.DeletedUnix = c.now().Unix()
	put(c, &c.attached, KindVolume, name, name, "delete", &next)
	v.eventQueue.Add(c.now().Add(v.detach.draw(v.rand)), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.attached.get(name) == &next {
			drop(c, &c.attached, KindVolume, name, name)
		}
	})
}

// used reports whether a pod on the node uses a volume.
func (v *Volumes) used(volume, node string) bool {
	c := v.cluster
	for _, key := range c.pods.keys {
		pod := c.pods.get(key)
		if pod.NodeName != node || pod.Terminal() {
			continue
		}
		for _, name := range c.volumesOf(pod) {
			if name == volume {
				return true
			}
		}
	}
	return false
}
