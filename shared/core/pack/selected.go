package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Selected reports whether a node with these labels is one that a pod's node selector and required node affinity ask
// for, and where it is not what they ask of labels. Terms that name nodes are not looked at, and a pod whose terms
// cannot be read asks for nothing.
func Selected(shape *model.PodShape, labels map[string]string) (wants string, meets bool) {
	terms, no := terms.Required(shape)
	if no != nil || len(terms) == 0 || slices.ContainsFunc(terms, func(term requirement.Requirements) bool { return term.Matches(labels) }) {
		return "", true
	}
	return terms[0].String(), false
}
