package lifecycle

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// Recount is a pool whose usage is not what its claims hold.
type Recount struct {
	Pool     string          `json:"pool"`
	Counted  model.Resources `json:"counted"` // what its usage says, without what is 0
	Reserved model.Resources `json:"held"`    // what its live claims hold together, without what is 0
	Version  int64           `json:"version"` // of the usage; 0 = there is none
}

// Recounts returns the pools whose usage, as one read found it, is not what the claims of another read hold together,
// by pool. It is exact where that read began after the first had ended and the usage is still at its version
// afterwards: every write that changes what a claim holds raises that. Claims that wait for their launch count with
// what is held for them.
//
// Nothing is said while claims or intents cannot be read, nor of a pool whose usage cannot be read, or a launch of
// which is open that names a claim the ledger does not have.
func Recounts(usage []model.Usage, ledger *model.Ledger) []Recount {
	if ledger.Unread.Any(model.UnreadClaim, model.UnreadIntent) {
		return nil
	}
	held, live := map[string]model.Resources{}, map[string]bool{}
	for i := range ledger.Claims {
		claim := &ledger.Claims[i]
		if !claim.Live() {
			continue
		}
		live[claim.Name] = true
		if held[claim.Pool] == nil {
			held[claim.Pool] = model.Resources{}
		}
		for name, amount := range claim.Reserved {
			held[claim.Pool][name] += amount
		}
	}
	unsure := map[string]bool{}
	for i := range ledger.Intents {
		for _, name := range ledger.Intents[i].Claims {
			unsure[ledger.Intents[i].Pool] = unsure[ledger.Intents[i].Pool] || !live[name]
		}
	}
	for _, u := range ledger.Unread.Of(model.UnreadUsage) {
		unsure[u.Name] = true
	}
	counted := map[string]model.Usage{}
	for _, u := range usage {
		counted[u.Pool] = u
		if held[u.Pool] == nil {
			held[u.Pool] = model.Resources{}
		}
	}
	var out []Recount
	for _, pool := range slices.Sorted(maps.Keys(held)) {
		was, is := nonzero(counted[pool].Reserved), nonzero(held[pool])
		if !unsure[pool] && !maps.Equal(was, is) {
			out = append(out, Recount{Pool: pool, Counted: was, Reserved: is, Version: counted[pool].Version})
		}
	}
	return out
}

func nonzero(amounts model.Resources) model.Resources {
	out := model.Resources{}
	for name, amount := range amounts {
		if amount != 0 {
			out[name] = amount
		}
	}
	return out
}
