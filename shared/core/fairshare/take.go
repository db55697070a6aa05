package fairshare

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// DefaultPlanBound returns what one plan takes at most. What a plan takes grows with the sets of pods that rules between pods name, far more
// than with pods; BenchmarkGoalBacklog (testenv/bench) measures it. A cluster's few large workloads stay far below it: 100,000 pods without
// rules, or of some thousand workloads, are planned at once.
func DefaultPlanBound() model.PlanBound {
	return model.PlanBound{Pods: 120_000, Sets: 3_000, Rules: 10_000}
}

// afresh says which part of a bound is for pods whatever their priority and namespace, so that none waits for ever behind pods that
// nothing can hold: one of so many.
const afresh = 4

// Selection is what a plan takes of the pods that wait.
type Selection struct {
	Pods  []int  // as indexes into the snapshot's pods, in the order they were given
	Later []int  // those that are planned next, in the same order; nil = none
	Sets  int    // of pods that rules of Pods name
	Next  string // UID of the pod with which the next plan's part for any pod goes on; "" = from the first
}

// Select returns which of the pods that wait a plan takes. Where all fit the bound, or there is none (nil), it is all. Else three quarters of the bound are filled in the order of turns, pods of a namespace by age, and the
// rest with pods in the order of their UIDs, from after on, whatever their priority: each pod has its turn after a bounded number of
// plans. A pod that fits no bound at all is taken alone.
func Select(snapshot *model.Snapshot, pending []int, bound *model.PlanBound, served []string, after string) Selection {
	if bound == nil {
		return Selection{Pods: pending}
	}
	rules := rulesOf(snapshot, pending)
	all := taker{bound: *bound, rules: rules, snapshot: snapshot}
	if all.takesAll(pending) {
		return Selection{Pods: pending, Sets: len(all.sets)}
	}
	items := make([]Item, 0, len(pending))
	for _, i := range ByAge(snapshot, pending) {
		pod := &snapshot.Pods[i]
		items = append(items, Item{Index: i, Priority: snapshot.PriorityOf(pod), Namespace: pod.Namespace})
	}
	t := taker{bound: model.PlanBound{Pods: bound.Pods - bound.Pods/afresh, Sets: bound.Sets - bound.Sets/afresh, Rules: bound.Rules - bound.Rules/afresh},
		rules: rules, snapshot: snapshot, taken: make(map[int]bool, len(pending))}
	for _, item := range RoundRobin(items, served) {
		t.take(item.Index)
	}
	t.bound = *bound
	next := after
	for _, i := range ring(snapshot, pending, after) { // once it is full, what needs nothing new of it: the rest of workloads
		if full := t.full(); !t.taken[i] && t.take(i) && !full {
			next = snapshot.Pods[i].UID
		}
	}
	out := Selection{Pods: []int{}, Sets: len(t.sets), Next: next}
	for _, i := range pending {
		if t.taken[i] {
			out.Pods = append(out.Pods, i)
		} else {
			out.Later = append(out.Later, i)
		}
	}
	return out
}

// taker fills a bound.
type taker struct {
	bound    model.PlanBound
	rules    map[int][]rule // by shape
	snapshot *model.Snapshot
	taken    map[int]bool
	pods     int
	sets     map[string]bool
	texts    map[string]bool
}

// rule is one rule between pods: whom it names, and all of it.
type rule struct{ set, text string }

// takesAll reports whether all pods fit.
func (t *taker) takesAll(pending []int) bool {
	t.taken = make(map[int]bool)
	if len(pending) > t.bound.Pods {
		return false
	}
	seen := map[int]bool{}
	for _, i := range pending {
		if shape := t.snapshot.Pods[i].Shape; !seen[shape] {
			seen[shape] = true
			if t.note(t.rules[shape]); len(t.sets) > t.bound.Sets || len(t.texts) > t.bound.Rules {
				return false
			}
		}
	}
	return true
}

func (t *taker) full() bool {
	return t.pods >= t.bound.Pods || len(t.sets) >= t.bound.Sets || len(t.texts) >= t.bound.Rules
}

// take takes the pod where it fits, or where nothing is taken yet.
func (t *taker) take(i int) bool {
	if t.pods >= t.bound.Pods && t.pods > 0 {
		return false
	}
	rules := t.rules[t.snapshot.Pods[i].Shape]
	sets, texts := 0, 0
	for n, r := range rules {
		if !t.sets[r.set] && !slices.ContainsFunc(rules[:n], func(before rule) bool { return before.set == r.set }) {
			sets++
		}
		if !t.texts[r.text] {
			texts++
		}
	}
	if t.pods > 0 && sets+texts > 0 && (len(t.sets)+sets > t.bound.Sets || len(t.texts)+texts > t.bound.Rules) {
		return false
	}
	t.note(rules)
	t.taken[i] = true
	t.pods++
	return true
}

func (t *taker) note(rules []rule) {
	if t.sets == nil {
		t.sets, t.texts = map[string]bool{}, map[string]bool{}
	}
	for _, r := range rules {
		t.sets[r.set], t.texts[r.text] = true, true
	}
}

// rulesOf returns the rules between pods of the pods' shapes, each once.
func rulesOf(snapshot *model.Snapshot, pending []int) map[int][]rule {
	out := map[int][]rule{}
	for _, i := range pending {
		index := snapshot.Pods[i].Shape
		if index < 0 || index >= len(snapshot.Shapes) {
			continue
		}
		if _, known := out[index]; !known {
			out[index] = rulesOfShape(&snapshot.Shapes[index])
		}
	}
	return out
}

func rulesOfShape(shape *model.PodShape) []rule {
	var out []rule
	add := func(of topology.Peers, err error, key string) {
		if r := (rule{of.Key(), of.Key() + "\x00" + key}); err == nil && !slices.Contains(out, r) { // one that cannot be read is of nobody: its pods are refused
			out = append(out, r)
		}
	}
	for i := range shape.Spread {
		of, err := topology.PeersOfSpread(&shape.Spread[i], shape)
		add(of, err, shape.Spread[i].TopologyKey)
	}
	term := func(t *model.PodTerm) {
		of, err := topology.PeersOfTerm(t, shape, nil) // which namespaces a selector finds is not asked
		add(of, err, t.TopologyKey)
	}
	for _, list := range [][]model.PodTerm{shape.PodAffinity, shape.PodAntiAffinity} {
		for i := range list {
			term(&list[i])
		}
	}
	for _, list := range [][]model.WeightedPodTerm{shape.PreferredPodAffinity, shape.PreferredPodAntiAffinity} {
		for i := range list {
			term(&list[i].Term)
		}
	}
	return out
}

// ByAge returns pods of the snapshot, as indexes: the oldest first, and those of one age by what names them.
func ByAge(snapshot *model.Snapshot, pods []int) []int {
	out := slices.Clone(pods)
	slices.SortFunc(out, func(i, j int) int {
		a, b := &snapshot.Pods[i], &snapshot.Pods[j]
		return cmp.Or(cmp.Compare(a.CreatedUnix, b.CreatedUnix), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
			strings.Compare(a.UID, b.UID), cmp.Compare(i, j))
	})
	return out
}

// ring returns the pods in the order of their UIDs, from the first after the one named on and round.
func ring(snapshot *model.Snapshot, pods []int, after string) []int {
	out := slices.Clone(pods)
	slices.SortFunc(out, func(i, j int) int {
		return cmp.Or(strings.Compare(snapshot.Pods[i].UID, snapshot.Pods[j].UID), cmp.Compare(i, j))
	})
	from, _ := slices.BinarySearchFunc(out, after, func(i int, uid string) int { return cmp.Or(strings.Compare(snapshot.Pods[i].UID, uid), -1) })
	return slices.Concat(out[from:], out[:from])
}
