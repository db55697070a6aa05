package existing

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// Attachable reports whether the existing node can attach the volumes of the pods.
func (p *nodeMaker) Attachable(s *Node, pods []int) bool {
	if len(s.attach) == 0 {
		return true
	}
	more := make(map[string]int64)
	for _, i := range pods {
		pod := &p.In.Snapshot.Pods[i]
		for _, a := range p.Classifier.Volumes.Attachments(pod, p.In.Snapshot.ShapeOf(pod)) {
			if !s.Attached[a.Driver][a.Handle] {
				more[a.Driver]++
			}
		}
	}
	for driver, n := range more { // each driver on its own: the order does not matter
		if most, limited := s.attach[driver]; limited && int64(len(s.Attached[driver]))+n > most {
			return false
		}
	}
	return true
}

// occupy takes what pod i holds of its node off the existing node's room, and notes which daemon it is, if any.
func (p *nodeMaker) occupy(s *Node, i int, running []bool) {
	pod := &p.In.Snapshot.Pods[i]
	asks := &p.requests[pod.Shape]
	if asks.amounts == nil {
		shape := &p.In.Snapshot.Shapes[pod.Shape]
		*asks = knownRequest{p.dims.Requests(shape.Requests), shape.OwnerKind == "DaemonSet"}
	}
	for d, amount := range asks.amounts {
		s.Free[d] = vector.SaturatingSub(s.Free[d], amount)
	}
	if asks.daemon {
		if d, known := p.sets[daemonName{pod.Namespace, p.In.Snapshot.Shapes[pod.Shape].OwnerName}]; known {
			running[d] = true
		}
	}
	if !p.NeedPorts && !p.NeedDisks {
		return
	}
	shape := &p.In.Snapshot.Shapes[pod.Shape]
	if p.NeedPorts {
		s.Ports = append(s.Ports, shape.HostPorts...)
	}
	if p.NeedDisks && len(pod.Claims)+len(shape.Ephemeral) > 0 {
		s.AttachAll(p.Classifier.Volumes.Attachments(pod, shape))
	}
}

// fromNode describes a node. Until it is initialized, what its claim says fills in what the node does not say yet, and
// taints that go away by themselves do not count.
func (p *nodeMaker) fromNode(s *Node, node *model.Node, claim *model.Claim) {
	s.Name, s.labels, s.Taints = node.Name, node.Labels, node.Taints
	s.Initialized = node.Initialized() || claim == nil && node.Pool() == ""
	amounts := node.Allocatable
	if !s.Initialized && !p.asIs {
		amounts = p.expected(node, claim)
		s.Taints = p.expectedTaints(node, claim, p.poolOf(node.Pool()))
		if claim != nil {
			s.labels = merged(p.claimLabels(claim), normalized(node.Labels), node.Registered())
		}
	}
	if claim != nil && !p.asIs {
		s.Promised = claim.Pods
	}
	if !p.asIs {
		s.host = node.Name
	}
	if p.Classifier.Names[node.Name] {
		s.labels = merged(s.labels, map[string]string{terms.NodeName: node.Name}, true)
	}
	if s.Free == nil {
		s.Free = make(vector.Vector, len(p.dims))
	}
	for d, name := range p.dims {
		s.Free[d] = amounts[name]
	}
	if p.NeedDisks {
		s.attach = p.Classifier.Volumes.Limits(node.Name)
	}
}

// reserveDaemons keeps room for the daemons that fit the existing node and are not running there.
func (p *nodeMaker) reserveDaemons(s *Node, running []bool) {
	if p.asIs {
		return
	}
	for i := range p.Daemons {
		d := &p.Daemons[i]
		if running != nil && running[i] {
			continue
		}
		hard, _ := terms.Untolerated(d.Tolerations, s.Taints)
		if hard == nil && slices.ContainsFunc(d.Terms, func(term requirement.Requirements) bool { return term.MatchesBy(s.Label) }) {
			for i, amount := range d.Request {
				s.Free[i] = vector.SaturatingSub(s.Free[i], amount)
			}
			if p.NeedConflicts {
				s.coming = append(s.coming, d.Set)
			}
			if d.Claims {
				s.claiming = append(s.claiming, d.Set)
			}
			if p.NeedPorts {
				s.Ports = append(s.Ports, d.Ports...)
			}
		}
	}
}

// expected returns what an uninitialised node will have: what it says, and what its claim says where it says nothing.
func (p *nodeMaker) expected(node *model.Node, claim *model.Claim) model.Resources {
	if claim == nil {
		return node.Allocatable
	}
	out := resource.Add(node.Allocatable, nil)
	for _, name := range resource.Names(claim.Allocatable) {
		if out[name] == 0 {
			out[name] = claim.Allocatable[name]
		}
	}
	return out
}

// expectedTaints returns the taints an uninitialised node will keep.
func (p *nodeMaker) expectedTaints(node *model.Node, claim *model.Claim, pool *model.Pool) []model.Taint {
	var startup []model.Taint
	switch {
	case claim != nil && !node.Registered():
		return claim.Taints
	case claim != nil:
		startup = claim.StartupTaints
	case pool != nil:
		startup = pool.Template.StartupTaints
	}
	var kept []model.Taint
	for _, taint := range node.Taints {
		passing := slices.ContainsFunc(startup, func(s model.Taint) bool { return s.Key == taint.Key && s.Effect == taint.Effect })
		if !passing && !model.EphemeralTaint(taint.Key, taint.Effect) {
			kept = append(kept, taint)
		}
	}
	return kept
}

func (p *nodeMaker) poolOf(name string) *model.Pool {
	for i := range p.In.Snapshot.Pools {
		if name != "" && p.In.Snapshot.Pools[i].Name == name {
			return &p.In.Snapshot.Pools[i]
		}
	}
	return nil
}

// normalized returns labels under today's names; the present name counts where both are there.
func normalized(labels map[string]string) map[string]string {
	out := make(map[string]string, len(labels)+1)
	for key := range labels { // each on its own: the order does not matter
		current := requirement.Normalize(key)
		out[current], _ = requirement.Label(labels, current)
	}
	return out
}

// merged returns both; where they differ, the node's word counts once it is registered, the claim's before.
func merged(claim, node map[string]string, registered bool) map[string]string {
	first, second := node, claim
	if registered {
		first, second = claim, node
	}
	out := make(map[string]string, len(first)+len(second))
	for key, value := range first {
		out[key] = value
	}
	for key, value := range second {
		out[key] = value
	}
	return out
}

// claimLabels returns the labels a claim's node is sure to have.
func (p *nodeMaker) claimLabels(claim *model.Claim) map[string]string {
	labels := make(map[string]string)
	if m := p.markets.Of(claim.Class, claim.Pool); m != nil && claim.InstanceType != "" {
		if t, known := m.Index[claim.InstanceType]; known {
			for key, values := range m.Types[t].Labels { // each key on its own: the order does not matter
				if len(values) == 1 && !offering.DecidedByOffering(key) {
					labels[key] = values[0]
				}
			}
		}
	}
	if read, err := requirement.From(claim.Requirements); err == nil {
		for _, key := range offerings.ChosenKeys {
			if value, one := read.Get(key).Single(); one {
				labels[key] = value
			}
		}
	}
	for key, value := range claim.Labels {
		labels[requirement.Normalize(key)] = value
	}
	for key, value := range map[string]string{
		model.LabelNodePool: claim.Pool, model.LabelNodeClass: claim.Class, model.LabelInstanceType: claim.InstanceType,
		model.LabelZone: claim.Zone, model.LabelZoneID: claim.ZoneID, model.LabelCapacityType: claim.CapacityType,
		model.LabelRegistered: "true", model.LabelInitialized: "true",
	} {
		if value != "" {
			labels[key] = value
		}
	}
	return labels
}
