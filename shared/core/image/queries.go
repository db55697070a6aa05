package image

import (
	"fmt"

	"github.com/joiner-sh/joiner/shared/model"
)

// Queries returns how to find the class's images, in the order of its terms, for a cluster of the Kubernetes minor
// version ("1.36"). Invalid names the term that cannot be understood, or that there are no images for at that version;
// where the version itself is not known, the error is Internal: nothing can be said about the class then.
func Queries(class model.Class, version string) ([]model.ImageQuery, error) {
	var queries []model.ImageQuery
	for i, term := range class.Images {
		source := fmt.Sprintf("spec.amiSelectorTerms[%d]", i)
		switch {
		case term.Alias != "":
			if err := alone(class, i, source); err != nil {
				return nil, err
			}
			found, err := aliasQueries(term.Alias, version, source)
			if err != nil {
				return nil, err
			}
			queries = append(queries, found...)
		case term.SSMParameter != "" && term.ID == "":
			queries = append(queries, model.ImageQuery{Parameter: term.SSMParameter, Source: source})
		default:
			queries = append(queries, model.ImageQuery{Term: term, Source: source})
		}
	}
	return queries, nil
}
