package pack

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// repelledShapes returns the pending shapes that a running pod's required anti-affinity keeps away from somewhere. The
// rule is symmetric, so that kube-scheduler might refuse the node such a pod is planned onto.
func repelledShapes(snapshot *model.Snapshot, pending []int, moving map[int]bool) map[int]*model.Reason {
	guards := antiAffineShapes(snapshot, moving)
	if len(guards) == 0 {
		return nil
	}
	namespaces := make(map[string]map[string]string, len(snapshot.Namespaces))
	for _, namespace := range snapshot.Namespaces {
		namespaces[namespace.Name] = namespace.Labels
	}
	out := make(map[int]*model.Reason)
	for _, i := range pending {
		index := snapshot.Pods[i].Shape
		if index < 0 || index >= len(snapshot.Shapes) || out[index] != nil {
			continue
		}
		for _, guard := range guards {
			if field := repels(&snapshot.Shapes[guard], &snapshot.Shapes[index], namespaces); field != "" {
				out[index] = &model.Reason{
					Code: NotSupportedYet,
					Message: fmt.Sprintf("the required pod anti-affinity (%s) of running pods of %s %q in namespace %q matches this pod's labels",
						field, ownerText(snapshot.Shapes[guard].OwnerKind), snapshot.Shapes[guard].OwnerName, snapshot.Shapes[guard].Namespace),
					Remedy: "make that anti-affinity a preference, or narrow its selector",
				}
				break
			}
		}
	}
	return out
}

// antiAffineShapes returns the shapes with required anti-affinity that some pod on a node has, ascending.
func antiAffineShapes(snapshot *model.Snapshot, moving map[int]bool) []int {
	seen := make(map[int]bool)
	var shapes []int
	for i := range snapshot.Pods {
		pod := &snapshot.Pods[i]
		if pod.NodeName == "" || pod.Terminal() || moving[i] || pod.Shape < 0 || pod.Shape >= len(snapshot.Shapes) {
			continue
		}
		if !seen[pod.Shape] && len(snapshot.Shapes[pod.Shape].PodAntiAffinity) > 0 {
			seen[pod.Shape] = true
			shapes = append(shapes, pod.Shape)
		}
	}
	// In an order of what they are, so that the order of shapes in the snapshot never shows.
	slices.SortFunc(shapes, func(a, b int) int {
		return compareOwners(&snapshot.Shapes[a], &snapshot.Shapes[b])
	})
	return shapes
}

func compareOwners(a, b *model.PodShape) int {
	for _, pair := range [][2]string{{a.Namespace, b.Namespace}, {a.OwnerKind, b.OwnerKind}, {a.OwnerName, b.OwnerName},
		{a.PodAntiAffinity[0].TopologyKey, b.PodAntiAffinity[0].TopologyKey}} {
		if pair[0] != pair[1] {
			if pair[0] < pair[1] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// repels returns the topology key of the first term of guard that matches the pod; "" where none does.
func repels(guard, pod *model.PodShape, namespaces map[string]map[string]string) string {
	for _, term := range guard.PodAntiAffinity {
		if inNamespaces(term, guard.Namespace, pod.Namespace, namespaces) && matches(term.Selector, pod.Labels) &&
			sameKeys(term, guard.Labels, pod.Labels) {
			return term.TopologyKey
		}
	}
	return ""
}

func inNamespaces(term model.PodTerm, own, namespace string, labels map[string]map[string]string) bool {
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		return namespace == own
	}
	return slices.Contains(term.Namespaces, namespace) || matches(term.NamespaceSelector, labels[namespace])
}

// sameKeys reports whether the labels named by matchLabelKeys agree and those named by mismatchLabelKeys do not.
func sameKeys(term model.PodTerm, guard, pod map[string]string) bool {
	for _, key := range term.MatchLabelKeys {
		value, has := guard[key]
		if other, ok := pod[key]; has && (!ok || other != value) {
			return false
		}
	}
	for _, key := range term.MismatchLabelKeys {
		value, has := guard[key]
		if other, ok := pod[key]; has && ok && other == value {
			return false
		}
	}
	return true
}

// matches reports whether the selector matches labels. An expression that cannot be read is taken to match, which errs
// on the side of not planning.
func matches(selector *model.Selector, labels map[string]string) bool {
	if selector == nil {
		return false
	}
	for key, want := range selector.MatchLabels {
		if value, has := labels[key]; !has || value != want {
			return false
		}
	}
	for _, expression := range selector.Expressions {
		set, err := requirement.Of(expression)
		value, has := labels[expression.Key]
		if err == nil && (has && !set.Has(value) || !has && !set.AllowsAbsent()) {
			return false
		}
	}
	return true
}

func ownerText(kind string) string {
	if kind == "" {
		return "pod"
	}
	return kind
}
