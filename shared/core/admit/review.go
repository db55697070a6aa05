package admit

import (
	"fmt"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Evaluate evaluates an admission. The same admission and facts have the same verdict.
func Evaluate(a model.Admission, known Facts) model.Verdict {
	v := evaluate(&a, known)
	if v.Allowed() {
		v.Warnings = append(v.Warnings, withoutEffect(&a)...)
	}
	return v
}

func evaluate(a *model.Admission, known Facts) model.Verdict {
	switch {
	case a.Reference != "":
		return model.Verdict{Warnings: reference(a.Reference)}
	case a.Pool != nil && a.Operation == model.OperationDelete:
		return model.Verdict{Warnings: poolDeletion(a.Pool, &known)}
	case a.Class != nil && a.Operation == model.OperationDelete:
		return model.Verdict{Warnings: classDeletion(a.Class, &known)}
	case a.Operation == model.OperationDelete:
		return model.Verdict{}
	case a.Pool != nil && a.Pool.DeletedUnix == 0 && !(a.OldPool != nil && samePool(*a.OldPool, *a.Pool)):
		var before []model.Finding
		if a.OldPool != nil {
			before = poolProblems(a.OldPool)
		}
		return verdict(before, poolProblems(a.Pool), func() []model.Finding { return poolWarnings(a.Pool, a.OldPool, &known) })
	case a.Class != nil && a.Class.DeletedUnix == 0 && !(a.OldClass != nil && sameClass(*a.OldClass, *a.Class)):
		var before []model.Finding
		if a.OldClass != nil {
			before = classProblems(a.OldClass)
		}
		return verdict(before, classProblems(a.Class), func() []model.Finding { return classWarnings(a.Class, a.OldClass, &known) })
	case a.StandaloneClaim != nil && a.Operation == model.OperationCreate:
		return verdict(nil, standaloneProblems(a.StandaloneClaim), func() []model.Finding { return standaloneWarnings(a.StandaloneClaim, &known) })
	}
	return model.Verdict{}
}

// verdict refuses the problems that were not there before. Those that were are warned of, and nothing else is then,
// since it might not be so once they are mended.
func verdict(before, now []model.Finding, warnings func() []model.Finding) model.Verdict {
	old := make(map[model.Finding]bool, len(before))
	for _, f := range before {
		old[unnumbered(f)] = true
	}
	var v model.Verdict
	for _, f := range now {
		if old[unnumbered(f)] {
			v.Warnings = append(v.Warnings, f)
		} else {
			v.Refusals = append(v.Refusals, f)
		}
	}
	if len(now) == 0 {
		v.Warnings = warnings()
	}
	return v
}

// reference warns where a nodeClassRef is nearly one of ours: whoever means another provider's is left alone.
func reference(ref string) []model.Finding {
	group, rest, _ := strings.Cut(ref, "/")
	kind, _, _ := strings.Cut(rest, "/")
	if group != classGroup && !strings.EqualFold(kind, classKind) && !similar(group, classGroup) {
		return nil
	}
	return []model.Finding{{
		Field: "nodeClassRef", Value: group + "/" + kind, Message: "Joiner does not launch nodes from this class: the object is ignored",
		Remedy: fmt.Sprintf("Write group: %s and kind: %s, unless another provider is meant.", classGroup, classKind),
	}}
}

const (
	classGroup = "karpenter.k8s.aws"
	classKind  = "EC2NodeClass"
)
