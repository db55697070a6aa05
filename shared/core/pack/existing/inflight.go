package existing

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// fromClaim describes a claim whose node has not joined.
func (p *nodeMaker) fromClaim(claim *model.Claim) *Node {
	if p.drafts == nil {
		return p.draft(claim)
	}
	key := draftKey{claim.Name, p.NeedPorts, p.NeedConflicts}
	known := p.drafts[key]
	if known == nil {
		known = p.draft(claim)
		known.Ports, known.coming, known.open = slices.Clip(known.Ports), slices.Clip(known.coming), make(map[string][]string)
		p.drafts[key] = known
	}
	s := *known
	s.Free, s.Promised = slices.Clone(known.Free), claim.Pods
	return &s
}

// draft describes a claim whose node has not joined, whatever was made before.
func (p *nodeMaker) draft(claim *model.Claim) *Node {
	s := &Node{Name: claim.Name, labels: p.claimLabels(claim), Taints: claim.Taints, Promised: claim.Pods, Number: -1, cache: -1}
	s.labels[model.LabelHostname] = offerings.NewHostname
	m := p.markets.Of(claim.Class, claim.Pool)
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
	s.Blind = len(amounts) == 0
	s.Free = p.dims.Vector(amounts)
	p.reserveDaemons(s, nil)
	return s
}

// anyOf makes the existing node as small as the smallest instance the claim may become, beside that instance's daemons.
func (p *nodeMaker) anyOf(s *Node, claim *model.Claim, m *offerings.Market) {
	read, err := requirement.From(claim.Requirements)
	if m == nil || err != nil {
		s.Blind, s.Free = true, make(vector.Vector, len(p.dims))
		return
	}
	wanted := make([]bool, len(m.Types))
	for _, name := range claim.InstanceTypes {
		if t, known := m.Index[name]; known {
			wanted[t] = true
		}
	}
	mask := m.ColumnsMeeting(read)
	s.Market, s.mask = m, vector.NewBitset(len(m.Columns))
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
		if s.Free == nil {
			s.Free = room
		}
		s.Free = s.Free.Lower(room)
	}
	if s.Free == nil {
		s.Free = make(vector.Vector, len(p.dims))
	}
	s.Blind = s.mask.Empty()
	if !s.Blind {
		s.settleLabels()
	}
}

// daemonsOn sums up the daemons that may run on an instance of the type, should the claim become one. runs are the
// columns each daemon accepts; see daemonColumns.
func (p *nodeMaker) daemonsOn(s *Node, t int, runs [][]vector.Bitset) vector.Vector {
	sum := make(vector.Vector, len(p.dims))
	for i := range p.Daemons {
		d := &p.Daemons[i]
		if !slices.ContainsFunc(s.Market.ColumnsOf[t], func(c int) bool {
			return s.mask.Has(c) && slices.ContainsFunc(runs[i], func(mask vector.Bitset) bool { return mask.Has(c) })
		}) {
			continue
		}
		sum.AddSaturating(d.Request)
		if p.NeedConflicts && !slices.Contains(s.coming, d.Set) {
			s.coming = append(s.coming, d.Set)
		}
		if d.Claims && !slices.Contains(s.claiming, d.Set) {
			s.claiming = append(s.claiming, d.Set)
		}
	}
	return sum
}

// daemonColumns returns by daemon, for each of its terms that the claim meets in all else, the columns that meet the
// rest.
func (p *nodeMaker) daemonColumns(s *Node) [][]vector.Bitset {
	read, known := p.daemonTerms[s.Market]
	if !known {
		for i := range p.Daemons {
			read = append(read, offerings.NewReading(p.Daemons[i].Terms, s.Market))
		}
		if p.daemonTerms == nil {
			p.daemonTerms = make(map[*offerings.Market][]*offerings.Reading)
		}
		p.daemonTerms[s.Market] = read
	}
	out := make([][]vector.Bitset, len(p.Daemons))
	for i := range p.Daemons {
		if hard, _ := terms.Untolerated(p.Daemons[i].Tolerations, s.Taints); hard == nil {
			out[i] = columnsOf(read[i], s, nil)
		}
	}
	return out
}
