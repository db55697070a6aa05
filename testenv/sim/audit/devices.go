package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Devices holds the rules about devices that pods claim:
//
//	E1  no device is allocated twice
//	E2  every instance type that a launch or a replacement may get has the devices of the pods it is for
//	E3  where nodes are consolidated, the pods on them that hold devices find some elsewhere
//	E4  a claim for pods with devices is initialized once a driver has published, or a quarter of an hour after its node
//	    joined
type Devices struct {
	now       time.Time
	disturbed time.Time // when something was made to go wrong last
	pods      map[string]*devicePod
	nodes     map[string]*model.Node
	claims    map[string]*model.Claim
	launches  map[string][]string // instance types that a launch may get, by intent
	sliceOf   map[string]string   // the node, by name of the slice
	holders   map[string]string   // UID of the ResourceClaim that holds a device, by node/device
	users     map[string]string   // UID of the pod, by that of the ResourceClaim
	found     []Violation
	seq       int64
}

// devicePod is a pod that claims devices.
type devicePod struct {
	*model.Pod
	needs   []world.DeviceNeed
	boundAt time.Time
}

// NewDevices returns an auditor that has seen nothing.
func NewDevices() *Devices {
	return &Devices{pods: map[string]*devicePod{}, nodes: map[string]*model.Node{}, claims: map[string]*model.Claim{},
		launches: map[string][]string{}, sliceOf: map[string]string{},
		holders: map[string]string{}, users: map[string]string{}}
}

// Check takes in what happened, and holds E1 to E4.
func (v *Devices) Check(entries []world.Entry) []Violation {
	v.found = nil
	for _, e := range entries {
		v.now, v.seq = e.At, e.Seq
		switch fact := e.Fact.(type) {
		case world.FaultInjected:
			v.disturbed = e.At
		case world.ObjectWritten:
			v.object(fact)
		case world.LedgerWritten:
			v.written(fact)
		}
	}
	return v.found
}

// Quiet holds nothing more: that pods are bound in the end is C3.
func (v *Devices) Quiet(time.Time) []Violation { return nil }

func (v *Devices) broken(rule, object, format string, args ...any) {
	v.found = append(v.found,
		Violation{Rule: rule, Seq: v.seq, At: v.now, Object: object, Text: fmt.Sprintf(format, args...)})
}

// object takes in a change at the API server.
func (v *Devices) object(fact world.ObjectWritten) {
	gone := fact.Verb == "gone"
	switch {
	case fact.Node != nil && gone:
		delete(v.nodes, fact.Name)
	case fact.Node != nil:
		v.nodes[fact.Name] = fact.Node
	case fact.Pod != nil && gone:
		delete(v.pods, fact.UID)
	case fact.Pod != nil:
		v.pod(fact)
	case fact.ResourceSlice != nil && gone:
		delete(v.sliceOf, fact.Name)
	case fact.ResourceSlice != nil:
		v.sliceOf[fact.Name] = fact.ResourceSlice.Node
	case fact.ResourceClaim != nil:
		v.allocated(fact, gone)
	}
}

func (v *Devices) pod(fact world.ObjectWritten) {
	p := v.pods[fact.UID]
	if p == nil {
		needs := world.NeedsOf(fact.Shape)
		if len(needs) == 0 {
			return
		}
		p = &devicePod{needs: needs}
		v.pods[fact.UID] = p
	}
	if fact.Pod.NodeName != "" && (p.Pod == nil || p.NodeName == "") {
		p.boundAt = v.now
	}
	p.Pod = fact.Pod
}

// allocated is E1: what a claim holds nobody else does.
func (v *Devices) allocated(fact world.ObjectWritten, gone bool) {
	c := fact.ResourceClaim
	for device, by := range v.holders {
		if by == c.UID {
			delete(v.holders, device)
		}
	}
	if gone || c.Allocation == "" {
		return
	}
	var allocation struct {
		Devices struct {
			Results []struct{ Pool, Device string }
		}
	}
	if err := json.Unmarshal([]byte(c.Allocation), &allocation); err != nil {
		v.broken("E1", fact.Name, "its allocation cannot be read: %v", err)
		return
	}
	v.users[c.UID] = c.PodUID
	for _, r := range allocation.Devices.Results {
		device := r.Pool + "/" + r.Device
		if by := v.holders[device]; by != "" {
			v.broken("E1", fact.Name, "device %s is allocated to %s, too", device, by)
		}
		v.holders[device] = c.UID
	}
}

// written takes in a transaction of the ledger.
func (v *Devices) written(fact world.LedgerWritten) {
	for _, i := range fact.Intents {
		if i.State == model.IntentDone {
			delete(v.launches, i.ID)
			continue
		}
		var types []string
		for _, o := range requestPools(i.Request) {
			types = append(types, o.InstanceType)
		}
		slices.Sort(types)
		v.launches[i.ID] = slices.Compact(types)
	}
	for _, change := range fact.Claims {
		switch after := change.After; {
		case after == nil:
			delete(v.claims, change.Before.Name)
			continue
		case change.Before == nil:
			v.holdsAll(after.Name, after.Pods, v.launches[after.Intent])
		case after.State == model.Initialized && change.Before.State != model.Initialized:
			v.initialized(after)
		}
		v.claims[change.After.Name] = change.After
	}
	for _, change := range fact.Commands {
		if change.Before == nil {
			v.committed(change.After)
		}
	}
}

// holdsAll is E2: each of the types has the devices of all the pods.
func (v *Devices) holdsAll(name string, pods []model.PodRef, types []string) {
	var needs []world.DeviceNeed
	for _, ref := range pods {
		if p := v.pods[ref.UID]; p != nil {
			needs = append(needs, p.needs...)
		}
	}
	for _, t := range types {
		if _, suffice := world.Allot(world.DevicesOf(t), none, needs); !suffice {
			v.broken("E2", name, "it may become %s, whose devices do not suffice for its pods %v", t, model.Keys(pods))
			return
		}
	}
}

// none is of devices none of which is taken.
func none(string) bool { return false }

// calm reports whether nothing has gone wrong for a while.
func (v *Devices) calm() bool {
	r := &DefaultRules
	return v.disturbed.IsZero() || v.now.Sub(v.disturbed) > r.Settled+r.Patience
}

// publishes reports whether the driver of a node has published.
func (v *Devices) publishes(node string) bool {
	for _, of := range v.sliceOf { // whether any does not depend on the order
		if of == node {
			return true
		}
	}
	return false
}

// initialized is E4: nodes that are for devices are finished once they have them.
func (v *Devices) initialized(c *model.Claim) {
	n := v.nodes[c.NodeName]
	wants := slices.ContainsFunc(c.Pods, func(ref model.PodRef) bool { return v.pods[ref.UID] != nil })
	if n == nil || !wants || !v.calm() || v.publishes(c.NodeName) {
		return
	}
	if age := v.now.Unix() - n.CreatedUnix; age < model.PublishSeconds-60 {
		v.broken("E4", c.Name, "it is called initialized, and the driver of its node %s has published nothing in %d s",
			n.Name, age)
	}
}

// committed is E2 for what takes the place of nodes, and E3.
func (v *Devices) committed(k *model.Command) {
	for i := range k.Replacements {
		v.holdsAll(k.Replacements[i].Name, k.Replacements[i].Pods, k.Replacements[i].InstanceTypes)
	}
	if !slices.Contains(toSave, k.Reason) || !v.calm() {
		return
	}
	goes := map[string]bool{}
	for i := range k.Targets {
		goes[k.Targets[i].Node] = true
	}
	lately := v.now.Add(-DefaultRules.Patience)
	var leave []*devicePod
	for _, uid := range sorted(v.pods) {
		if p := v.pods[uid]; goes[p.NodeName] && p.DeletedUnix == 0 && p.boundAt.Before(lately) && !p.Terminal() {
			leave = append(leave, p)
		}
	}
	if len(leave) == 0 {
		return
	}
	tries := 10_000
	if !v.settles(leave, v.elsewhere(k, goes, lately), &tries) && tries > 0 {
		v.broken("E3", k.ID, "its nodes run %d pods with devices, for which there are too few elsewhere", len(leave))
	}
}

// place is devices that are free, or may become so.
type place struct {
	devices []world.Device
	taken   map[string]bool
}

// elsewhere returns where pods of a command's nodes may find devices: on the other nodes, those of claims on their way,
// and on what takes their place. What pods hold that came lately counts as free: the decision was made without them.
func (v *Devices) elsewhere(k *model.Command, goes map[string]bool, lately time.Time) []place {
	var out []place
	add := func(instanceType, node string) {
		p := place{world.DevicesOf(instanceType), map[string]bool{}}
		for _, d := range p.devices {
			user := v.pods[v.users[v.holders[node+"/"+d.Name]]]
			p.taken[d.Name] = user != nil && user.boundAt.Before(lately)
		}
		if len(p.devices) > 0 {
			out = append(out, p)
		}
	}
	there := map[string]bool{}
	for _, name := range sorted(v.nodes) {
		n := v.nodes[name]
		there[n.ProviderID] = true
		if !goes[name] && n.DeletedUnix == 0 {
			add(n.Labels[model.LabelInstanceType], name)
		}
	}
	most := func(types []string) {
		best := ""
		for _, t := range types {
			if best == "" || len(world.DevicesOf(t)) > len(world.DevicesOf(best)) {
				best = t
			}
		}
		add(best, "")
	}
	for _, name := range sorted(v.claims) {
		if c := v.claims[name]; c.Live() && !there[c.ProviderID] {
			most(append(slices.Clone(v.launches[c.Intent]), c.InstanceType))
		}
	}
	for i := range k.Replacements {
		most(k.Replacements[i].InstanceTypes)
	}
	return out
}

// settles reports whether there is a place for each of the pods, in so many tries at most.
func (v *Devices) settles(pods []*devicePod, places []place, tries *int) bool {
	if len(pods) == 0 {
		return true
	}
	for i := range places {
		if *tries--; *tries <= 0 {
			return false
		}
		p := &places[i]
		names, suffice := world.Allot(p.devices, func(name string) bool { return p.taken[name] }, pods[0].needs)
		if !suffice {
			continue
		}
		for _, name := range names {
			p.taken[name] = true
		}
		if v.settles(pods[1:], places, tries) {
			return true
		}
		for _, name := range names {
			p.taken[name] = false
		}
	}
	return false
}
