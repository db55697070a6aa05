package group

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// ReadGuards notes the required anti-affinity terms of a shape and returns the guards they are. A term that cannot be
// read guards nothing.
func (b *PodRules) ReadGuards(shape *model.PodShape) []int {
	var out []int
	for i := range shape.PodAntiAffinity {
		term := &shape.PodAntiAffinity[i]
		peers, err := b.ofTerm(term, shape)
		if err != nil || term.TopologyKey == "" {
			continue
		}
		g := b.guardOf(peers, term.TopologyKey)
		if !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// ofTerm returns the pods an affinity term names. Most terms are one label, and many pods have the same.
func (b *PodRules) ofTerm(term *model.PodTerm, shape *model.PodShape) (topology.Peers, error) {
	if !oneLabel(term.Selector) || len(term.Namespaces)+len(term.MatchLabelKeys)+len(term.MismatchLabelKeys) > 0 || term.NamespaceSelector != nil {
		return topology.PeersOfTerm(term, shape, b.namespaces)
	}
	return b.remember("term", shape.Namespace, term.Selector, func() (topology.Peers, error) { return topology.PeersOfTerm(term, shape, b.namespaces) })
}

// ofSpread returns the pods a spread constraint counts.
func (b *PodRules) ofSpread(s *model.Spread, shape *model.PodShape) (topology.Peers, error) {
	if !oneLabel(s.Selector) || len(s.MatchLabelKeys) > 0 {
		return topology.PeersOfSpread(s, shape)
	}
	return b.remember("spread", shape.Namespace, s.Selector, func() (topology.Peers, error) { return topology.PeersOfSpread(s, shape) })
}

func oneLabel(s *model.Selector) bool {
	return s != nil && len(s.MatchLabels) == 1 && len(s.Expressions) == 0
}

func (b *PodRules) remember(what, namespace string, selector *model.Selector, read func() (topology.Peers, error)) (topology.Peers, error) {
	key := [4]string{what, namespace}
	for name, value := range selector.MatchLabels { // one
		key[2], key[3] = name, value
	}
	if known, ok := b.known[key]; ok {
		return known, nil
	}
	peers, err := read()
	if err == nil {
		b.known[key] = peers
	}
	return peers, err
}

// readUses returns the shape's own rules; an error names the field that cannot be read. With arrived those it has to be
// near must be there already, and those it has to be far from have left when they are gone and not when that is
// planned.
func (b *PodRules) readUses(shape *model.PodShape, own []requirement.Requirements, arrived bool) (hard, soft []Constraint, no *model.Reason) {
	if hard, no = b.readAffinity(shape, arrived); no != nil {
		return nil, nil, no
	}
	anti, no := b.readAnti(shape, arrived)
	if no != nil {
		return nil, nil, no
	}
	hard = append(hard, anti...)
	spreads, softSpreads, no := b.ReadSpreads(shape, own)
	if no != nil {
		return nil, nil, no
	}
	hard, soft = append(hard, spreads...), append(soft, softSpreads...)
	if b.ignoreSoft {
		return hard, nil, nil
	}
	return hard, append(soft, b.readPreferred(shape)...), nil
}

// readAffinity reads the required affinity terms. kube-scheduler counts a pod for any of them only where it matches
// all.
func (b *PodRules) readAffinity(shape *model.PodShape, arrived bool) ([]Constraint, *model.Reason) {
	if len(shape.PodAffinity) == 0 {
		return nil, nil
	}
	const field = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"
	var all []topology.Peers
	for i := range shape.PodAffinity {
		peers, err := b.ofTerm(&shape.PodAffinity[i], shape)
		switch {
		case err != nil:
			return nil, terms.Unreadable(indexed(field, i), err.Error(), "correct the term")
		case shape.PodAffinity[i].TopologyKey == "":
			return nil, terms.Unreadable(indexed(field, i)+".topologyKey", "it is empty", "name a node label, such as "+model.LabelZone)
		}
		all = append(all, peers)
	}
	set := b.peersSet(PodSet{peers: all, Arrived: arrived})
	var out []Constraint
	for i := range shape.PodAffinity {
		u := Constraint{Kind: Affinity, TopologyGroup: b.topologyGroup(set, shape.PodAffinity[i].TopologyKey, -1), field: indexed(field, i),
			text: selectorText(shape.PodAffinity[i].Selector)}
		b.TopologyGroups[u.TopologyGroup].Followed = true
		if !slices.ContainsFunc(out, func(v Constraint) bool { return v.TopologyGroup == u.TopologyGroup }) {
			out = append(out, u)
		}
	}
	return out, nil
}

func (b *PodRules) readAnti(shape *model.PodShape, lingers bool) ([]Constraint, *model.Reason) {
	const field = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
	var out []Constraint
	for i := range shape.PodAntiAffinity {
		peers, err := b.ofTerm(&shape.PodAntiAffinity[i], shape)
		switch {
		case err != nil:
			return nil, terms.Unreadable(indexed(field, i), err.Error(), "correct the term")
		case shape.PodAntiAffinity[i].TopologyKey == "":
			return nil, terms.Unreadable(indexed(field, i)+".topologyKey", "it is empty", "name a node label, such as "+model.LabelHostname)
		}
		set := b.peersSet(PodSet{peers: []topology.Peers{peers}, Lingers: lingers})
		out = append(out, Constraint{Kind: AntiAffinity, TopologyGroup: b.topologyGroup(set, shape.PodAntiAffinity[i].TopologyKey, -1), field: indexed(field, i),
			text: selectorText(shape.PodAntiAffinity[i].Selector)})
	}
	return out, nil
}

// ReadSpreads returns the topology spread constraints of a shape whose nodes must be as own says: those that must hold
// and, unless preferences are ignored, the others.
func (b *PodRules) ReadSpreads(shape *model.PodShape, own []requirement.Requirements) (hard, soft []Constraint, no *model.Reason) {
	var keys []string
	for i := range shape.Spread {
		if !shape.Spread[i].Anyway {
			keys = append(keys, requirement.Normalize(shape.Spread[i].TopologyKey))
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for i := range shape.Spread {
		s := &shape.Spread[i]
		if s.Anyway && b.ignoreSoft {
			continue
		}
		field := cmp.Or(s.Field, indexed("spec.topologySpreadConstraints", i))
		peers, err := b.ofSpread(s, shape)
		switch {
		case s.Anyway && (err != nil || s.TopologyKey == ""):
			continue
		case err != nil:
			return nil, nil, terms.Unreadable(field, err.Error(), "correct the constraint")
		case s.TopologyKey == "":
			return nil, nil, terms.Unreadable(field+".topologyKey", "it is empty", "name a node label, such as "+model.LabelZone)
		case s.MaxSkew < 1 && !s.Anyway:
			return nil, nil, terms.Unreadable(field+".maxSkew", fmt.Sprintf("%d is less than 1", s.MaxSkew), "give 1 or more")
		}
		u := Constraint{Kind: Spread, MaxSkew: max(1, s.MaxSkew), MinDomains: s.MinDomains, field: field, text: selectorText(s.Selector)}
		u.TopologyGroup = b.topologyGroup(b.peersSet(PodSet{peers: []topology.Peers{peers}, Living: true}), s.TopologyKey, b.filter(s, shape, own, keys))
		if s.Anyway {
			u.Weight = 100
			soft = append(soft, u)
			continue
		}
		t := &b.TopologyGroups[u.TopologyGroup]
		if !t.Wanted || u.MaxSkew < t.Tightest {
			t.Wanted, t.Tightest = true, u.MaxSkew
		}
		t.Domains = max(t.Domains, u.MinDomains)
		hard = append(hard, u)
	}
	return hard, soft, nil
}

// filter interns which nodes the constraint looks at.
func (b *PodRules) filter(s *model.Spread, shape *model.PodShape, own []requirement.Requirements, keys []string) int {
	f := Filter{taints: s.HonorNodeTaints, Keys: keys, Passed: make(map[int]bool), pools: make(map[*offerings.Pool]bool)}
	var name strings.Builder
	if !s.IgnoreNodeAffinity {
		f.Terms = own
		for _, term := range own {
			name.WriteString(terms.KeyOf(term) + "|")
		}
	}
	if f.taints {
		f.Tolerations = [][]model.Toleration{shape.Tolerations}
		name.WriteString("\x00" + terms.KeyOfTolerations(shape.Tolerations))
	}
	name.WriteString("\x00" + strconv.FormatBool(f.taints))
	for _, key := range keys {
		name.WriteString("\x00" + key)
	}
	key := name.String()
	i, known := b.filterOf[key]
	if !known {
		i = len(b.Filters)
		b.Filters = append(b.Filters, f)
		b.filterOf[key] = i
	}
	return i
}

func (b *PodRules) readPreferred(shape *model.PodShape) []Constraint {
	var out []Constraint
	read := func(terms []model.WeightedPodTerm, kind kind) {
		for i := range terms {
			peers, err := topology.PeersOfTerm(&terms[i].Term, shape, b.namespaces)
			if err != nil || terms[i].Term.TopologyKey == "" || terms[i].Weight <= 0 {
				continue
			}
			set := b.peersSet(PodSet{peers: []topology.Peers{peers}})
			out = append(out, Constraint{Kind: kind, TopologyGroup: b.topologyGroup(set, terms[i].Term.TopologyKey, -1), Weight: min(100, terms[i].Weight)})
		}
	}
	read(shape.PreferredPodAffinity, Affinity)
	read(shape.PreferredPodAntiAffinity, AntiAffinity)
	return out
}

// indexed names an item of a list field.
func indexed(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

func selectorText(s *model.Selector) string {
	if s == nil {
		return "no pod"
	}
	var parts []string
	for key, value := range s.MatchLabels { // sorted below
		parts = append(parts, key+"="+value)
	}
	for _, e := range s.Expressions {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Key, e.Operator, strings.Join(e.Values, ","))))
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return "every pod"
	}
	return "pods with " + strings.Join(parts, ", ")
}
