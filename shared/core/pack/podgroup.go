package pack

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// podGroup is a set of pending pods that scheduling cannot tell apart. Work is done once per pod group and not per pod.
type podGroup struct {
	order     int    // of its first pod among all
	venue     string // says where its new nodes may be: pod groups of one venue share the search
	wider     string // venue without its preferences for nodes; empty where none is kept
	resources model.Resources
	request   vector.Vector
	priority  int32

	own         []requirement.Requirements // what the pod says of a new node: any one must hold; never empty
	ownThere    []requirement.Requirements // what it says of one that exists, whose name it may ask for
	terms       []requirement.Requirements // own together with where its volumes may be
	needs       []requirement.Requirements // terms without what it would merely rather have
	there       []requirement.Requirements // the same on a node that exists, where volumes are more particular
	readings    *offerings.Readings        // of there
	volumeTerms []requirement.Requirements // what its volumes say of a node that exists; nil = nothing
	preferred   []requirement.Requirements // what it would rather have, heaviest first
	tolerations [][]model.Toleration       // of each pod of a unit; all must tolerate
	selector    map[string]string          // as written: reasons name it
	ports       []model.HostPort
	attaches    bool // has volumes with an attach limit: its pods are looked at one by one

	settled       bool         // its pods run well where they are: churning existing nodes take none of them
	conflicts     []int        // DaemonSets whose pods cannot be beside it
	constraints   []constraint // hard rules
	soft          []constraint
	contributions []contribution
	keys          []string // node labels other than the hostname that its place is counted by
	hosts         bool     // any constraint or contribution by host
	softMost      int64    // units its preferences want on one node at most; 0 = any number

	pods        []int         // indexes into the snapshot's pods, by key, then UID; a unit's pods follow each other
	stride      int           // pods in a unit: those that must share a node are placed together
	unplaceable *model.Reason // why its volumes let no new node do
	blocked     *model.Reason // the rule between pods that kept the last pod off
	shut        [][]string    // domains, by keys, in which limits leave no new node for it; while pods are placed
}

// units returns how many things there are to place.
func (c *podGroup) units() int { return len(c.pods) / c.stride }

// takeUnits removes the first n units and returns their pods.
func (c *podGroup) takeUnits(n int) []int {
	taken := c.pods[:n*c.stride]
	c.pods = c.pods[n*c.stride:]
	return taken
}

// plain reports whether no rule between pods, port or volume is about the pod group.
func (c *podGroup) plain() bool {
	return len(c.constraints) == 0 && len(c.contributions) == 0 && len(c.soft) == 0 && len(c.ports) == 0 && !c.attaches
}

// exclusive reports whether no two units of the pod group may share a node.
func (c *podGroup) exclusive() bool {
	return len(c.ports) > 0 || slices.ContainsFunc(c.constraints, func(u constraint) bool { return u.byHost && u.self > 0 && u.kind == antiAffinity })
}

// needsHost reports whether the pod group needs some pod on its own node.
func (c *podGroup) needsHost() bool {
	return slices.ContainsFunc(c.constraints, func(u constraint) bool { return u.kind == affinity && u.byHost })
}

// untolerated reports how the pod group takes the taints.
func (c *podGroup) untolerated(taints []model.Taint) (hard *model.Taint, soft bool) {
	if len(taints) == 0 {
		return nil, false
	}
	for _, list := range c.tolerations {
		h, s := terms.Untolerated(list, taints)
		if hard == nil {
			hard = h
		}
		soft = soft || s
	}
	return hard, soft
}

// classifier turns pending pods into pod groups.
type classifier struct {
	*scratch // while pods are grouped
	snapshot *model.Snapshot
	facts    *shapeFacts
	rules    *podRules
	volumes  *volume.Index
	onceUsed map[string]int // ReadWriteOncePod claims in use: by the pod
	settled  map[int]bool   // pods of Input.Settled
	arrived  map[int]bool   // shapes of settled pods alone, where there are pods of Input.Expected

	names       map[string]bool      // of nodes, that some pod asks for or refuses
	shared      map[string]int       // claims whose volume is yet to be made: by how many waiting pods
	met         []int                // shapes of pending pods, as first met
	unknown     *shapeInfo           // of pods whose shape there is not; nil = there is none
	podGroups   map[string]*podGroup // the others
	made        []*podGroup          // all of them, as they were met first
	space       []podGroup           // for those yet to be made
	refused     map[int]*model.Reason
	unplaceable map[string]*model.Reason // why the volumes of some pods let no new node do, by message
}

// shapeInfo is a pending shape, read once.
type shapeInfo struct {
	*facts
	no                *model.Reason
	guards            []int
	conflicts         []int // DaemonSets whose pods cannot be beside it
	constraints, soft []constraint
	contributions     []contribution
	keys              []string
	key               string
	simple            bool // key is what the shape says by itself: no rule is about it
}

// podGroupsOf groups the pending pods, which are in order. Pods that can never be placed are returned with their reason
// instead, by index.
func (c *classifier) podGroupsOf(pending []int, existing []int) ([]*podGroup, map[int]*model.Reason) {
	c.scratch = c.facts.lend()
	defer c.reset()
	c.podGroups, c.refused, c.unplaceable = make(map[string]*podGroup), make(map[int]*model.Reason), make(map[string]*model.Reason)
	for _, i := range pending {
		index := c.snapshot.Pods[i].Shape
		switch {
		case index < 0 || index >= len(c.shapes):
			c.unknown = c.readShape(index)
		case c.shapes[index] == nil:
			c.shapes[index] = c.readShape(index)
			c.met = append(c.met, index)
		}
	}
	for _, index := range c.met {
		if info := c.shapes[index]; info.no == nil {
			info.conflicts = c.conflictsOf(&c.snapshot.Shapes[index])
		}
	}
	for _, index := range existing {
		c.rules.readGuards(&c.snapshot.Shapes[index])
	}
	for _, index := range c.met {
		if info := c.shapes[index]; info.no == nil {
			c.guardedFrom(index, info)
		}
	}
	for _, index := range c.met {
		if info := c.shapes[index]; info.no == nil {
			info.key = c.shapeKey(&c.snapshot.Shapes[index], info)
		}
	}
	c.findShared(pending)
	for n, i := range pending {
		c.addPod(n, i)
	}
	return c.made, c.refused
}

// scratch is what is known of shapes while pods are grouped, by shape.
type scratch struct {
	shapes              []*shapeInfo // nil = no pending pod has it
	plain, plainSettled []*podGroup  // by the first shape that is like theirs: pod groups of pods without rules or volumes
}

// reset leaves the scratch as it was.
func (c *classifier) reset() {
	for _, index := range c.met {
		if info := c.shapes[index]; info.no == nil {
			c.plain[info.like], c.plainSettled[info.like] = nil, nil
		}
		c.shapes[index] = nil
	}
	c.scratch = nil
}

// of returns what is known of the pod's shape.
func (c *classifier) of(pod *model.Pod) *shapeInfo {
	if pod.Shape < 0 || pod.Shape >= len(c.shapes) {
		return c.unknown
	}
	return c.shapes[pod.Shape]
}

// settle notes which of the pending pods run well where they are. Where others are expected those that are alone in their shape
// are neither to follow them nor to take the place they leave: pods that wait do, since neither is anywhere else.
func (c *classifier) settle(settled, pending []int, expected bool) {
	c.settled = make(map[int]bool, len(settled))
	for _, i := range settled {
		c.settled[i] = true
	}
	if !expected {
		return
	}
	c.arrived = make(map[int]bool)
	for _, i := range pending {
		c.arrived[c.snapshot.Pods[i].Shape] = true
	}
	for _, i := range pending {
		if !c.settled[i] {
			delete(c.arrived, c.snapshot.Pods[i].Shape)
		}
	}
}

// readShape reads what a shape asks for, rules of other pods left out.
func (c *classifier) readShape(index int) *shapeInfo {
	info := &shapeInfo{facts: c.facts.of(index)}
	if info.demand != nil {
		c.noteNames(info.demand)
	}
	if info.no = info.facts.no; info.no != nil {
		return info
	}
	shape := &c.snapshot.Shapes[index]
	if len(shape.PodAffinity)+len(shape.PodAntiAffinity)+len(shape.Spread)+len(shape.PreferredPodAffinity)+len(shape.PreferredPodAntiAffinity) > 0 {
		info.constraints, info.soft, info.no = c.rules.readUses(shape, info.demand.there, c.arrived[index])
		info.guards = c.rules.readGuards(shape)
	}
	return info
}

// guardedFrom adds the rules of other pods that are about the shape.
func (c *classifier) guardedFrom(index int, info *shapeInfo) {
	shape, rules := &c.snapshot.Shapes[index], c.rules
	for _, g := range rules.ofGuards.about(shape.Labels) {
		if guard := &rules.guards[g]; guard.peers.Match(shape.Namespace, shape.Labels) {
			info.constraints = append(info.constraints, constraint{kind: antiAffinity, topologyGroup: rules.topologyGroup(rules.ownersOf(g, c.arrived[index]), guard.key, -1), foreign: true,
				field: "spec.affinity.podAntiAffinity of other pods", text: "pods whose required anti-affinity matches this pod"})
		}
	}
}

// finish adds memberships, once every topology group is known.
func (info *shapeInfo) finish(rules *podRules, shape *model.PodShape) {
	if rules.empty() {
		return
	}
	info.contributions = rules.memberships(shape, info.guards)
	for _, list := range [][]constraint{info.constraints, info.soft} {
		for u := range list {
			t := &rules.topologyGroups[list[u].topologyGroup]
			list[u].self, list[u].byHost, list[u].slot = weightIn(info.contributions, list[u].topologyGroup), t.host, t.slot
		}
	}
	note := func(t int) {
		if topologyGroup := &rules.topologyGroups[t]; !topologyGroup.host && !slices.Contains(info.keys, topologyGroup.key) {
			info.keys = append(info.keys, topologyGroup.key)
		}
	}
	for _, u := range slices.Concat(info.constraints, info.soft) {
		note(u.topologyGroup)
	}
	for _, a := range info.contributions {
		note(a.topologyGroup)
	}
	slices.Sort(info.keys)
}

// addPod puts pod i, the n-th of all, into its pod group.
func (c *classifier) addPod(n, i int) {
	pod := &c.snapshot.Pods[i]
	info := c.of(pod)
	if info.no != nil {
		c.refused[i] = info.no
		return
	}
	switch {
	case len(pod.Claims)+len(c.snapshot.ShapeOf(pod).Ephemeral) > 0:
		c.addWithVolumes(n, i, info)
	case info.simple:
		c.addPlain(n, i, info)
	default:
		c.addAs(c.podGroupFor(n, i, info, bound{}), i)
	}
}

// addPlain is addPod for a pod without volumes that no rule is about. Most are.
func (c *classifier) addPlain(n, i int, info *shapeInfo) {
	known := &c.plain[info.like]
	if c.settled[i] {
		known = &c.plainSettled[info.like]
	}
	if *known == nil {
		*known = c.make(n, i, info, bound{})
	}
	c.addAs(*known, i)
}

func (c *classifier) addAs(podGroup *podGroup, i int) {
	if podGroup != nil {
		podGroup.pods = append(podGroup.pods, i)
	}
}

// bound is where volumes let a pod run.
type bound struct {
	newNodes, there []requirement.Requirements // any one of these; nil = wherever
	attaches        bool                       // has volumes with an attach limit
	shared          []string                   // claims it shares with other waiting pods, whose volume is yet to be made
	text            string                     // all of it
}

// addWithVolumes is addPod for a pod with volumes.
func (c *classifier) addWithVolumes(n, i int, info *shapeInfo) {
	pod := &c.snapshot.Pods[i]
	shape := c.snapshot.ShapeOf(pod)
	anew, there, no := c.termsOfVolumes(i, pod, shape)
	if no != nil {
		c.refused[i] = no
		return
	}
	v := bound{newNodes: anew, there: there, attaches: len(c.volumes.Attachments(pod, shape)) > 0, shared: c.sharedBy(pod, shape)}
	v.text = fmt.Sprintf("%d\x00%d\x00%t", c.facts.intern(terms.KeyOfAll(anew)), c.facts.intern(terms.KeyOfAll(there)), v.attaches)
	if len(v.shared) > 0 {
		v.text += fmt.Sprintf("\x00%q", v.shared)
	}
	c.addAs(c.podGroupFor(n, i, info, v), i)
}

// podGroupFor returns the pod group of pod i, the n-th of all; nil where there is nowhere its volumes and it both let it run.
func (c *classifier) podGroupFor(n, i int, info *shapeInfo, v bound) *podGroup {
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
func (c *classifier) make(n, i int, info *shapeInfo, v bound) *podGroup {
	out := c.newPodGroup(info, c.snapshot.ShapeOf(&c.snapshot.Pods[i]), v)
	if out == nil {
		c.refused[i] = &model.Reason{Code: input.VolumeConflict, Message: "its volumes are where spec.nodeSelector and spec.affinity.nodeAffinity do not allow it to run",
			Remedy: "remove the contradiction, or move the volume"}
		return nil
	}
	out.order, out.attaches, out.settled = n, v.attaches, c.settled[i]
	out.share(c.rules, v.shared)
	c.made = append(c.made, out)
	return out
}

// termsOfVolumes returns where the pod's volumes let it run, on new nodes and on those that exist.
func (c *classifier) termsOfVolumes(i int, pod *model.Pod, shape *model.PodShape) (anew, there []requirement.Requirements, no *model.Reason) {
	for _, claim := range c.volumes.ReadWriteOncePodClaims(pod, shape) {
		if holder, held := c.onceUsed[claim]; held && holder != i {
			return nil, nil, &model.Reason{Code: input.VolumeConflict, Message: fmt.Sprintf("PersistentVolumeClaim %s is ReadWriteOncePod and pod %s uses it", claim, c.snapshot.Pods[holder].Key()),
				Remedy: "wait until that pod has ended, or give each pod a claim of its own"}
		}
		c.onceUsed[claim] = i
	}
	there, problem := c.volumes.ExistingNodeAlternatives(pod, shape)
	if problem != nil {
		return nil, nil, &model.Reason{Code: input.VolumeConflict, Message: problem.Message, Remedy: problem.Remedy}
	}
	if anew, problem = c.volumes.NewNodeAlternatives(pod, shape); problem != nil { // there are nodes for it, but no new one will do
		c.unplaceable[problem.Message] = &model.Reason{Code: input.VolumeConflict, Message: problem.Message, Remedy: problem.Remedy}
		return []requirement.Requirements{{model.LabelHostname: requirement.Values(problem.Message)}}, there, nil
	}
	return anew, there, nil
}

func (c *classifier) newPodGroup(info *shapeInfo, shape *model.PodShape, v bound) *podGroup {
	if len(c.space) == 0 {
		c.space = make([]podGroup, max(4, min(len(c.made), 64)))
	}
	out := &c.space[0]
	c.space = c.space[1:]
	*out = podGroup{
		resources: info.resources, request: info.request, venue: info.venue, priority: shape.Priority, own: info.demand.terms, terms: info.demand.terms,
		there: info.demand.there, ownThere: info.demand.there, readings: &info.demand.readings, unplaceable: info.demand.named,
		preferred: info.demand.preferred, tolerations: info.tolerations, selector: shape.NodeSelector, ports: shape.HostPorts,
		constraints: info.constraints, soft: info.soft, contributions: info.contributions, keys: info.keys, stride: 1, conflicts: info.conflicts,
	}
	if v.newNodes != nil {
		out.terms = terms.Cross(out.own, v.newNodes)
	}
	if v.there != nil {
		out.there, out.volumeTerms, out.readings = terms.Cross(out.there, v.there), v.there, new(offerings.Readings)
	}
	if len(out.terms) == 0 {
		return nil
	}
	if len(v.newNodes) == 1 {
		if name, one := v.newNodes[0].Get(model.LabelHostname).Single(); one && c.unplaceable[name] != nil {
			out.unplaceable = c.unplaceable[name]
		}
	}
	out.needs = out.terms
	out.findHosts(c.rules)
	if v.text != "" {
		out.venue += "\x00v" + v.text
	}
	if len(info.conflicts) > 0 {
		out.venue += fmt.Sprintf("\x00f%d", info.conflicts)
	}
	return out
}

func (c *podGroup) findHosts(rules *podRules) {
	for _, u := range c.soft {
		if u.byHost && u.self > 0 && u.kind != affinity && rules.hostPreferences {
			bound := int64(1)
			if u.kind == spread {
				bound = int64(u.maxSkew)
			}
			if c.softMost == 0 || bound < c.softMost {
				c.softMost = bound
			}
		}
	}
	for _, u := range c.constraints {
		c.hosts = c.hosts || rules.topologyGroups[u.topologyGroup].host
	}
	for _, a := range c.contributions {
		c.hosts = c.hosts || rules.topologyGroups[a.topologyGroup].host
	}
	c.hosts = c.hosts || len(c.ports) > 0
}

// shapeKey writes down everything scheduling looks at, so that equal keys mean pods that cannot be distinguished.
func (c *classifier) shapeKey(shape *model.PodShape, info *shapeInfo) string {
	info.finish(c.rules, shape)
	if info.simple = len(info.constraints)+len(info.soft)+len(info.conflicts)+len(info.contributions) == 0; info.simple {
		return info.facts.key
	}
	b := append(make([]byte, 0, 96), info.facts.key...)
	number := func(n int64) { b = binary.AppendVarint(b, n) }
	for _, list := range [][]constraint{info.constraints, info.soft} {
		number(-2)
		for _, u := range list {
			for _, n := range []int64{int64(u.kind), int64(u.topologyGroup), int64(u.self), int64(u.maxSkew), int64(u.minDomains), int64(u.weight)} {
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
		number(int64(a.topologyGroup))
	}
	return string(b)
}
