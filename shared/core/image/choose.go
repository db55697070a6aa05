package image

import (
	"encoding/json"
	"fmt"
	"sort"

	"github.com/joiner-sh/joiner/shared/model"
)

// Choose returns the images to use: for each set of requirements the best one found, ordered newest first, then by id.
// An image that is not deprecated beats one that is, then the newer, then the lexically greater name. Nil where nothing
// was found.
func Choose(found []model.Image) []model.Image {
	best := map[string]model.Image{}
	for _, candidate := range found {
		candidate.Requirements = sorted(candidate.Requirements)
		key := keyOf(candidate.Requirements)
		if have, ok := best[key]; !ok || better(candidate, have) {
			best[key] = candidate
		}
	}
	keys := make([]string, 0, len(best))
	for key := range best {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	var chosen []model.Image
	for _, key := range keys {
		chosen = append(chosen, best[key])
	}
	sort.SliceStable(chosen, func(i, j int) bool {
		if chosen[i].CreatedUnix != chosen[j].CreatedUnix {
			return chosen[i].CreatedUnix > chosen[j].CreatedUnix
		}
		return chosen[i].ID < chosen[j].ID
	})
	return chosen
}

func better(a, b model.Image) bool {
	if a.Deprecated != b.Deprecated {
		return !a.Deprecated
	}
	if a.CreatedUnix != b.CreatedUnix {
		return a.CreatedUnix > b.CreatedUnix
	}
	if a.Name != b.Name {
		return a.Name > b.Name
	}
	return a.ID > b.ID
}

// sorted returns requirements by key length, then key: the order people see in the status.
func sorted(requirements []model.Requirement) []model.Requirement {
	out := append([]model.Requirement{}, requirements...)
	sort.SliceStable(out, func(i, j int) bool {
		if len(out[i].Key) != len(out[j].Key) {
			return len(out[i].Key) < len(out[j].Key)
		}
		return out[i].Key < out[j].Key
	})
	return out
}

func keyOf(requirements []model.Requirement) string {
	text, err := json.Marshal(requirements)
	if err != nil {
		panic(fmt.Sprintf("requirements cannot be encoded: %v", err)) // plain strings always can
	}
	return string(text)
}
