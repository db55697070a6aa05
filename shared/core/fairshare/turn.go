// Package fairshare says who is first where something is scarce: what one plan takes, launches of a minute, what limits leave, calls of
// EC2's API. Higher priority is first; within a priority namespaces take turns, so that however much one of them asks for, another's
// few wait for as many turns as they need and not for all of it.
//
// [RoundRobin] orders anything by turns. [Select] bounds a plan: it says which of the pods that wait are planned now. What does not fit is
// planned next. Bounds are counts, never time.
//
// It is pure: same input, same order, whatever the order of maps.
package fairshare

import (
	"cmp"
	"slices"
	"strings"
)

// Item is one thing of a list that is dealt out.
type Item struct {
	Index     int // of the caller's
	Priority  int32
	Namespace string
}

// RoundRobin returns the items in the order of turns: by priority, the highest first, and within a priority one of each namespace after the
// other, those of one namespace as they were given. served names the namespaces that had something lately, the one that has waited
// longest first; those it does not name go before, by name.
func RoundRobin(items []Item, served []string) []Item {
	type share struct {
		rank  int
		name  string
		items []Item
	}
	rank := make(map[string]int, len(served))
	for i, name := range served {
		rank[name] = i + 1
	}
	levels := map[int32]map[string]*share{}
	var priorities []int32
	for _, item := range items {
		level := levels[item.Priority]
		if level == nil {
			level = map[string]*share{}
			levels[item.Priority] = level
			priorities = append(priorities, item.Priority)
		}
		if level[item.Namespace] == nil {
			level[item.Namespace] = &share{rank: rank[item.Namespace], name: item.Namespace}
		}
		level[item.Namespace].items = append(level[item.Namespace].items, item)
	}
	slices.Sort(priorities)
	slices.Reverse(priorities)
	out := make([]Item, 0, len(items))
	for _, priority := range priorities {
		var shares []*share
		for _, s := range levels[priority] { // sorted below
			shares = append(shares, s)
		}
		slices.SortFunc(shares, func(a, b *share) int { return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.name, b.name)) })
		for len(shares) > 0 {
			left := shares[:0]
			for _, s := range shares {
				out = append(out, s.items[0])
				if s.items = s.items[1:]; len(s.items) > 0 {
					left = append(left, s)
				}
			}
			shares = left
		}
	}
	return out
}

// Shares deals total things out to namespaces that want so many each, one in turn, and returns how many each gets, by name. The order
// is that of Deal.
func Shares(total int, wants map[string]int, served []string) map[string]int {
	var items []Item
	for name, n := range wants { // Deal sorts them
		for range min(n, total) {
			items = append(items, Item{Namespace: name})
		}
	}
	out := make(map[string]int, len(wants))
	for _, item := range RoundRobin(items, served)[:min(total, len(items))] {
		out[item.Namespace]++
	}
	return out
}
