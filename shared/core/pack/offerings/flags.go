package offerings

import (
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
)

// flags numbers the combinations of custom requirements met with on one pool, so that whether two pods agree on custom
// labels is looked up and not computed again. Number 0 is the pool's own.
type flags struct {
	Sets  []requirement.Requirements
	byKey map[string]int
	both  map[[2]int]int
}

func newFlags(base requirement.Requirements) flags {
	return flags{Sets: []requirement.Requirements{base}, byKey: map[string]int{terms.KeyOf(base): 0}, both: make(map[[2]int]int)}
}

// number returns the number of base narrowed by custom; false where no node can be that: a key neither side leaves
// open, or one that no label value can be found for.
func (f *flags) number(base, custom requirement.Requirements) (int, bool) {
	if len(custom) == 0 {
		return 0, true
	}
	if base.Compatible(custom, nil) != nil {
		return 0, false
	}
	return f.intern(base.Intersect(known(custom, base)))
}

// known returns the part of custom that base names. What base does not name was accepted because the label may
// be absent, and absent it will be.
func known(custom, base requirement.Requirements) requirement.Requirements {
	out := make(requirement.Requirements)
	for key, set := range custom {
		if base.Has(key) {
			out[key] = set
		}
	}
	return out
}

func (f *flags) intern(set requirement.Requirements) (int, bool) {
	for _, key := range set.Keys() {
		if _, ok := set[key].Pick(); !ok && !set[key].AllowsAbsent() {
			return 0, false
		}
	}
	text := terms.KeyOf(set)
	n, seen := f.byKey[text]
	if !seen {
		n = len(f.Sets)
		f.Sets = append(f.Sets, set)
		f.byKey[text] = n
	}
	return n, true
}

// Join returns the number of what both combinations allow; false where they contradict each other.
func (f *flags) Join(a, b int) (int, bool) {
	if a == b || b == 0 {
		return a, true
	}
	if a == 0 {
		return b, true
	}
	if a > b {
		a, b = b, a
	}
	pair := [2]int{a, b}
	joined, seen := f.both[pair]
	if !seen {
		n, ok := f.intern(f.Sets[a].Intersect(f.Sets[b]))
		if !ok {
			n = -1
		}
		f.both[pair], joined = n, n
	}
	return joined, joined >= 0
}
