package provision

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// unfit notes which replacements cannot be launched for a reason that waiting does not mend, such as their pool's limits, and has the disruption function
// look: it undoes their commands, whose nodes would stay tainted without effect. What was noted of commands that have ended is forgotten.
func (r *pass) unfit(why map[string]string) {
	notes := map[string]model.Unfit{}
	for _, unfit := range r.ledger.Notes.Unfit {
		if _, again := why[unfit.Name]; again && r.replaces(unfit.Name) != nil {
			notes[unfit.Name] = unfit
		}
	}
	for name, text := range why {
		if _, known := notes[name]; !known {
			notes[name] = model.Unfit{Name: name, Why: text, AtUnix: r.now()}
		}
		r.moved(name)
	}
	var list []model.Unfit
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		list = append(list, notes[name])
	}
	if !slices.Equal(list, r.ledger.Notes.Unfit) {
		r.ledger.Notes.Unfit, r.noted = list, true
	}
}
