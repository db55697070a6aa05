package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// draftKey is what the existing node of a claim on its way depends on.
type draftKey struct {
	claim               string // its name: of one name they are alike in all plans of a simulator, but for the pods they are promised to
	withPorts, withSets bool
}

// fromClaim describes a claim whose node has not joined.
func (p *nodeMaker) fromClaim(claim *model.Claim) *existingNode {
	if p.drafts == nil {
		return p.draft(claim)
	}
	key := draftKey{claim.Name, p.needPorts, p.needConflicts}
	known := p.drafts[key]
	if known == nil {
		known = p.draft(claim)
		known.ports, known.coming, known.open = slices.Clip(known.ports), slices.Clip(known.coming), make(map[string][]string)
		p.drafts[key] = known
	}
	s := *known
	s.free, s.promised = slices.Clone(known.free), claim.Pods
	return &s
}

// draft describes a claim whose node has not joined, whatever was made before.
func (p *nodeMaker) draft(claim *model.Claim) *existingNode {
	s := &existingNode{name: claim.Name, labels: p.claimLabels(claim), taints: claim.Taints, promised: claim.Pods, number: -1, cache: -1}
	s.labels[model.LabelHostname] = offerings.NewHostname
	m := p.markets.Of(claim.Class)
	if claim.InstanceType == "" {
		p.anyOf(s, claim, m)
		return s
	}
	amounts := claim.Allocatable
	if m != nil && len(amounts) == 0 {
		if t, known := m.Index[claim.InstanceType]; known {
			amounts = vector.Allocatable(m.Types[t].Allocatable())
		}
	}
	s.blind = len(amounts) == 0
	s.free = p.dims.Vector(amounts)
	p.reserveDaemons(s, nil)
	return s
}

// anyOf makes the existing node as small as the smallest instance the claim may become, beside that instance's daemons.
func (p *nodeMaker) anyOf(s *existingNode, claim *model.Claim, m *offerings.Market) {
	read, err := requirement.From(claim.Requirements)
	if m == nil || err != nil {
		s.blind, s.free = true, make(vector.Vector, len(p.dims))
		return
	}
	wanted := make([]bool, len(m.Types))
	for _, name := range claim.InstanceTypes {
		if t, known := m.Index[name]; known {
			wanted[t] = true
		}
	}
	mask := m.ColumnsMeeting(read)
	s.market, s.mask = m, vector.NewBitset(len(m.Columns))
	for c := mask.Next(0); c >= 0; c = mask.Next(c + 1) {
		if wanted[m.Columns[c].Instance] {
			s.mask.Set(c)
		}
	}
	runs := p.daemonColumns(s)
	for t := range m.Types {
		if !wanted[t] {
			continue
		}
		room := m.Whole[t].Minus(p.daemonsOn(s, t, runs))
		if s.free == nil {
			s.free = room
		}
		s.free = s.free.Lower(room)
	}
	if s.free == nil {
		s.free = make(vector.Vector, len(p.dims))
	}
	s.blind = s.mask.Empty()
	if !s.blind {
		s.settleLabels()
	}
}

// settleLabels gives the existing node the labels every offering it may become agrees on.
func (s *existingNode) settleLabels() {
	for _, key := range []string{model.LabelZone, model.LabelZoneID, model.LabelCapacityType, model.LabelArch, model.LabelOS, model.LabelTenancy, model.LabelPartition} {
		values := s.market.ValuesIn(s.mask, key)
		if len(values) == 1 && s.labels[key] == "" {
			s.labels[key] = values[0]
		}
	}
}

// daemonsOn sums up the daemons that may run on an instance of the type, should the claim become one. runs are the columns each
// daemon accepts; see daemonColumns.
func (p *nodeMaker) daemonsOn(s *existingNode, t int, runs [][]vector.Bitset) vector.Vector {
	sum := make(vector.Vector, len(p.dims))
	for i := range p.daemons {
		d := &p.daemons[i]
		if !slices.ContainsFunc(s.market.ColumnsOf[t], func(c int) bool {
			return s.mask.Has(c) && slices.ContainsFunc(runs[i], func(mask vector.Bitset) bool { return mask.Has(c) })
		}) {
			continue
		}
		sum.AddSaturating(d.Request)
		if p.needConflicts && !slices.Contains(s.coming, d.Set) {
			s.coming = append(s.coming, d.Set)
		}
	}
	return sum
}

// daemonColumns returns by daemon, for each of its terms that the claim meets in all else, the columns that meet the rest.
func (p *nodeMaker) daemonColumns(s *existingNode) [][]vector.Bitset {
	read, known := p.daemonTerms[s.market]
	if !known {
		for i := range p.daemons {
			read = append(read, offerings.NewReading(p.daemons[i].Terms, s.market))
		}
		if p.daemonTerms == nil {
			p.daemonTerms = make(map[*offerings.Market][]*offerings.Reading)
		}
		p.daemonTerms[s.market] = read
	}
	out := make([][]vector.Bitset, len(p.daemons))
	for i := range p.daemons {
		if hard, _ := terms.Untolerated(p.daemons[i].Tolerations, s.taints); hard == nil {
			out[i] = columnsOf(read[i], s, nil)
		}
	}
	return out
}

// claimLabels returns the labels a claim's node is sure to have.
func (p *nodeMaker) claimLabels(claim *model.Claim) map[string]string {
	labels := make(map[string]string)
	if m := p.markets.Of(claim.Class); m != nil && claim.InstanceType != "" {
		if t, known := m.Index[claim.InstanceType]; known {
			for key, values := range m.Types[t].Labels { // each key on its own: the order does not matter
				if len(values) == 1 && !offerings.ByOffering(key) {
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
