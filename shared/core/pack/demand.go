package pack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// maxTerms bounds how many alternatives a pod's node affinity is followed through.
const maxTerms = 64

// demandOf reads a pending pod's shape. What it needs as a hard rule and is not built yet, or cannot be read, becomes
// the reason. Preferences are not read at all: kube-scheduler honours them among the nodes there are.
func demandOf(shape *model.PodShape) demand {
	if no := notSupported(shape); no != nil {
		return demand{no: no}
	}
	for _, name := range resource.Names(shape.Requests) {
		if shape.Requests[name] < 0 {
			return demand{no: invalid("spec.containers[].resources.requests", fmt.Sprintf("%s is negative: %d", name, shape.Requests[name]),
				"ask for zero or more")}
		}
	}
	terms, no := nodeTerms(shape)
	return demand{terms: terms, no: no}
}

// notSupported returns why the shape is not placed at all, naming the field; nil where nothing stands against it.
func notSupported(shape *model.PodShape) *model.Reason {
	field, value := "", ""
	hardSpread := slices.IndexFunc(shape.Spread, func(s model.Spread) bool { return !s.Anyway })
	switch {
	case len(shape.Unsupported) > 0:
		return &model.Reason{Code: NotSupportedYet, Message: strings.Join(shape.Unsupported, "; "), Remedy: "remove the field from the pod"}
	case len(shape.PodAffinity) > 0:
		field, value = "spec.affinity.podAffinity", shape.PodAffinity[0].TopologyKey
	case len(shape.PodAntiAffinity) > 0:
		field, value = "spec.affinity.podAntiAffinity", shape.PodAntiAffinity[0].TopologyKey
	case hardSpread >= 0:
		field, value = "spec.topologySpreadConstraints", shape.Spread[hardSpread].TopologyKey
	case len(shape.HostPorts) > 0:
		field, value = "spec.containers[].ports[].hostPort", fmt.Sprint(shape.HostPorts[0].Port)
	case shape.DynamicResource:
		field, value = "spec.resourceClaims", "dynamic resources"
	default:
		return nil
	}
	return &model.Reason{
		Code:    NotSupportedYet,
		Message: fmt.Sprintf("%s (%s) is a hard rule that is not planned for yet", field, value),
		Remedy:  "remove the rule, make it a preference, or provide a node by hand",
	}
}

// withVolumes returns why a pod with persistent volumes is not placed; nil for one without.
func withVolumes(pod *model.Pod) *model.Reason {
	if len(pod.Claims) == 0 {
		return nil
	}
	return &model.Reason{
		Code:    NotSupportedYet,
		Message: fmt.Sprintf("spec.volumes[].persistentVolumeClaim (%s) may bind the pod to a zone, which is not planned for yet", pod.Claims[0]),
		Remedy:  "remove the volume, or provide a node by hand",
	}
}

// nodeTerms returns what the pod's node must be: its selector together with any one of its affinity terms.
func nodeTerms(shape *model.PodShape) ([]requirement.Requirements, *model.Reason) {
	selector, err := requirement.FromSelector(shape.NodeSelector)
	if err != nil {
		return nil, invalid("spec.nodeSelector", err.Error(), "correct the selector")
	}
	if len(shape.RequiredNodeAffinity) == 0 {
		return []requirement.Requirements{selector}, nil
	}
	terms, no := affinityTerms(shape.RequiredNodeAffinity)
	if len(terms) == 0 {
		return nil, no
	}
	var out []requirement.Requirements
	for _, term := range terms {
		if both := selector.Intersect(term); both.Possible() {
			out = append(out, both)
		}
	}
	if len(out) == 0 {
		return nil, invalid(affinityField, "no term agrees with spec.nodeSelector", "remove the contradiction")
	}
	return canonicalTerms(out), nil
}

const affinityField = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"

// affinityTerms reads the terms that can be met. A term that is empty, contradicts itself or cannot be read is left out,
// because the others may still be met; the reason says what was wrong with the first one where none is left.
func affinityTerms(list []model.NodeTerm) ([]requirement.Requirements, *model.Reason) {
	var terms []requirement.Requirements
	var first *model.Reason
	note := func(reason *model.Reason) {
		if first == nil {
			first = reason
		}
	}
	for i, term := range list[:min(len(list), maxTerms)] {
		field := fmt.Sprintf("%s.nodeSelectorTerms[%d]", affinityField, i)
		read, err := requirement.From(term.Requirements)
		switch {
		case len(term.Fields) > 0:
			note(&model.Reason{Code: NotSupportedYet, Message: field + ".matchFields binds the pod to nodes by name",
				Remedy: "use matchExpressions on labels"})
		case err != nil:
			note(invalid(field, err.Error(), "correct the expression"))
		case len(term.Requirements) == 0:
			note(invalid(field, "it is empty and matches no node", "give it an expression"))
		case !read.Possible():
			note(invalid(field, "its expressions contradict each other", "remove the contradiction"))
		default:
			terms = append(terms, read)
		}
	}
	return terms, first
}

// canonicalTerms sorts alternatives and drops repeated ones, since their order means nothing.
func canonicalTerms(terms []requirement.Requirements) []requirement.Requirements {
	slices.SortStableFunc(terms, func(a, b requirement.Requirements) int { return strings.Compare(termKey(a), termKey(b)) })
	return slices.CompactFunc(terms, requirement.Requirements.Equal)
}

func invalid(field, problem, remedy string) *model.Reason {
	return &model.Reason{Code: Invalid, Message: field + ": " + problem, Remedy: remedy}
}
