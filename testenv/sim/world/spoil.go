package world

import (
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// Spoil is how nodes come up otherwise than anybody who launches them could know: a second after a node joined somebody has put a taint
// on it, taken a label off, or runs something there that every node runs. The zero value is not at all.
type Spoil struct {
	Taint  *model.Taint
	Label  string          // key
	Daemon *model.PodShape // owned by DaemonSet or Node
	For    time.Duration   // after which the taint is taken off again; 0 = it stays
}

// Spoil has nodes come up spoilt from now on.
func (k *Kubelets) Spoil(s Spoil) { k.spoil = s }

// spoilt is what a node was spoilt by.
type spoilt struct {
	Spoil
	value string // of the label
	pod   string
}

// spoilNode spoils a node that has just joined.
func (k *Kubelets) spoilNode(one *kubelet) {
	s := k.spoil
	if s.Taint == nil && s.Label == "" && s.Daemon == nil {
		return
	}
	now := k.cluster.now()
	k.eventQueue.Add(now.Add(time.Second), func() { k.spoilNow(one, s) })
	if s.For > 0 {
		k.eventQueue.Add(now.Add(time.Second+s.For), func() { k.unspoil(one) })
	}
}

func (k *Kubelets) spoilNow(one *kubelet, s Spoil) {
	c := k.cluster
	c.mu.Lock()
	if node := c.nodes.get(one.name); !one.owns(node) || one.spoilt != nil {
		c.mu.Unlock()
		return
	}
	did := &spoilt{Spoil: s}
	c.changeNode(one.name, "update", func(node *model.Node) {
		if s.Taint != nil {
			node.Taints = append(slices.Clone(node.Taints), *s.Taint)
		}
		if s.Label != "" {
			labels := union(node.Labels, nil)
			did.value = labels[s.Label]
			delete(labels, s.Label)
			node.Labels = labels
		}
	})
	c.mu.Unlock()
	if s.Daemon != nil {
		did.pod = fmt.Sprintf("eats-%s", one.instance.ID)
		c.CreatePodOn(did.pod, one.name, *s.Daemon)
	}
	one.spoilt = did
}

// Unspoil mends every node that came up spoilt, and lets those to come be as they should.
func (k *Kubelets) Unspoil() {
	k.spoil = Spoil{}
	for _, id := range k.ids() {
		k.unspoil(k.kubelets[id])
	}
}

func (k *Kubelets) unspoil(one *kubelet) {
	s, c := one.spoilt, k.cluster
	if s == nil {
		return
	}
	one.spoilt = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.pod != "" {
		c.dropPod("default/" + s.pod)
	}
	if node := c.nodes.get(one.name); !one.owns(node) {
		return
	}
	c.changeNode(one.name, "update", func(node *model.Node) {
		if s.Taint != nil {
			node.Taints = slices.DeleteFunc(slices.Clone(node.Taints), func(t model.Taint) bool { return t == *s.Taint })
		}
		if s.Label != "" {
			node.Labels = union(node.Labels, map[string]string{s.Label: s.value})
		}
	})
}
