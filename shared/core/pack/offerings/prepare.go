package offerings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// NewPools prepares the pools, highest weight first, then by name.
func NewPools(in *input.Input, dims vector.Dimensions, markets *Markets, daemons []Daemon) []*Pool {
	pools := make([]*Pool, 0, len(in.Snapshot.Pools))
	for i := range in.Snapshot.Pools {
		source := &in.Snapshot.Pools[i]
		p := &Pool{Source: source, Skip: unusable(source, in, markets)}
		if p.Skip == nil {
			p.prepare(markets.Of(source.Template.ClassName, source.Name), daemons)
			p.setLimits(in.Usage[source.Name])
			p.Skip = p.empty()
		}
		pools = append(pools, p)
	}
	slices.SortStableFunc(pools, func(a, b *Pool) int {
		return cmp.Or(cmp.Compare(b.Source.Weight, a.Source.Weight), strings.Compare(a.Source.Name, b.Source.Name))
	})
	return pools
}

// Copies returns pools to plan on, of which so much is used.
func Copies(pristine []*Pool, usage map[string]model.Resources) []*Pool {
	out := make([]*Pool, len(pristine))
	for i, known := range pristine {
		p := *known
		if p.Skip == nil {
			p.NodeTemplates, p.Flags, p.Left = nil, newFlags(p.Custom), p.leftOf(usage[p.Source.Name])
		}
		out[i] = &p
	}
	return out
}

// unusable returns why no node can be made of the pool at all; nil where it can.
func unusable(source *model.Pool, in *input.Input, markets *Markets) *model.Reason {
	class := source.Template.ClassName
	switch {
	case len(source.Invalid) > 0:
		return &model.Reason{Pool: source.Name, Code: input.PoolInvalid, Message: strings.Join(source.Invalid, "; "),
			Remedy: "correct the NodePool"}
	case source.DeletedUnix != 0:
		return &model.Reason{Pool: source.Name, Code: input.PoolDeleting, Message: "the NodePool is being deleted",
			Remedy: "use another NodePool"}
	case source.Replicas != nil:
		return &model.Reason{Pool: source.Name, Code: input.PoolStatic, Message: fmt.Sprintf("spec.replicas is %d: the pool has a fixed size", *source.Replicas),
			Remedy: "raise spec.replicas or use a NodePool without it"}
	case in.SuspendedPools[source.Name] != "":
		return &model.Reason{Pool: source.Name, Code: input.PoolSuspended, Message: in.SuspendedPools[source.Name],
			Remedy: "declare the taint in the NodePool, or fix its nodes"}
	case in.ClassProblems[class] != "":
		return &model.Reason{Pool: source.Name, Code: input.ClassNotReady, Message: fmt.Sprintf("EC2NodeClass %q: %s", class, in.ClassProblems[class]),
			Remedy: "correct the EC2NodeClass"}
	case markets.Of(class, source.Name) == nil:
		return &model.Reason{Pool: source.Name, Code: input.ClassNotReady, Message: fmt.Sprintf("EC2NodeClass %q does not exist", class),
			Remedy: "create it, or correct spec.template.spec.nodeClassRef"}
	}
	_, err := requirement.From(source.Template.Requirements)
	if err == nil {
		err = contradiction(template(source))
	}
	if err != nil {
		return &model.Reason{Pool: source.Name, Code: input.PoolInvalid,
			Message: "spec.template.spec.requirements: " + err.Error(),
			Remedy:  "correct the NodePool"}
	}
	return nil
}

// contradiction returns an error that names the first key no label value can be found for.
func contradiction(base requirement.Requirements) error {
	for _, key := range base.Keys() {
		_, found := base[key].Pick()
		if !found && !base[key].AllowsAbsent() {
			return fault.New(fault.Invalid, "", "no value meets all requirements of %s, spec.template.metadata.labels included", key)
		}
	}
	return nil
}

// empty returns why no offering at all suits the pool; nil where any does.
func (p *Pool) empty() *model.Reason {
	if !p.Allowed.Empty() {
		return nil
	}
	message := fmt.Sprintf("spec.template.spec.requirements allow none of the %d instance types of EC2NodeClass %q", len(p.Market.Types), p.Source.Template.ClassName)
	types := make([]model.InstanceType, len(p.Market.Types))
	for i, t := range p.Market.Types {
		types[i] = *t
	}
	asked := offering.Requirements(&p.Source.Template)
	if e, found := offering.Excludes(types, asked); found {
		message += ": " + e.Why(asked)
	}
	return &model.Reason{Pool: p.Source.Name, Code: input.NoInstanceTypes, Message: message,
		Remedy: "widen the requirements"}
}

func (p *Pool) prepare(m *Market, daemons []Daemon) {
	p.Market = m
	p.Requirements = template(p.Source)
	p.Custom = p.Requirements.Intersect(nil)
	for _, key := range p.Requirements.Keys() {
		if Decided(key) {
			p.Custom = p.Custom.Without(key)
		}
	}
	p.Custom = p.Custom.With(model.LabelHostname, requirement.Values(NewHostname)).
		With(model.LabelRegistered, requirement.Values("true")).
		With(model.LabelInitialized, requirement.Values("true"))
	p.Flags = newFlags(p.Custom)
	p.Minimums = p.Requirements.MinValues()
	p.offeringSets, p.lists = make(map[string]*Set), make(offeringLists)
	p.exotic = make([]bool, len(m.Types))
	for t := range m.Types {
		p.exotic[t] = offering.Exotic(m.Types[t])
	}
	p.Allowed = m.ColumnsMeeting(p.Requirements)
	p.Open = p.Allowed.And(m.available)
	for c := p.Open.Next(0); c >= 0; c = p.Open.Next(c + 1) {
		p.Reserving = p.Reserving || m.Columns[c].Offering.CapacityType == model.Reserved
	}
	p.placeDaemons(daemons)
}

// template returns what every node of the pool is: its requirements, its labels, and the labels all nodes of it get.
// The requirements must be readable.
func template(source *model.Pool) requirement.Requirements {
	read, err := requirement.From(source.Template.Requirements)
	if err != nil {
		read = nil
	}
	what := read.Intersect(requirement.FromLabels(source.Template.Labels))
	if source.Name != "" { // "" stands for no pool: see One
		what = what.With(model.LabelNodePool, requirement.Values(source.Name))
	}
	return what.
		With(model.LabelNodeClass, requirement.Values(source.Template.ClassName))
}

// placeDaemons sums up, for each type, the daemons that may run on some node of it. A daemon that only some offerings
// of the type would attract counts for all of them: too much room is kept rather than too little.
func (p *Pool) placeDaemons(daemons []Daemon) {
	m := p.Market
	p.Daemons = make([]vector.Vector, len(m.Types))
	p.Free = make([]vector.Vector, len(m.Types))
	for t := range m.Types {
		p.Daemons[t] = make(vector.Vector, len(m.Whole[t]))
	}
	for _, d := range daemons {
		if hard, _ := terms.Untolerated(d.Tolerations, p.Source.Template.Taints); hard != nil {
			continue
		}
		p.Tolerated = append(p.Tolerated, d)
		if len(d.Ports) > 0 {
			p.portDaemons = append(p.portDaemons, d)
		}
		if d.Claims && p.Claimants == nil {
			p.Claimants = make([][]int, len(m.Types))
		}
		for t, runs := range p.attracts(d) {
			if runs {
				p.Daemons[t].AddSaturating(d.Request)
			}
			if runs && d.Claims {
				p.Claimants[t] = append(p.Claimants[t], d.Set)
			}
		}
	}
	for t := range m.Types {
		p.Free[t] = m.Whole[t].Minus(p.Daemons[t])
		if slices.Min(p.Free[t]) < 0 { // it would be over its capacity with no pod on it
			p.Free[t] = full(len(p.Free[t]))
		}
		p.rooms = append(p.rooms, p.Free[t]...)
		for _, amount := range p.Free[t] {
			p.inverse = append(p.inverse, 1/float64(max(1, amount)))
		}
	}
}

// full returns the room of a node that holds nothing, since every pod takes one of pods.
func full(dims int) vector.Vector { return slices.Repeat(vector.Vector{-1}, dims) }
