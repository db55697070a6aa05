package disrupt

import (
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/wire"
)

// ownKey begins the keys of hints this flow sends because time has passed. Whoever else sends one has seen something change.
const ownKey = "due/"

// busyKey begins the keys of hints that come back because another run was at work, and delayedKey those of hints that do so and that
// somebody sent who had seen something change; how often they have follows.
const (
	busyKey    = ownKey + "busy/"
	delayedKey = "again/"
)

// Take makes the request what a hint asks for too. Of hints of people who have seen something change the one counts that has come back least
// often, since it must be heard; of others the one that has most often.
func (r *Request) Take(hint wire.Hint) {
	if strings.HasPrefix(hint.Tick, ownKey) {
		if !r.Changed {
			r.Redeliveries = max(r.Redeliveries, returns(hint.Tick, busyKey))
		}
		return
	}
	n := returns(hint.Tick, delayedKey)
	if r.Changed {
		n = min(n, r.Redeliveries)
	}
	r.Changed, r.Redeliveries = true, n
}

// returns is how often a hint has come back whose key begins with a prefix.
func returns(key, prefix string) int {
	count, came := strings.CutPrefix(key, prefix)
	if !came {
		return 0
	}
	count, _, _ = strings.Cut(count, "/")
	n, err := strconv.Atoi(count)
	if err != nil || n > 1000 { // of a release before, whose hints named the second alone
		return 0
	}
	return n
}
