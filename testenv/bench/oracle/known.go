package oracle

// Known lists what the planner does not do right yet, by check: the seeds of the problems with such findings. OWED.md says of what
// causes. The list only shrinks: `make oracle` fails on a finding that is not on it, and on an entry that is found no more.
var Known = map[Check][]uint64{
	GivenUp: {1001, 1997, 4958, 5043, 6774, 7829},
	Movable: {2999, 3399, 3850, 6774},
	Again:   {649, 1624, 2474, 2674, 2999, 3674, 4199, 4474, 7697, 9050},
}

// KnownSpread is the same of the clusters whose pods are spread (SpreadOut), of which nodes are given back.
var KnownSpread = map[Check][]uint64{}

// KnownSpecs is the same of what Karpenter's specs ask for, by the text of the spec.
var KnownSpecs = map[string]Check{
	"Scheduling Existing Nodes Daemonsets should not subtract daemonset overhead that is not strictly compatible with an existing node": GivenUp,
}

// New returns the findings that are not known, and the known ones of problems with seeds from first up to last that are gone.
func New(findings []Finding, known map[Check][]uint64, first, last uint64) (fresh []Finding, gone []Finding) {
	type entry struct {
		check Check
		seed  uint64
	}
	listed, met := make(map[entry]bool), make(map[entry]bool)
	for check, seeds := range known { // into a map
		for _, seed := range seeds {
			listed[entry{check, seed}] = true
		}
	}
	for _, f := range findings {
		e := entry{f.Check, f.Seed}
		met[e] = true
		if !listed[e] {
			fresh = append(fresh, f)
		}
	}
	for _, check := range checksInOrder {
		for _, seed := range known[check] {
			if seed >= first && seed < last && !met[entry{check, seed}] {
				gone = append(gone, Finding{Check: check, Seed: seed, Kind: "known", Message: "it is found no more: take it off Known and OWED.md"})
			}
		}
	}
	return fresh, gone
}

var checksInOrder = []Check{Whole, Holds, HoldsAnyOffering, ExistingFirst, Movable, GivenUp, Again, Moved, Stranded, During, Skewed}
