package offerings

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// NodeTemplate is what a node is before types, zones and capacity types are listed, and its labels.
type NodeTemplate struct {
	What   requirement.Requirements
	Labels map[string]string
	Rest   []model.Requirement // of what, by key: all but what a claim lists itself
}

// Listed are the labels of which a claim lists its values itself, by key.
var Listed = []string{model.LabelCapacityType, model.LabelInstanceType, model.LabelZone}

// List writes down what a node is, each label of listed narrowed to its values, which are sorted and the list's from
// then on.
func (k *NodeTemplate) List(of ...[]string) []model.Requirement {
	out := make([]model.Requirement, 0, len(k.Rest)+len(Listed))
	rest := k.Rest
	for i, key := range Listed {
		for len(rest) > 0 && rest[0].Key < key {
			out = append(out, copied(rest[0]))
			rest = rest[1:]
		}
		if own, has := k.What[key]; has || len(of[i]) == 0 {
			out = append(out, own.Intersect(requirement.Values(of[i]...)).List(key)...)
		} else {
			out = append(out, model.Requirement{Key: key, Operator: model.In, Values: of[i]})
		}
	}
	for _, item := range rest {
		out = append(out, copied(item))
	}
	return out
}

// copied returns an item that shares no memory with this one.
func copied(item model.Requirement) model.Requirement {
	item.Values = slices.Clone(item.Values)
	return item
}
