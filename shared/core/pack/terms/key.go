package terms

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// KeyOfTolerations writes a list of tolerations so that equal sets, and no others, give equal texts.
func KeyOfTolerations(list []model.Toleration) string {
	var texts []string
	for _, t := range list {
		texts = append(texts, fmt.Sprintf("%q%q%q%q", t.Key, t.Operator, t.Value, t.Effect))
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ",")
}

// KeyOf writes a list of requirements so that equal lists, and no others, give equal texts.
func KeyOf(term requirement.Requirements) string {
	var b strings.Builder
	for _, r := range term.List() {
		fmt.Fprintf(&b, "%q %s %q %d;", r.Key, r.Operator, r.Values, r.MinValues)
	}
	return b.String()
}

// KeyOfAll is KeyOf for alternatives.
func KeyOfAll(terms []requirement.Requirements) string {
	texts := make([]string, len(terms))
	for i := range terms {
		texts[i] = KeyOf(terms[i])
	}
	return strings.Join(texts, "|")
}
