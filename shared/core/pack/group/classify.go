package group

import (
	"encoding/binary"
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// GuardShapes returns the shapes with required anti-affinity that some pod on a node has, in the order of those pods'
// keys, so that the order of lists in the snapshot never shows.
func GuardShapes(snapshot *model.Snapshot, known *ShapeFacts, moving map[int]bool) []int {
	if !known.guards() {
		return nil
	}
	var owners []int
	for i := range snapshot.Pods {
		if input.OnNode(snapshot, i, moving) && len(snapshot.Shapes[snapshot.Pods[i].Shape].PodAntiAffinity) > 0 {
			owners = append(owners, i)
		}
	}
	var shapes []int
	seen := make(map[int]bool)
	for _, i := range input.SortedPods(snapshot, owners) {
		if index := snapshot.Pods[i].Shape; !seen[index] {
			seen[index] = true
			shapes = append(shapes, index)
		}
	}
	return shapes
}

// Holders returns which pod on a node uses each ReadWriteOncePod claim.
func Holders(snapshot *model.Snapshot, moving map[int]bool) map[string]int {
	out := make(map[string]int)
	once := make(map[string]bool)
	for i := range snapshot.Volumes {
		if v := &snapshot.Volumes[i]; v.OncePod {
			once[v.Namespace+"/"+v.Name] = true
		}
	}
	if len(once) == 0 {
		return out
	}
	for i := range snapshot.Pods {
		if !input.OnNode(snapshot, i, moving) {
			continue
		}
		for _, claim := range snapshot.Pods[i].Claims {
			if key := snapshot.Pods[i].Namespace + "/" + claim; once[key] {
				out[key] = i
			}
		}
	}
	return out
}

// PodGroupsOf groups the pending pods, which are in order. Pods that can never be placed are returned with their reason
// instead, by index.
func (c *Classifier) PodGroupsOf(pending []int, existing []int) ([]*PodGroup, map[int]*model.Reason) {
	c.scratch = c.Facts.lend()
	defer c.reset()
	c.podGroups, c.refused, c.unplaceable = make(map[string]*PodGroup), make(map[int]*model.Reason), make(map[string]*model.Reason)
	for _, i := range pending {
		index := c.Snapshot.Pods[i].Shape
		switch {
		case index < 0 || index >= len(c.shapes):
			c.unknown = c.readShape(index)
		case c.shapes[index] == nil:
			c.shapes[index] = c.readShape(index)
			c.Met = append(c.Met, index)
		}
	}
	for _, index := range c.Met {
		if info := c.shapes[index]; info.no == nil {
			info.conflicts = c.conflictsOf(&c.Snapshot.Shapes[index])
		}
	}
	for _, index := range existing {
		c.Rules.ReadGuards(&c.Snapshot.Shapes[index])
	}
	for _, index := range c.Met {
		if info := c.shapes[index]; info.no == nil {
			c.guardedFrom(index, info)
		}
	}
	for _, index := range c.Met {
		if info := c.shapes[index]; info.no == nil {
			info.key = c.shapeKey(&c.Snapshot.Shapes[index], info)
		}
	}
	c.findShared(pending)
	for n, i := range pending {
		c.addPod(n, i)
	}
	return c.made, c.refused
}

// reset leaves the scratch as it was.
func (c *Classifier) reset() {
	for _, index := range c.Met {
		if info := c.shapes[index]; info.no == nil {
			c.plain[info.like], c.plainSettled[info.like] = nil, nil
		}
		c.shapes[index] = nil
	}
	c.scratch = nil
}

// Settle notes which of the pending pods run well where they are. Where others are expected those that are alone in
// their shape are neither to follow them nor to take the place they leave: pods that wait do, since neither is anywhere
// else.
func (c *Classifier) Settle(settled, pending []int, expected bool) {
	c.settled = make(map[int]bool, len(settled))
	for _, i := range settled {
		c.settled[i] = true
	}
	if !expected {
		return
	}
	c.arrived = make(map[int]bool)
	for _, i := range pending {
		c.arrived[c.Snapshot.Pods[i].Shape] = true
	}
	for _, i := range pending {
		if !c.settled[i] {
			delete(c.arrived, c.Snapshot.Pods[i].Shape)
		}
	}
}

// readShape reads what a shape asks for, rules of other pods left out.
func (c *Classifier) readShape(index int) *shapeInfo {
	info := &shapeInfo{facts: c.Facts.Of(index)}
	if info.Demand != nil {
		c.noteNames(info.Demand)
	}
	if info.no = info.facts.No; info.no != nil {
		return info
	}
	shape := &c.Snapshot.Shapes[index]
	if len(shape.PodAffinity)+len(shape.PodAntiAffinity)+len(shape.Spread)+len(shape.PreferredPodAffinity)+len(shape.PreferredPodAntiAffinity) > 0 {
		info.constraints, info.soft, info.no = c.Rules.readUses(shape, info.Demand.There, c.arrived[index])
		info.guards = c.Rules.ReadGuards(shape)
	}
	return info
}

// guardedFrom adds the rules of other pods that are about the shape.
func (c *Classifier) guardedFrom(index int, info *shapeInfo) {
	shape, rules := &c.Snapshot.Shapes[index], c.Rules
	for _, g := range rules.ofGuards.about(shape.Labels) {
		if guard := &rules.guards[g]; guard.peers.Match(shape.Namespace, shape.Labels) {
			info.constraints = append(info.constraints, Constraint{Kind: AntiAffinity, TopologyGroup: rules.topologyGroup(rules.ownersOf(g, c.arrived[index]), guard.key, -1), foreign: true,
				field: "spec.affinity.podAntiAffinity of other pods", text: "pods whose required anti-affinity matches this pod"})
		}
	}
}

// addPod puts pod i, the n-th of all, into its pod group.
func (c *Classifier) addPod(n, i int) {
	pod := &c.Snapshot.Pods[i]
	info := c.of(pod)
	if info.no != nil {
		c.refused[i] = info.no
		return
	}
	switch {
	case len(pod.Claims)+len(c.Snapshot.ShapeOf(pod).Ephemeral)+len(c.Snapshot.ShapeOf(pod).DeviceClaims) > 0:
		c.addWithVolumes(n, i, info)
	case info.simple:
		c.addPlain(n, i, info)
	default:
		c.addAs(c.podGroupFor(n, i, info, bound{}), i)
	}
}

// addPlain is addPod for a pod without volumes that no rule is about. Most are.
func (c *Classifier) addPlain(n, i int, info *shapeInfo) {
	known := &c.plain[info.like]
	if c.settled[i] {
		known = &c.plainSettled[info.like]
	}
	if *known == nil {
		*known = c.make(n, i, info, bound{})
	}
	c.addAs(*known, i)
}

func (c *Classifier) addAs(podGroup *PodGroup, i int) {
	if podGroup != nil {
		podGroup.Pods = append(podGroup.Pods, i)
	}
}

// bound is where volumes let a pod run.
type bound struct {
	newNodes, there []requirement.Requirements // any one of these; nil = wherever
	attaches        bool                       // has volumes with an attach limit
	shared          []string                   // claims it shares with other waiting pods, whose volume is yet to be made
	devices         devices
	text            string // all of it
}

// addWithVolumes is addPod for a pod with volumes, or with claims for devices.
func (c *Classifier) addWithVolumes(n, i int, info *shapeInfo) {
	pod := &c.Snapshot.Pods[i]
	shape := c.Snapshot.ShapeOf(pod)
	anew, there, no := c.termsOfVolumes(i, pod, shape)
	if no != nil {
		c.refused[i] = no
		return
	}
	v := bound{newNodes: anew, there: there, attaches: len(c.Volumes.Attachments(pod, shape)) > 0, shared: c.sharedBy(pod, shape)}
	v.text = fmt.Sprintf("%d\x00%d\x00%t", c.Facts.intern(terms.KeyOfAll(anew)), c.Facts.intern(terms.KeyOfAll(there)), v.attaches)
	if len(v.shared) > 0 {
		v.text += fmt.Sprintf("\x00%q", v.shared)
	}
	if len(shape.DeviceClaims) > 0 {
		var text string
		if v.devices, text, no = c.devicesOf(pod, shape); no != nil {
			c.refused[i] = no
			return
		}
		v.text += text
	}
	c.addAs(c.podGroupFor(n, i, info, v), i)
}

// podGroupFor returns the pod group of pod i, the n-th of all; nil where there is nowhere its volumes and it both let
// it run.
func (c *Classifier) podGroupFor(n, i int, info *shapeInfo, v bound) *PodGroup {
	key := info.key
	if v.text != "" {
		key += "\x00" + v.text
	}
	if c.settled[i] {
		key += "\x00settled"
	}
	if c.podGroups[key] == nil {
		made := c.make(n, i, info, v)
		if made == nil {
			return nil
		}
		c.podGroups[key] = made
	}
	return c.podGroups[key]
}

// make makes a pod group of pod i, the n-th of all; nil where there is nowhere its volumes and it both let it run.
func (c *Classifier) make(n, i int, info *shapeInfo, v bound) *PodGroup {
	out := c.newPodGroup(info, c.Snapshot.ShapeOf(&c.Snapshot.Pods[i]), v)
	if out == nil {
		c.refused[i] = &model.Reason{Code: input.VolumeConflict, Message: "its volumes are where spec.nodeSelector and spec.affinity.nodeAffinity do not allow it to run",
			Remedy: "remove the contradiction, or move the volume"}
		return nil
	}
	out.Order, out.Attaches, out.Settled = n, v.attaches, c.settled[i]
	out.share(c.Rules, v.shared)
	out.claim(c.Rules, &v.devices)
	c.made = append(c.made, out)
	return out
}

// termsOfVolumes returns where the pod's volumes let it run, on new nodes and on those that exist.
func (c *Classifier) termsOfVolumes(i int, pod *model.Pod, shape *model.PodShape) (anew, there []requirement.Requirements, no *model.Reason) {
	for _, claim := range c.Volumes.ReadWriteOncePodClaims(pod, shape) {
		if holder, held := c.OnceUsed[claim]; held && holder != i {
			return nil, nil, &model.Reason{Code: input.VolumeConflict, Message: fmt.Sprintf("PersistentVolumeClaim %s is ReadWriteOncePod and pod %s uses it", claim, c.Snapshot.Pods[holder].Key()),
				Remedy: "wait until that pod has ended, or give each pod a claim of its own"}
		}
		c.OnceUsed[claim] = i
	}
	there, problem := c.Volumes.ExistingNodeAlternatives(pod, shape)
	if problem != nil {
		return nil, nil, &model.Reason{Code: input.VolumeConflict, Message: problem.Message, Remedy: problem.Remedy}
	}
	if anew, problem = c.Volumes.NewNodeAlternatives(pod, shape); problem != nil { // there are nodes for it, but no new one will do
		c.unplaceable[problem.Message] = &model.Reason{Code: input.VolumeConflict, Message: problem.Message,
			Remedy: problem.Remedy}
		return []requirement.Requirements{{model.LabelHostname: requirement.Values(problem.Message)}}, there, nil
	}
	return anew, there, nil
}

func (c *Classifier) newPodGroup(info *shapeInfo, shape *model.PodShape, v bound) *PodGroup {
	if len(c.space) == 0 {
		c.space = make([]PodGroup, max(4, min(len(c.made), 64)))
	}
	out := &c.space[0]
	c.space = c.space[1:]
	*out = PodGroup{
		Resources: info.resources, Request: info.request, Venue: info.venue, Priority: shape.Priority, Own: info.Demand.terms, Terms: info.Demand.terms,
		There: info.Demand.There, OwnThere: info.Demand.There, Readings: &info.Demand.readings, Unplaceable: info.Demand.named,
		Preferred: info.Demand.preferred, Tolerations: info.tolerations, Selector: shape.NodeSelector, Ports: shape.HostPorts,
		Constraints: info.constraints, Soft: info.soft, Contributions: info.contributions, Keys: info.keys, Stride: 1, Conflicts: info.conflicts,
	}
	if v.newNodes != nil {
		out.Terms = terms.Cross(out.Own, v.newNodes)
	}
	if v.there != nil {
		out.There, out.VolumeTerms, out.Readings = terms.Cross(out.There, v.there), v.there, new(offerings.Readings)
	}
	if len(out.Terms) == 0 {
		return nil
	}
	if len(v.newNodes) == 1 {
		if name, one := v.newNodes[0].Get(model.LabelHostname).Single(); one && c.unplaceable[name] != nil {
			out.Unplaceable = c.unplaceable[name]
		}
	}
	out.Needs = out.Terms
	out.findHosts(c.Rules)
	if v.text != "" {
		out.Venue += "\x00v" + v.text
	}
	if len(info.conflicts) > 0 {
		out.Venue += fmt.Sprintf("\x00f%d", info.conflicts)
	}
	return out
}

// shapeKey writes down everything scheduling looks at, so that equal keys mean pods that cannot be distinguished.
func (c *Classifier) shapeKey(shape *model.PodShape, info *shapeInfo) string {
	info.finish(c.Rules, shape)
	if info.simple = len(info.constraints)+len(info.soft)+len(info.conflicts)+len(info.contributions) == 0; info.simple {
		return info.facts.key
	}
	b := append(make([]byte, 0, 96), info.facts.key...)
	number := func(n int64) { b = binary.AppendVarint(b, n) }
	for _, list := range [][]Constraint{info.constraints, info.soft} {
		number(-2)
		for _, u := range list {
			for _, n := range []int64{int64(u.Kind), int64(u.TopologyGroup), int64(u.Self), int64(u.MaxSkew), int64(u.MinDomains), int64(u.Weight)} {
				number(n)
			}
		}
	}
	number(-4)
	for _, set := range info.conflicts {
		number(int64(set))
	}
	number(-3)
	for _, a := range info.contributions {
		number(int64(a.TopologyGroup))
	}
	return string(b)
}

// noteNames remembers which nodes pods name.
func (c *Classifier) noteNames(d *demand) {
	if len(d.names) > 0 && c.Names == nil {
		c.Names = make(map[string]bool)
	}
	for _, name := range d.names {
		c.Names[name] = true
	}
}
