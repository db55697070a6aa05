package reclaim

import "github.com/joiner-sh/joiner/shared/model"

// consolidate looks for nodes whose pods fit elsewhere for less. It finds none yet.
//
// The view is left as it was, the room is the optimiser's own. Commands are in the order they are to be carried out, each of them
// planned on the fork as it is after those before it; why says, by node, why a candidate stays.
func consolidate(v *view, candidates []Candidate, room *room) (commands []model.PlannedCommand, why map[string]model.KeptReason) {
	return nil, nil
}
