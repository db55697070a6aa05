package group

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/device"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Most returns how many units of the pod group a new node takes at most; 0 = as many as fit.
func (c *PodGroup) Most() int64 {
	most := int64(0)
	for _, u := range c.Constraints {
		if u.Self == 0 || !u.ByHost {
			continue
		}
		bound := int64(1)
		if u.Kind == Spread {
			bound = max(1, int64(u.MaxSkew/u.Self))
		}
		if u.Kind != Affinity && (most == 0 || bound < most) {
			most = bound
		}
	}
	if c.SoftMost > 0 && (most == 0 || c.SoftMost < most) {
		most = c.SoftMost
	}
	if len(c.Ports) > 0 {
		most = 1
	}
	return most
}

// Widen takes the preferences out of what new nodes for the pod group must be; false where there are none in it.
func (c *PodGroup) Widen() bool {
	if c.Wider == "" {
		return false
	}
	c.Terms, c.Venue, c.Wider, c.Shut = c.Needs, c.Wider, "", nil
	return true
}

// DimensionsOf returns the resources that any pod group or daemon asks for.
func DimensionsOf(snapshot *model.Snapshot, podGroups []*PodGroup) vector.Dimensions {
	all := map[string]bool{model.CPU: true, model.Memory: true, model.Pods: true}
	for _, c := range podGroups {
		for name := range c.Resources { // sorted below
			all[name] = true
		}
	}
	for i := range snapshot.DaemonSets {
		if shape := snapshot.DaemonSets[i].Shape; shape >= 0 && shape < len(snapshot.Shapes) {
			for name := range snapshot.Shapes[shape].Requests { // sorted below
				all[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// PodGroup is a set of pending pods that scheduling cannot tell apart. Work is done once per pod group and not per pod.
type PodGroup struct {
	Order     int    // of its first pod among all
	Venue     string // says where its new nodes may be: pod groups of one venue share the search
	Wider     string // venue without its preferences for nodes; empty where none is kept
	Resources model.Resources
	Request   vector.Vector
	Priority  int32

	Own         []requirement.Requirements // what the pod says of a new node: any one must hold; never empty
	OwnThere    []requirement.Requirements // what it says of one that exists, whose name it may ask for
	Terms       []requirement.Requirements // own together with where its volumes may be
	Needs       []requirement.Requirements // terms without what it would merely rather have
	There       []requirement.Requirements // the same on a node that exists, where volumes are more particular
	Readings    *offerings.Readings        // of there
	VolumeTerms []requirement.Requirements // what its volumes say of a node that exists; nil = nothing
	Preferred   []requirement.Requirements // what it would rather have, heaviest first
	Tolerations [][]model.Toleration       // of each pod of a unit; all must tolerate
	Selector    map[string]string          // as written: reasons name it
	Ports       []model.HostPort
	Attaches    bool // has volumes with an attach limit: its pods are looked at one by one

	Claiming    bool                       // claims devices: its pods are looked at one by one
	Devices     []*device.Claims           // by pod of a unit: what is to be allocated; nil = nothing
	DeviceTerms []requirement.Requirements // what its devices say of a node that exists; nil = nothing
	Suitable    []string                   // instance types whose devices suffice for a unit; nil = any

	Settled       bool         // its pods run well where they are: churning existing nodes take none of them
	Conflicts     []int        // DaemonSets whose pods cannot be beside it
	Constraints   []Constraint // hard rules
	Soft          []Constraint
	Contributions []Contribution
	Keys          []string // node labels other than the hostname that its place is counted by
	Hosts         bool     // any constraint or contribution by host
	SoftMost      int64    // units its preferences want on one node at most; 0 = any number

	Pods        []int         // indexes into the snapshot's pods, by key, then UID; a unit's pods follow each other
	Stride      int           // pods in a unit: those that must share a node are placed together
	Unplaceable *model.Reason // why its volumes let no new node do
	Blocked     *model.Reason // the rule between pods that kept the last pod off
	Shut        [][]string    // domains, by keys, in which limits leave no new node for it; while pods are placed
}

// Units returns how many things there are to place.
func (c *PodGroup) Units() int { return len(c.Pods) / c.Stride }

// TakeUnits removes the first n units and returns their pods.
func (c *PodGroup) TakeUnits(n int) []int {
	taken := c.Pods[:n*c.Stride]
	c.Pods = c.Pods[n*c.Stride:]
	return taken
}

// Plain reports whether no rule between pods, port or volume is about the pod group.
func (c *PodGroup) Plain() bool {
	return len(c.Constraints) == 0 && len(c.Contributions) == 0 && len(c.Soft) == 0 && len(c.Ports) == 0 &&
		!c.Attaches && !c.Claiming
}

// Exclusive reports whether no two units of the pod group may share a node.
func (c *PodGroup) Exclusive() bool {
	return len(c.Ports) > 0 || slices.ContainsFunc(c.Constraints, func(u Constraint) bool { return u.ByHost && u.Self > 0 && u.Kind == AntiAffinity })
}

// NeedsHost reports whether the pod group needs some pod on its own node.
func (c *PodGroup) NeedsHost() bool {
	return slices.ContainsFunc(c.Constraints, func(u Constraint) bool { return u.Kind == Affinity && u.ByHost })
}

// Untolerated reports how the pod group takes the taints.
func (c *PodGroup) Untolerated(taints []model.Taint) (hard *model.Taint, soft bool) {
	if len(taints) == 0 {
		return nil, false
	}
	for _, list := range c.Tolerations {
		h, s := terms.Untolerated(list, taints)
		if hard == nil {
			hard = h
		}
		soft = soft || s
	}
	return hard, soft
}

func (c *PodGroup) findHosts(rules *PodRules) {
	for _, u := range c.Soft {
		if u.ByHost && u.Self > 0 && u.Kind != Affinity && rules.hostPreferences {
			bound := int64(1)
			if u.Kind == Spread {
				bound = int64(u.MaxSkew)
			}
			if c.SoftMost == 0 || bound < c.SoftMost {
				c.SoftMost = bound
			}
		}
	}
	for _, u := range c.Constraints {
		c.Hosts = c.Hosts || rules.TopologyGroups[u.TopologyGroup].Host
	}
	for _, a := range c.Contributions {
		c.Hosts = c.Hosts || rules.TopologyGroups[a.TopologyGroup].Host
	}
	c.Hosts = c.Hosts || len(c.Ports) > 0
}

// Waits reports whether pods of the pod group can only start beside others.
func (c *PodGroup) Waits() bool {
	return slices.ContainsFunc(c.Constraints, func(u Constraint) bool { return u.Kind == Affinity && !u.Claim })
}

// Follows reports whether pods of the pod group wait for those the topology group counts.
func (c *PodGroup) Follows(topologyGroup int) bool {
	return slices.ContainsFunc(c.Constraints, func(u Constraint) bool { return u.Kind == Affinity && u.TopologyGroup == topologyGroup })
}
