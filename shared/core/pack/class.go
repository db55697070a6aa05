package pack

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// class is a set of pending pods that scheduling cannot tell apart. Work is done once per class and not per pod.
type class struct {
	key         string // says everything scheduling looks at: same key, same class
	resources   model.Resources
	request     vector
	terms       []requirement.Requirements // any one of them must hold; never empty; sorted, each possible
	tolerations []model.Toleration
	selector    map[string]string // as written: reasons name it
	pods        []int             // indexes into the snapshot's pods, by key, then UID
}

// demand is what a shape asks for, read once: terms, or the reason why it can never be placed.
type demand struct {
	terms []requirement.Requirements
	no    *model.Reason
}

// classesOf groups the pending pods. Pods that can never be placed are returned with their reason instead, by index.
func classesOf(snapshot *model.Snapshot, pending []int, repelled map[int]*model.Reason) ([]*class, map[int]*model.Reason) {
	byKey := make(map[string]*class)
	keyOf := make(map[int]string)
	refusedShapes, refused := make(map[int]*model.Reason), make(map[int]*model.Reason)
	for _, i := range sortedPods(snapshot, pending) {
		pod := &snapshot.Pods[i]
		if _, known := keyOf[pod.Shape]; !known {
			keyOf[pod.Shape] = readShape(snapshot, pod.Shape, repelled, byKey, refusedShapes)
		}
		no := refusedShapes[pod.Shape]
		if no == nil {
			no = withVolumes(pod)
		}
		if no != nil {
			refused[i] = no
			continue
		}
		c := byKey[keyOf[pod.Shape]]
		c.pods = append(c.pods, i)
	}
	classes := make([]*class, 0, len(byKey))
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if len(byKey[key].pods) > 0 {
			classes = append(classes, byKey[key])
		}
	}
	slices.SortStableFunc(classes, larger)
	return classes, refused
}

// readShape adds the shape's class to byKey and returns its key, or adds the shape to refused.
func readShape(snapshot *model.Snapshot, index int, repelled map[int]*model.Reason, byKey map[string]*class, refused map[int]*model.Reason) string {
	if index < 0 || index >= len(snapshot.Shapes) {
		refused[index] = &model.Reason{Code: Invalid, Message: "the snapshot has no spec for the pod", Remedy: "wait for the next snapshot"}
		return ""
	}
	shape := &snapshot.Shapes[index]
	d := demandOf(shape)
	switch {
	case d.no != nil:
		refused[index] = d.no
		return ""
	case repelled[index] != nil:
		refused[index] = repelled[index]
		return ""
	}
	requests := maps.Clone(shape.Requests)
	if requests == nil {
		requests = model.Resources{}
	}
	requests[model.Pods] = max(1, requests[model.Pods])
	maps.DeleteFunc(requests, func(_ string, amount int64) bool { return amount == 0 })
	c := &class{resources: requests, terms: d.terms, tolerations: shape.Tolerations, selector: shape.NodeSelector}
	c.key = c.signature()
	if byKey[c.key] == nil {
		byKey[c.key] = c
	}
	return c.key
}

// signature writes down everything scheduling looks at, the same whatever the order it was given in.
func (c *class) signature() string {
	var b strings.Builder
	for _, name := range resource.Names(c.resources) {
		fmt.Fprintf(&b, "%q=%d,", name, c.resources[name])
	}
	for _, term := range c.terms {
		b.WriteString("|" + termKey(term))
	}
	var tolerations []string
	for _, t := range c.tolerations {
		tolerations = append(tolerations, fmt.Sprintf("%q%q%q%q", t.Key, t.Operator, t.Value, t.Effect))
	}
	slices.Sort(tolerations)
	b.WriteString("|" + strings.Join(slices.Compact(tolerations), ","))
	return b.String()
}

// termKey writes a list of requirements so that equal lists, and no others, give equal texts.
func termKey(term requirement.Requirements) string {
	var b strings.Builder
	for _, r := range term.List() {
		fmt.Fprintf(&b, "%q %s %q %d;", r.Key, r.Operator, r.Values, r.MinValues)
	}
	return b.String()
}

// larger orders classes: more CPU first, then more memory, then by key.
func larger(a, b *class) int {
	return cmp.Or(
		cmp.Compare(b.resources[model.CPU], a.resources[model.CPU]),
		cmp.Compare(b.resources[model.Memory], a.resources[model.Memory]),
		strings.Compare(a.key, b.key),
	)
}

// sortedPods returns the indexes by pod key, then UID, then index.
func sortedPods(snapshot *model.Snapshot, pods []int) []int {
	out := slices.Clone(pods)
	slices.SortFunc(out, func(i, j int) int {
		a, b := &snapshot.Pods[i], &snapshot.Pods[j]
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID), cmp.Compare(i, j))
	})
	return out
}
