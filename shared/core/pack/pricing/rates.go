package pricing

import (
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

// Bounds on the effort, and how it is spent.
const (
	firstRounds   = 30  // of adjustment
	outlook       = 6   // rounds after which offerings far more expensive than others are given up
	hopeless      = 1.4 // how far that is, as a factor
	fewOfferings  = 8   // of which none is
	laterRounds   = 6   // once some of the units are placed
	mostCohorts   = 300 // of units that are alike, where telling fewer sizes apart can do it
	offeringsEach = 48  // compared for an offering set
	nearly        = 0.1 // how much more expensive, as a part, an offering may be to get some of the units; at first
	step          = 0.5 // how far rates move; at first
	atLast        = 0.1 // of both
	leastShare    = 1e-4
	mostShort     = 3.0 // how many times the mean a resource counts as short, at most
)

// Rates are the rates of the offerings of one pool, and the search for them.
type Rates struct {
	pool        *offerings.Pool
	open        vector.Bitset
	resources   int
	cpu, memory int
	slots       map[unitLimit]int
	caps        []float64 // by slot
	cohorts     []cohort
	cohortOf    []int       // by pod request
	columns     []int       // of the offerings compared
	rooms       [][]float64 // by offering and dimension, which are resources and then slots
	shares      [][]float64 // by offering and dimension: parts of its price, 1 together
	rates       [][]float64 // by offering and dimension: shares·price/room, in micro-USD per hour
	best        [][]float64 // rates at which units cost most so far
	load        [][]float64 // scratch, by offering and dimension
	every, used []int32     // offerings: all, and those units went to of late
	costs       []float64   // scratch
	request     []float64   // scratch
}

// Request is units of a pod group that are to be placed.
type Request struct {
	PodGroup *group.PodGroup
	Options  []*offerings.Option
	Count    int
}

// unitLimit is a bound on how many units of some pod groups a node takes, which is a resource like others.
type unitLimit struct {
	topologyGroup int // that bounds them; below 0, the pod group that bounds itself
	most          int64
}

// cohort is units that may be on the same offerings and ask for about the same.
type cohort struct {
	offeringSets []*offerings.Set
	request      []float64 // their mean, by resource
	slots        []int     // they take one of each
	count        float64   // units
	offerings    []int32   // that admit and hold the mean
	cost         float64   // of one, by the rates found
	trend        float64   // of it, as a factor, since the rates before
}

// fits reports whether the offering has room for the request.
func (p *Rates) fits(o int, request []float64) bool {
	for d, amount := range request {
		if amount > p.rooms[o][d] {
			return false
		}
	}
	return true
}

// cost returns what a request and its slots cost by an offering's rates.
func (p *Rates) cost(request []float64, slots []int, rates []float64) float64 {
	sum := 0.0
	for d, amount := range request {
		sum += float64(amount * rates[d])
	}
	for _, s := range slots {
		sum += rates[p.resources+s]
	}
	return sum
}
