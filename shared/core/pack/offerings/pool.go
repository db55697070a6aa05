package offerings

import (
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// NewHostname stands for the name of a node that is not there yet: no pod can ask for it, because no label has it.
const NewHostname = "\x00"

// Pool is a NodePool ready to be packed. Where skip is set, nothing but source is.
type Pool struct {
	Source *model.Pool
	Skip   *model.Reason // why no node can be made of it, whatever the pod

	Market       *Market
	Requirements requirement.Requirements // what every node of it is
	Custom       requirement.Requirements // the part of base that offerings do not decide
	Allowed      vector.Bitset            // columns its requirements admit
	Open         vector.Bitset            // of those, the ones that can be bought now
	Daemons      []vector.Vector          // by type: what daemons take
	Free         []vector.Vector          // by type: what is left for pods; all −1 where daemons alone are too much
	Claimants    [][]int                  // by type: DaemonSets whose pods claim devices there; nil = there are none
	Flags        flags                    // which custom requirements were met with so far

	Minimums      bool                    // it asks for minValues
	Reserving     bool                    // reserved capacity may be had
	exotic        []bool                  // by type: bought only where no other will do
	offeringSets  map[string]*Set         // sets of offerings met with so far
	NodeTemplates map[string]NodeTemplate // what nodes are, by their custom labels and the venues of their pods
	portDaemons   []Daemon                // daemons of the pool that take host ports
	Tolerated     []Daemon                // daemons that tolerate the pool's taints
	key, chosen   []byte                  // scratch
	wanted        []int                   // scratch
	amounts       []float64               // scratch
	lists         offeringLists
	rooms         []int64   // by type and dimension: room
	inverse       []float64 // by type and dimension: 1/room

	Limited []string  // names of its limits, sorted
	Left    []int64   // what they leave, by limited
	Taken   [][]int64 // what a node takes of them, by column
}

// attracts returns, by type, whether the daemon may run on a node of it.
func (p *Pool) attracts(d Daemon) []bool {
	runs := make([]bool, len(p.Market.Types))
	for _, term := range d.Terms {
		if p.Custom.Compatible(CustomPart(term), nil) != nil {
			continue
		}
		mask := p.Market.ColumnsMeeting(term).And(p.Allowed)
		for c := mask.Next(0); c >= 0; c = mask.Next(c + 1) {
			runs[p.Market.Columns[c].Instance] = true
		}
	}
	return runs
}

// RunsBy returns the offerings on whose nodes the daemon runs.
func (p *Pool) RunsBy(d Daemon) vector.Bitset {
	out := vector.NewBitset(len(p.Market.Columns))
	for _, term := range d.Terms {
		if p.Custom.Compatible(CustomPart(term), nil) == nil {
			out = out.Or(p.Market.ColumnsMeeting(term).And(p.Allowed))
		}
	}
	return out
}

// CustomPart returns the requirements that offerings do not decide.
func CustomPart(term requirement.Requirements) requirement.Requirements {
	out := make(requirement.Requirements)
	for _, key := range term.Keys() {
		if !Decided(key) {
			out[key] = term[key]
		}
	}
	return out
}

// Variant is one way pods may be placed on a pool, whatever they ask for of resources: a combination of custom labels
// and the offerings that suit them then.
type Variant struct {
	flag        int
	OfferingSet *Set
}

// Set is a set of offerings of a pool, with what a search among them needs. Equal sets are one object.
type Set struct {
	ID    int
	Mask  vector.Bitset // offerings, available or not
	Types []entry       // types that can be bought in it now, each by its cheapest offering, cheapest first
	Spot  []int         // types that can be bought as spot now, by price
	Plain int           // of types, how many leading ones are not exotic; exotic ones follow, by price
	Whole *OptionSet    // what a claim can say of it, where every combination is acceptable
	Boxed bool          // whole has been looked for

	options map[string]*Option  // by request and the most a node takes
	values  map[string][]string // by label: what its offerings that can be bought now have
}

// entry is a type's cheapest offering.
type entry struct {
	Instance, Column int
}

// Option is what an offering set has for pods of one size.
type Option struct {
	Flag        int
	OfferingSet *Set
	Alone       int64           // what a pod costs at best on nodes of its kind only, in nano-USD per hour; ≥ 1
	Value       int64           // what a pod counts as in comparisons of nodes; alone, where nothing else is known
	SpotTypes   int             // types available as spot that hold one pod, at most MinSpotTypes
	costs       map[int64]int64 // of one of so many units on nodes of their own; filled when asked for
	Offerings   []int           // columns to open a node with: for each type that holds one pod, its cheapest; by price
	Endless     []int           // of those, the best were there endless units; filled when asked for
}

// offeringLists are lists of offerings met with so far: requests of many sizes fit the same types.
type offeringLists map[offeringList][]int

// offeringList says which of some types are meant.
type offeringList struct {
	types  *entry // the first of all of them, which tells them from others
	number int    // of them
	chosen string // a bit for each that is meant
}
