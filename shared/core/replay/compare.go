package replay

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Compare compares two plans of one question. Claims are the same where their names are, or else where they share their first pod.
func Compare(was, is *model.Plan) model.Difference {
	out := model.Difference{Identical: Identical(was, is), PriceWas: was.Price, PriceIs: is.Price}
	if out.Identical {
		return out
	}
	names := map[string]string{} // of claims that are the same, as they are now by what they were
	matched := make([]bool, len(is.Claims))
	match := func(alike func(a, b *model.PlannedClaim) bool) {
		for i := range was.Claims {
			a := &was.Claims[i]
			if _, known := names[a.Name]; known {
				continue
			}
			for j := range is.Claims {
				if !matched[j] && alike(a, &is.Claims[j]) {
					names[a.Name], matched[j] = is.Claims[j].Name, true
					differClaim(&out, a, &is.Claims[j])
					break
				}
			}
		}
	}
	match(func(a, b *model.PlannedClaim) bool { return a.Name == b.Name })
	match(func(a, b *model.PlannedClaim) bool {
		return a.Pool == b.Pool && len(a.Pods) > 0 && len(b.Pods) > 0 && a.Pods[0] == b.Pods[0]
	})
	for i := range was.Claims {
		if _, known := names[was.Claims[i].Name]; !known {
			differClaim(&out, &was.Claims[i], nil)
		}
	}
	for j := range is.Claims {
		if !matched[j] {
			differClaim(&out, nil, &is.Claims[j])
		}
	}
	differPods(&out, nodeNames(was), nodeNames(is), names)
	return out
}

// differClaim notes a claim of either plan where it is not the same in both.
func differClaim(d *model.Difference, was, is *model.PlannedClaim) {
	if was == nil || is == nil || !sameClaim(was, is) {
		d.Claims = append(d.Claims, model.ClaimChange{Was: bought(was), Is: bought(is)})
	}
}

// sameClaim reports whether two claims are the same but for their names.
func sameClaim(a, b *model.PlannedClaim) bool {
	one, other := *a, *b
	one.Name, other.Name = "", ""
	return Identical(one, other)
}

func bought(c *model.PlannedClaim) *model.Bought {
	if c == nil {
		return nil
	}
	return &model.Bought{Name: c.Name, Pool: c.Pool, Offering: c.Offering, Price: c.Price, Types: len(c.InstanceTypes), Pods: len(c.Pods)}
}

func nodeNames(plan *model.Plan) map[string]string {
	out := map[string]string{}
	for i := range plan.Claims {
		for _, pod := range plan.Claims[i].Pods {
			out[pod.Key()] = plan.Claims[i].Name
		}
	}
	for i := range plan.Nominations {
		for _, pod := range plan.Nominations[i].Pods {
			out[pod.Key()] = plan.Nominations[i].Node
		}
	}
	return out
}

// differPods notes those that do not go where they went.
func differPods(d *model.Difference, was, is map[string]string, names map[string]string) {
	for key, place := range was { // sorted below
		if is[key] != place && (names[place] == "" || is[key] != names[place]) {
			d.Pods = append(d.Pods, model.PodChange{Pod: key, Was: place, Is: is[key]})
		}
	}
	for key, place := range is {
		if _, known := was[key]; !known {
			d.Pods = append(d.Pods, model.PodChange{Pod: key, Is: place})
		}
	}
	slices.SortFunc(d.Pods, func(a, b model.PodChange) int { return cmp.Compare(a.Pod, b.Pod) })
}

// CompareDisruption compares two plans about disruption. Commands are the same where they disrupt the same nodes.
func CompareDisruption(was, is *model.DisruptPlan) model.Difference {
	out := model.Difference{Identical: Identical(was, is), PriceWas: was.PriceAfter, PriceIs: is.PriceAfter}
	if out.Identical {
		return out
	}
	nodes := func(c *model.PlannedCommand) string { return strings.Join(c.Nodes, " ") }
	now := map[string]*model.PlannedCommand{}
	for i := range is.Commands {
		now[nodes(&is.Commands[i])] = &is.Commands[i]
	}
	before := map[string]bool{}
	for i := range was.Commands {
		a := &was.Commands[i]
		b := now[nodes(a)]
		before[nodes(a)] = true
		if b == nil || !Identical(a, b) {
			out.Commands = append(out.Commands, model.CommandChange{Nodes: a.Nodes, Was: disruptedNodes(a), Is: disruptedNodes(b)})
		}
	}
	for i := range is.Commands {
		if b := &is.Commands[i]; !before[nodes(b)] {
			out.Commands = append(out.Commands, model.CommandChange{Nodes: b.Nodes, Is: disruptedNodes(b)})
		}
	}
	return out
}

func disruptedNodes(c *model.PlannedCommand) *model.DisruptedNodes {
	if c == nil {
		return nil
	}
	out := &model.DisruptedNodes{Reason: c.Reason, PodsMoved: c.PodsMoved, Savings: c.Savings}
	for i := range c.Replacements {
		out.Replacements = append(out.Replacements, *bought(&c.Replacements[i]))
	}
	return out
}
