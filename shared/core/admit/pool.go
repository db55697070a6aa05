package admit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/disruption/budget"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// poolProblems returns what makes a pool one that can never make a node, or never disrupt one, whatever the region has.
func poolProblems(pool *model.Pool) []model.Finding {
	problems := findings(pool.Invalid)
	t := templateOf(pool)
	problems = append(problems, t.contradictions()...)
	problems = append(problems, alarmProblems(pool)...)
	return append(problems, budgetProblems(pool)...)
}

// alarmProblems returns what can be no name of a CloudWatch alarm, and would stop disruption of the pool for good.
func alarmProblems(pool *model.Pool) []model.Finding {
	const remedy = "Write names of CloudWatch alarms with commas between them, such as checkout-errors,latency."
	names := pool.StopAlarms()
	f := model.Finding{Field: "metadata.annotations[" + model.AnnotationStopAlarms + "]", Remedy: remedy}
	var problems []model.Finding
	for _, name := range names {
		switch f.Value = name; {
		case strings.HasPrefix(name, "arn:"):
			f.Message = "it is an ARN, and alarms are read by name"
		case len(name) > model.MaxAlarmNameSize:
			f.Message = fmt.Sprintf("the name of an alarm has at most %d characters", model.MaxAlarmNameSize)
		default:
			continue
		}
		problems = append(problems, f)
	}
	if len(names) > model.MaxStopAlarms {
		f.Value = pool.Annotations[model.AnnotationStopAlarms]
		f.Message = fmt.Sprintf("it names %d alarms, and a NodePool may name %d", len(names), model.MaxStopAlarms)
		f.Remedy = "Name a composite alarm in place of several."
		problems = append(problems, f)
	}
	return problems
}

// budgetProblems returns what nobody can read of a pool's budgets.
func budgetProblems(pool *model.Pool) []model.Finding {
	const message = "the budget can never take effect, and with it no node of the pool is disrupted"
	var problems []model.Finding
	for i, b := range pool.Disruption.Budgets {
		field, err := budget.Problem(b)
		if err == nil {
			continue
		}
		value, remedy := b.Nodes, "Write a number such as 3, or a percentage such as 10%."
		name := fmt.Sprintf("spec.disruption.budgets[%d].%s", i, field)
		switch field {
		case "schedule":
			value, remedy = b.Schedule, "Write the five fields of cron, or @daily and the like, and a duration."
		case "timeZone": // one for all budgets
			return append(problems, model.Finding{Field: "metadata.annotations[" + model.AnnotationTimeZone + "]",
				Value: b.TimeZone, Message: "there is no such time zone: " + message, Remedy: zoneRemedy})
		}
		problems = append(problems, model.Finding{Field: name, Value: value, Message: message, Remedy: remedy})
	}
	return problems
}

// poolWarnings returns what is odd about a pool that is allowed.
func poolWarnings(pool, old *model.Pool, known *Facts) []model.Finding {
	t := templateOf(pool)
	class, warnings := known.classOf(t.class, pool.Template.ClassName)
	var matches []offering.Match
	if len(known.InstanceTypes) > 0 && !t.large() {
		types := known.buyable(class)
		matches = t.matches(types)
		warnings = append(warnings, t.found(types, matches, known.regionName()))
		warnings = append(warnings, t.unknownValues(known.region(), known.regionName())...)
		warnings = append(warnings, minValues(&t, matches)...)
	} else if !t.large() {
		warnings = append(warnings, t.unknownCapacityTypes()...)
	}
	warnings = append(warnings, limits(pool, matches)...)
	if known.Objects {
		warnings = append(warnings, drifting(pool, old, known)...)
		warnings = append(warnings, hidden(pool, offeringsOf(matches), known)...)
	}
	return append(warnings, habits(pool, &t, matches, known)...)
}

// minValues warns of minValues that what matches cannot cover.
func minValues(t *template, matches []offering.Match) []model.Finding {
	var out []model.Finding
	for i, r := range t.requested {
		if r.MinValues == 0 || len(matches) == 0 {
			continue
		}
		seen := make(map[string]bool)
		for _, m := range matches {
			for _, value := range m.Type.Labels[requirement.Normalize(r.Key)] {
				seen[value] = true
			}
		}
		if len(seen) < r.MinValues {
			out = append(out, model.Finding{Field: t.field(i) + ".minValues", Value: fmt.Sprint(r.MinValues),
				Message: fmt.Sprintf("what matches has only %d different values of %s, so that nothing is launched", len(seen), r.Key), Remedy: "Lower it, or widen the requirements."})
		}
	}
	return out
}

// limits warns of limits that bound nothing, or everything.
func limits(pool *model.Pool, matches []offering.Match) []model.Finding {
	var out []model.Finding
	if pool.Replicas != nil {
		if most, has := pool.Limits[model.Nodes]; has && *pool.Replicas > most {
			out = append(out, model.Finding{Field: "spec.limits.nodes", Value: fmt.Sprint(most),
				Message: fmt.Sprintf("spec.replicas is %d: the pool never gets there", *pool.Replicas), Remedy: "Raise the limit, or lower spec.replicas."})
		}
	}
	if len(matches) == 0 {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(pool.Limits)) {
		limit := pool.Limits[name]
		if name == model.Nodes || limit == 0 { // people stop pools so
			continue
		}
		least, among := leastOf(name, matches)
		field := "spec.limits." + name
		switch {
		case least == 0:
			f := model.Finding{Field: field, Value: resource.Format(name, limit), Message: "no instance type that matches has any " + name + ": this bounds nothing", Remedy: "Remove it, or limit cpu, memory, nodes or " + model.Dollars + "."}
			if hint := requirement.Nearest(name, among); hint != "" {
				f.Remedy = "Write " + hint + " if that is meant."
			}
			out = append(out, f)
		case limit < least:
			out = append(out, model.Finding{Field: field, Value: resource.Format(name, limit), Message: fmt.Sprintf("the smallest instance type that matches takes %s of it: nothing can be launched", resource.Format(name, least)),
				Remedy: "Raise the limit, or allow smaller instance types."})
		}
	}
	return out
}

// leastOf returns the least of a resource that an instance that matches has of those that have any, 0 where none has,
// and the names that limits may have.
func leastOf(name string, matches []offering.Match) (least int64, among []string) {
	if name == model.Dollars {
		_, best := cheapest(matches)
		return max(1, int64(best.Price)), nil
	}
	names := map[string]bool{model.Nodes: true, model.Dollars: true}
	for _, m := range matches {
		if has := m.Type.Capacity[name]; has > 0 && (least == 0 || has < least) {
			least = has
		}
		for other := range m.Type.Capacity { // sorted below
			names[other] = true
		}
	}
	return least, slices.Sorted(maps.Keys(names))
}

// drifting says how many nodes a change of the template makes drift.
func drifting(pool, old *model.Pool, known *Facts) []model.Finding {
	nodes := known.Nodes[pool.Name]
	if old == nil || nodes == 0 || old.Hash == pool.Hash {
		return nil
	}
	return []model.Finding{{Field: "spec.template", Message: fmt.Sprintf("%s of the pool drift by this change and are replaced, as many at once as spec.disruption.budgets allow", count(nodes, "node")),
		Remedy: "See joiner plan disrupt --with for what is replaced."}}
}

func poolDeletion(pool *model.Pool, known *Facts) []model.Finding {
	nodes := known.Nodes[pool.Name]
	if !known.Objects || nodes == 0 {
		return nil
	}
	return []model.Finding{{Message: fmt.Sprintf("the NodePool has %s: all are drained with it, whatever its budgets say", count(nodes, "node")),
		Remedy: "Set spec.limits.cpu to 0 instead where they are to stay and only no new ones are wanted."}}
}

// hidden warns where a heavier pool takes everything a lighter one could, so that the lighter one is never used: the
// pool itself, or others because of it.
func hidden(pool *model.Pool, offerings map[typeOffering]bool, known *Facts) []model.Finding {
	if len(offerings) == 0 {
		return nil
	}
	var by, others []string
	sold := make(map[string][]model.InstanceType) // by class
	for i := range known.Pools {
		other := &known.Pools[i]
		hides := mayTakeAll(other, pool)
		if other.Name == pool.Name || !hides && !mayTakeAll(pool, other) {
			continue
		}
		t := templateOf(other)
		theirs := offeringsOf(t.matches(known.sold(other.Template.ClassName, sold)))
		switch {
		case hides && within(offerings, theirs):
			by = append(by, fmt.Sprintf("%s (weight %d)", other.Name, other.Weight))
		case !hides && within(theirs, offerings):
			others = append(others, other.Name)
		}
	}
	var out []model.Finding
	if len(by) > 0 {
		out = append(out, model.Finding{Field: "spec.weight", Value: fmt.Sprint(pool.Weight), Message: "the pool is never used: NodePool " + someOf(by) + " takes every pod it could, and has no limits",
			Remedy: "Raise the weight, give that pool limits, or let the two differ in taints, labels or instances."})
	}
	if len(others) > 0 {
		out = append(out, model.Finding{Field: "spec.weight", Value: fmt.Sprint(pool.Weight), Message: "this pool takes every pod that NodePool " + someOf(others) + " could, which is then never used",
			Remedy: "Lower the weight, set spec.limits, or let the two differ in taints, labels or instances."})
	}
	return out
}

// someOf names two of the pools at most: there is room for no more in a warning.
func someOf(names []string) string {
	text := strings.Join(names[:min(2, len(names))], ", ")
	if more := len(names) - 2; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// sold returns what a class of the cluster can buy, nothing where it is not there or not ready, and keeps that.
func (k *Facts) sold(class string, kept map[string][]model.InstanceType) []model.InstanceType {
	types, checked := kept[class]
	if !checked {
		if c, problems := k.classOf("", class); len(problems) == 0 {
			types = k.buyable(c)
		}
		kept[class] = types
	}
	return types
}

// mayTakeAll reports whether whatever could go to a node of the lighter pool goes to one of the heavier instead, as far
// as that shows without what they buy: that has more weight, neither limits nor minValues, no taint the other has not,
// and the same labels of its own.
func mayTakeAll(heavy, light *model.Pool) bool {
	if heavy.Weight <= light.Weight || unusable(heavy) || unusable(light) || len(heavy.Limits) > 0 {
		return false
	}
	for _, taint := range heavy.Template.Taints {
		if taint.Effect != model.PreferNoSchedule && !slices.Contains(light.Template.Taints, taint) {
			return false
		}
	}
	ours, err := requirement.From(offering.Requirements(&heavy.Template))
	theirs, errTheirs := requirement.From(offering.Requirements(&light.Template))
	if err != nil || errTheirs != nil || ours.MinValues() {
		return false
	}
	for _, key := range append(ours.Keys(), theirs.Keys()...) {
		if !offering.IsInstanceLabel(key) && !(ours.Has(key) && theirs.Has(key) && theirs[key].Within(ours[key])) {
			return false
		}
	}
	return true
}

func unusable(pool *model.Pool) bool {
	return pool.Replicas != nil || pool.DeletedUnix != 0 || len(pool.Invalid) > 0
}

// within reports whether there are some, and all of them are among the others.
func within(some, all map[typeOffering]bool) bool {
	if len(some) == 0 || len(some) > len(all) {
		return false
	}
	for o := range some { // whether any is missing does not depend on the order
		if !all[o] {
			return false
		}
	}
	return true
}
