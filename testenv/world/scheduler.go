package world

import (
	"slices"
	"sort"
	"strconv"

	"github.com/joiner-sh/joiner/shared/model"
)

// schedule is kube-scheduler for what this world knows: readiness, taints, node selector, required node affinity and
// resources. It binds what fits, in order of creation and then of name, to the first such node by name, and says of the
// rest that it is unschedulable. It shares no code with what it is to judge.
func (c *Cluster) schedule() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var waiting []*model.Pod
	used := map[string]model.Resources{}
	for _, pod := range c.pods {
		if pod.NodeName == "" {
			waiting = append(waiting, pod)
			continue
		}
		take(used, pod.NodeName, c.shapes[pod.Shape].Requests)
	}
	sort.Slice(waiting, func(i, j int) bool {
		a, b := waiting[i], waiting[j]
		if a.CreatedUnix != b.CreatedUnix {
			return a.CreatedUnix < b.CreatedUnix
		}
		return a.Key() < b.Key()
	})
	names := make([]string, 0, len(c.nodes))
	for name := range c.nodes {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, pod := range waiting {
		shape := &c.shapes[pod.Shape]
		if shape.Gated || pod.DeletedUnix != 0 {
			continue
		}
		pod.Unschedulable = true
		for _, name := range names {
			if node := c.nodes[name]; admits(node, shape) && holds(node.Allocatable, used[name], shape.Requests) {
				pod.NodeName, pod.Phase, pod.Unschedulable = name, model.Running, false
				take(used, name, shape.Requests)
				break
			}
		}
	}
}

func take(used map[string]model.Resources, node string, requests model.Resources) {
	if used[node] == nil {
		used[node] = model.Resources{}
	}
	for name, amount := range requests {
		used[node][name] += amount
	}
}

func holds(allocatable, used, requests model.Resources) bool {
	for name, amount := range requests {
		if amount > 0 && used[name]+amount > allocatable[name] {
			return false
		}
	}
	return true
}

// admits reports whether a pod of the shape may run on the node, room aside.
func admits(node *model.Node, shape *model.PodShape) bool {
	if !node.Ready || node.DeletedUnix != 0 {
		return false
	}
	for _, taint := range node.Taints {
		if taint.Effect != model.PreferNoSchedule && !slices.ContainsFunc(shape.Tolerations, func(t model.Toleration) bool { return tolerates(t, taint) }) {
			return false
		}
	}
	for key, value := range shape.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	terms := shape.RequiredNodeAffinity
	return len(terms) == 0 || slices.ContainsFunc(terms, func(term model.NodeTerm) bool {
		return len(term.Requirements) > 0 && !slices.ContainsFunc(term.Requirements, func(r model.Requirement) bool { return !meets(node.Labels, r) })
	})
}

func tolerates(t model.Toleration, taint model.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == "Exists" || t.Key != "" && t.Value == taint.Value
}

func meets(labels map[string]string, r model.Requirement) bool {
	value, has := labels[r.Key]
	switch r.Operator {
	case model.In:
		return has && slices.Contains(r.Values, value)
	case model.NotIn:
		return !has || !slices.Contains(r.Values, value)
	case model.Exists:
		return has
	case model.DoesNotExist:
		return !has
	}
	n, err := strconv.ParseInt(value, 10, 64)
	bound, boundErr := strconv.ParseInt(slices.Concat(r.Values, []string{""})[0], 10, 64)
	if !has || err != nil || boundErr != nil {
		return false
	}
	return r.Operator == model.Gt && n > bound || r.Operator == model.Lt && n < bound
}
