package topology

import (
	"maps"

	"github.com/joiner-sh/joiner/shared/model"
)

// nameLabel is the label every namespace has, whatever its author wrote: its own name.
const nameLabel = "kubernetes.io/metadata.name"

// Namespaces gives the labels of each namespace that is known, by name.
type Namespaces map[string]map[string]string

// NamespacesOf indexes namespaces. Each gets the label that holds its name, as the API server sees to.
func NamespacesOf(list []model.Namespace) Namespaces {
	out := make(Namespaces, len(list))
	for i := range list {
		labels := list[i].Labels
		if labels[nameLabel] != list[i].Name {
			labels = make(map[string]string, len(labels)+1)
			maps.Copy(labels, list[i].Labels)
			labels[nameLabel] = list[i].Name
		}
		out[list[i].Name] = labels
	}
	return out
}

// labels returns what selectors see of a namespace; of one that is not known, no more than its name.
func (n Namespaces) labels(name string) map[string]string {
	if labels, known := n[name]; known {
		return labels
	}
	return map[string]string{nameLabel: name}
}
