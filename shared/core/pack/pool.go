package pack

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

// newHostname stands for the name of a node that is not there yet: no pod can ask for it, because no label has it.
const newHostname = "\x00"

// pool is a NodePool ready to be packed. Where skip is set, nothing but source is.
type pool struct {
	source *model.Pool
	skip   *model.Reason // why no node can be made of it, whatever the pod

	market       *market
	requirements requirement.Requirements // what every node of it is
	custom       requirement.Requirements // the part of base that offerings do not decide
	allowed      vector.Bitset            // columns its requirements admit
	open         vector.Bitset            // of those, the ones that can be bought now
	daemons      []vector.Vector          // by type: what daemons take
	free         []vector.Vector          // by type: what is left for pods; all −1 where daemons alone are too much
	flags        flags                    // which custom requirements were met with so far

	minimums      bool                    // it asks for minValues
	reserving     bool                    // reserved capacity may be had
	exotic        []bool                  // by type: bought only where no other will do
	offeringSets  map[string]*offeringSet // sets of offerings met with so far
	nodeTemplates map[string]nodeTemplate // what nodes are, by their custom labels and the venues of their pods
	portDaemons   []daemon                // daemons of the pool that take host ports
	tolerated     []daemon                // daemons that tolerate the pool's taints
	key, chosen   []byte                  // scratch
	wanted        []int                   // scratch
	amounts       []float64               // scratch
	lists         offeringLists
	rooms         []int64   // by type and dimension: room
	inverse       []float64 // by type and dimension: 1/room

	limited []string  // names of its limits, sorted
	left    []int64   // what they leave, by limited
	taken   [][]int64 // what a node takes of them, by column
}

// newPools prepares the pools, highest weight first, then by name.
func newPools(in *input.Input, dims vector.Dimensions, markets *markets, daemons []daemon) []*pool {
	pools := make([]*pool, 0, len(in.Snapshot.Pools))
	for i := range in.Snapshot.Pools {
		source := &in.Snapshot.Pools[i]
		p := &pool{source: source, skip: unusable(source, in, markets)}
		if p.skip == nil {
			p.prepare(markets.of(source.Template.ClassName), daemons)
			p.setLimits(in.Usage[source.Name])
			p.skip = p.empty()
		}
		pools = append(pools, p)
	}
	slices.SortStableFunc(pools, func(a, b *pool) int {
		return cmp.Or(cmp.Compare(b.source.Weight, a.source.Weight), strings.Compare(a.source.Name, b.source.Name))
	})
	return pools
}

// copiedPools returns pools to plan on, of which so much is used.
func copiedPools(pristine []*pool, usage map[string]model.Resources) []*pool {
	out := make([]*pool, len(pristine))
	for i, known := range pristine {
		p := *known
		if p.skip == nil {
			p.nodeTemplates, p.flags, p.left = nil, newFlags(p.custom), p.leftOf(usage[p.source.Name])
		}
		out[i] = &p
	}
	return out
}

// unusable returns why no node can be made of the pool at all; nil where it can.
func unusable(source *model.Pool, in *input.Input, markets *markets) *model.Reason {
	class := source.Template.ClassName
	switch {
	case len(source.Invalid) > 0:
		return &model.Reason{Pool: source.Name, Code: input.PoolInvalid, Message: strings.Join(source.Invalid, "; "), Remedy: "correct the NodePool"}
	case source.DeletedUnix != 0:
		return &model.Reason{Pool: source.Name, Code: input.PoolDeleting, Message: "the NodePool is being deleted", Remedy: "use another NodePool"}
	case source.Replicas != nil:
		return &model.Reason{Pool: source.Name, Code: input.PoolStatic, Message: fmt.Sprintf("spec.replicas is %d: the pool has a fixed size", *source.Replicas),
			Remedy: "raise spec.replicas or use a NodePool without it"}
	case in.SuspendedPools[source.Name] != "":
		return &model.Reason{Pool: source.Name, Code: input.PoolSuspended, Message: in.SuspendedPools[source.Name],
			Remedy: "declare the taint in the NodePool, or fix its nodes"}
	case in.ClassProblems[class] != "":
		return &model.Reason{Pool: source.Name, Code: input.ClassNotReady, Message: fmt.Sprintf("EC2NodeClass %q: %s", class, in.ClassProblems[class]),
			Remedy: "correct the EC2NodeClass"}
	case markets.of(class) == nil:
		return &model.Reason{Pool: source.Name, Code: input.ClassNotReady, Message: fmt.Sprintf("EC2NodeClass %q does not exist", class),
			Remedy: "create it, or correct spec.template.spec.nodeClassRef"}
	}
	_, err := requirement.From(source.Template.Requirements)
	if err == nil {
		err = contradiction(template(source))
	}
	if err != nil {
		return &model.Reason{Pool: source.Name, Code: input.PoolInvalid, Message: "spec.template.spec.requirements: " + err.Error(), Remedy: "correct the NodePool"}
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
func (p *pool) empty() *model.Reason {
	if !p.allowed.Empty() {
		return nil
	}
	message := fmt.Sprintf("spec.template.spec.requirements allow none of the %d instance types of EC2NodeClass %q", len(p.market.types), p.source.Template.ClassName)
	types := make([]model.InstanceType, len(p.market.types))
	for i, t := range p.market.types {
		types[i] = *t
	}
	asked := offering.Requirements(&p.source.Template)
	if e, found := offering.Excludes(types, asked); found {
		message += ": " + e.Why(asked)
	}
	return &model.Reason{Pool: p.source.Name, Code: input.NoInstanceTypes, Message: message, Remedy: "widen the requirements"}
}

func (p *pool) prepare(m *market, daemons []daemon) {
	p.market = m
	p.requirements = template(p.source)
	p.custom = p.requirements.Intersect(nil)
	for _, key := range p.requirements.Keys() {
		if decided(key) {
			p.custom = p.custom.Without(key)
		}
	}
	p.custom = p.custom.With(model.LabelHostname, requirement.Values(newHostname)).
		With(model.LabelRegistered, requirement.Values("true")).
		With(model.LabelInitialized, requirement.Values("true"))
	p.flags = newFlags(p.custom)
	p.minimums = p.requirements.MinValues()
	p.offeringSets, p.lists = make(map[string]*offeringSet), make(offeringLists)
	p.exotic = make([]bool, len(m.types))
	for t := range m.types {
		p.exotic[t] = offering.Exotic(m.types[t])
	}
	p.allowed = m.columnsMeeting(p.requirements)
	p.open = p.allowed.And(m.available)
	for c := p.open.Next(0); c >= 0; c = p.open.Next(c + 1) {
		p.reserving = p.reserving || m.columns[c].offering.CapacityType == model.Reserved
	}
	p.placeDaemons(daemons)
}

// template returns what every node of the pool is: its requirements, its labels, and the labels all nodes of it get. The
// requirements must be readable.
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

// placeDaemons sums up, for each type, the daemons that may run on some node of it. A daemon that only some offerings of
// the type would attract counts for all of them: too much room is kept rather than too little.
func (p *pool) placeDaemons(daemons []daemon) {
	m := p.market
	p.daemons = make([]vector.Vector, len(m.types))
	p.free = make([]vector.Vector, len(m.types))
	for t := range m.types {
		p.daemons[t] = make(vector.Vector, len(m.whole[t]))
	}
	for _, d := range daemons {
		if hard, _ := terms.Untolerated(d.tolerations, p.source.Template.Taints); hard != nil {
			continue
		}
		p.tolerated = append(p.tolerated, d)
		if len(d.ports) > 0 {
			p.portDaemons = append(p.portDaemons, d)
		}
		for t, runs := range p.attracts(d) {
			if runs {
				p.daemons[t].AddSaturating(d.request)
			}
		}
	}
	for t := range m.types {
		p.free[t] = m.whole[t].Minus(p.daemons[t])
		if slices.Min(p.free[t]) < 0 { // it would be over its capacity with no pod on it
			p.free[t] = full(len(p.free[t]))
		}
		p.rooms = append(p.rooms, p.free[t]...)
		for _, amount := range p.free[t] {
			p.inverse = append(p.inverse, 1/float64(max(1, amount)))
		}
	}
}

// full returns the room of a node that holds nothing, since every pod takes one of pods.
func full(dims int) vector.Vector { return slices.Repeat(vector.Vector{-1}, dims) }

// attracts returns, by type, whether the daemon may run on a node of it.
func (p *pool) attracts(d daemon) []bool {
	runs := make([]bool, len(p.market.types))
	for _, term := range d.terms {
		if p.custom.Compatible(customPart(term), nil) != nil {
			continue
		}
		mask := p.market.columnsMeeting(term).And(p.allowed)
		for c := mask.Next(0); c >= 0; c = mask.Next(c + 1) {
			runs[p.market.columns[c].instance] = true
		}
	}
	return runs
}

// runsBy returns the offerings on whose nodes the daemon runs.
func (p *pool) runsBy(d daemon) vector.Bitset {
	out := vector.NewBitset(len(p.market.columns))
	for _, term := range d.terms {
		if p.custom.Compatible(customPart(term), nil) == nil {
			out = out.Or(p.market.columnsMeeting(term).And(p.allowed))
		}
	}
	return out
}

// customPart returns the requirements that offerings do not decide.
func customPart(term requirement.Requirements) requirement.Requirements {
	out := make(requirement.Requirements)
	for _, key := range term.Keys() {
		if !decided(key) {
			out[key] = term[key]
		}
	}
	return out
}
