package offering

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/joiner-sh/joiner/shared/model"
)

// Limits of EC2 on the tags of one resource. Source: "Tag your Amazon EC2 resources" in the EC2 user guide.
const (
	maxTags        = 50
	maxTagLetters  = 128
	maxTextLetters = 256
)

const (
	tagName     = "Name"
	tagsOfKubes = "kubernetes.io/cluster"
	tagsOfAWS   = "aws:"
)

// ownTags are those of an instance that only Joiner sets, beside that of its cluster. A Name is set where there is
// none.
var ownTags = []string{
	"eks:eks-cluster-name", model.LabelNodePool, "karpenter.sh/nodeclaim", model.LabelNodeClass, "joiner.sh/intent",
}

// TagProblems returns what is wrong with spec.tags of an EC2NodeClass: keys that only Joiner or AWS may set, texts that
// are too long for EC2, and more than an instance can have.
func TagProblems(tags map[string]string) []model.Finding {
	var out []model.Finding
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if what := tagProblem(key, tags[key]); what != "" {
			out = append(out, model.Finding{Field: "spec.tags[" + key + "]", Message: what, Remedy: "Remove it."})
		}
	}
	own := len(ownTags) + 1
	if _, named := tags[tagName]; !named {
		own++
	}
	if most := maxTags - own; len(tags) > most {
		out = append(out, model.Finding{Field: "spec.tags", Value: fmt.Sprint(len(tags)),
			Message: fmt.Sprintf("an instance has at most %d tags, and Joiner sets %d of them", maxTags, own),
			Remedy:  fmt.Sprintf("Leave %d at most.", most)})
	}
	return out
}

// tagProblem returns what is wrong with one tag, "" where nothing is.
func tagProblem(key, value string) string {
	switch {
	case key == "":
		return "a tag needs a key"
	case slices.Contains(ownTags, key), strings.HasPrefix(key, tagsOfKubes):
		return "only Joiner sets this tag"
	case strings.HasPrefix(strings.ToLower(key), tagsOfAWS):
		return "only AWS sets tags that begin with aws:"
	case utf8.RuneCountInString(key) > maxTagLetters:
		return fmt.Sprintf("the key of a tag has at most %d letters", maxTagLetters)
	case utf8.RuneCountInString(value) > maxTextLetters:
		return fmt.Sprintf("the value of a tag has at most %d letters", maxTextLetters)
	}
	return ""
}
