package translate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// Managed says whether a pool or claim with this class is ours to look at: another provider's is nobody's business
// here.
func Managed(ref apiv1.NodeClassReference) bool {
	return (&model.Template{ClassGroup: ref.Group, ClassKind: ref.Kind}).UsesEC2NodeClass()
}

// Pool returns a NodePool, with what an API server would have filled in. What makes it unusable is in Invalid.
func Pool(pool *apiv1.NodePool) model.Pool {
	full := *pool
	full.Spec.Disruption.Budgets = slices.Clone(pool.Spec.Disruption.Budgets)
	full.SetDefaults()
	spec := &full.Spec
	out := model.Pool{
		Name:        pool.Name,
		UID:         string(pool.UID),
		Generation:  pool.Generation,
		DeletedUnix: unix(pool.DeletionTimestamp),
		Replicas:    spec.Replicas,
		Hash:        full.Hash(),
		Template:    template(&spec.Template),
		Disruption:  disruption(&spec.Disruption, pool.Annotations[model.AnnotationTimeZone]),
		Annotations: joinerAnnotations(pool.Annotations),
	}
	if spec.Weight != nil {
		out.Weight = *spec.Weight
	}
	for _, problem := range apiv1.ValidateNodePool(&full) {
		out.Invalid = append(out.Invalid, problem.Error())
	}
	limits, problems := amounts(spec.Limits, "spec.limits")
	if len(limits) > 0 {
		out.Limits = limits
	}
	out.Invalid = append(out.Invalid, problems...)
	out.Invalid = append(out.Invalid, tinyLimits(spec.Limits, limits)...)
	return out
}

// tinyLimits returns a sentence for each limit that is more than nothing, and less than the least that is counted: as
// nothing it would stop the pool, which nobody meant.
func tinyLimits(list corev1.ResourceList, counted model.Resources) []string {
	var out []string
	for _, name := range names(list) {
		q := list[name]
		if n, ok := counted[string(name)]; !ok || n != 0 || q.Sign() <= 0 {
			continue
		}
		least := "1"
		switch name {
		case corev1.ResourceCPU:
			least = "1m"
		case model.Dollars:
			least = "0.000001"
		}
		out = append(out, sentence("spec.limits."+string(name), q.String(),
			"less than "+least+", the least that is counted",
			"Write "+least+" or more, or 0 so that nothing is launched."))
	}
	return out
}

// joinerAnnotations are those that speak to us alone.
func joinerAnnotations(all map[string]string) map[string]string {
	var out map[string]string
	for key, value := range all {
		if strings.HasPrefix(key, "joiner.sh/") {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

func template(t *apiv1.NodeClaimTemplate) model.Template {
	return model.Template{
		Labels:             nonEmpty(t.Metadata.Labels),
		Annotations:        nonEmpty(t.Metadata.Annotations),
		Requirements:       requirements(t.Spec.Requirements),
		Taints:             taints(t.Spec.Taints),
		StartupTaints:      taints(t.Spec.StartupTaints),
		ClassGroup:         t.Spec.NodeClassRef.Group,
		ClassKind:          t.Spec.NodeClassRef.Kind,
		ClassName:          t.Spec.NodeClassRef.Name,
		GraceSeconds:       graceSeconds(t.Spec.TerminationGracePeriod),
		ExpireAfterSeconds: nillableSeconds(t.Spec.ExpireAfter),
	}
}

func disruption(d *apiv1.Disruption, timeZone string) model.Disruption {
	out := model.Disruption{
		Policy:                  string(d.ConsolidationPolicy),
		ConsolidateAfterSeconds: nillableSeconds(d.ConsolidateAfter),
	}
	for i := range d.Budgets {
		b := &d.Budgets[i]
		budget := model.Budget{Nodes: b.Nodes}
		for _, reason := range b.Reasons {
			budget.Reasons = append(budget.Reasons, string(reason))
		}
		if b.Schedule != nil {
			budget.Schedule, budget.TimeZone = *b.Schedule, timeZone
		}
		if b.Duration != nil {
			budget.DurationSeconds = int64(b.Duration.Duration / time.Second)
		}
		out.Budgets = append(out.Budgets, budget)
	}
	return out
}

func requirements(list []apiv1.Requirement) []model.Requirement {
	var out []model.Requirement
	for i := range list {
		r := model.Requirement{Key: list[i].Key, Operator: model.Operator(list[i].Operator), Values: list[i].Values}
		if list[i].MinValues != nil {
			r.MinValues = *list[i].MinValues
		}
		out = append(out, r)
	}
	return out
}

func graceSeconds(d *apiv1.Duration) *int64 {
	if d == nil {
		return nil
	}
	seconds := int64(d.Duration / time.Second)
	return &seconds
}

func nillableSeconds(d apiv1.NillableDuration) *int64 {
	if d.IsNever() {
		return nil
	}
	seconds := int64(*d.Duration / time.Second)
	return &seconds
}

// sentence puts a complaint about a field into the form the others have.
func sentence(field string, value any, message, remedy string) string {
	return fmt.Sprintf("%s: %q: %s. Remedy: %s", field, fmt.Sprint(value), message, remedy)
}
