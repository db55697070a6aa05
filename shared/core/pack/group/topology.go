package group

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/model"
)

// populated names the domains that have pods of the set, at most three of them; "" where none has, or it is hosts.
func (t *TopologyGroup) populated() string {
	if t.Host {
		return ""
	}
	var names []string
	for value, n := range t.Count {
		if n > 0 {
			names = append(names, value)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	const most = 3
	text := t.Key + " " + strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + strconv.Itoa(more) + " more"
	}
	return text
}

// Reason says which rule between pods keeps a pod out.
func (b *PodRules) Reason(u *Constraint, keys, values []string) *model.Reason {
	t := &b.TopologyGroups[u.TopologyGroup]
	where := ""
	if k := slices.Index(keys, t.Key); k >= 0 && values[k] != "" {
		where = " in " + t.Key + " " + values[k]
	}
	there := t.populated()
	switch {
	case u.Claim && there != "":
		return &model.Reason{Code: input.VolumeConflict, Message: u.field + ": " + u.text + " must be in one zone, and run in " + there + ", where no other node can hold it",
			Remedy: "let NodePools launch nodes there that hold it, or use a volume that is available in all zones"}
	case u.Kind == Affinity && there != "":
		return &model.Reason{Code: input.PodAffinity, Message: u.field + ": " + u.text + " run only in " + there + ", where no other node can hold it",
			Remedy: "let NodePools launch nodes there that hold it, start such a pod elsewhere, or make the rule preferred"}
	case u.Claim:
		return &model.Reason{Code: input.VolumeConflict, Message: u.field + ": " + u.text + " must be in one zone, and it cannot run where the others are",
			Remedy: "let all of them run in one zone, or use a volume that is available in all of them"}
	case u.Kind == Affinity:
		return &model.Reason{Code: input.PodAffinity, Message: u.field + ": no domain of " + t.Key + " it may use has pods that match (" + u.text + ")",
			Remedy: "start such a pod, or make the rule preferred"}
	case u.Kind == AntiAffinity:
		return &model.Reason{Code: input.PodAntiAffinity, Message: u.field + ": " + u.text + " already run" + where + " and in every other domain of " + t.Key + " it may use",
			Remedy: "allow more domains of " + t.Key + ", run fewer such pods, or make the rule preferred"}
	default:
		return &model.Reason{Code: input.TopologySpread, Message: u.field + ": another pod" + where + " would make the skew of " + u.text + " over " + t.Key + " more than " + strconv.Itoa(int(u.MaxSkew)),
			Remedy: "let NodePools launch nodes in the emptier domains, raise maxSkew, or use ScheduleAnyway"}
	}
}

// Move notes that an existing node with so many pods has another number of them now.
func (t *TopologyGroup) Move(from, to int32) {
	if t.Filter < 0 {
		return
	}
	for int(to) >= len(t.Having) {
		t.Having = append(t.Having, 0)
	}
	t.Having[from]--
	t.Having[to]++
	t.Least = min(t.Least, to)
	for t.Having[t.Least] == 0 {
		t.Least++
	}
}

// TopologyGroup counts the pods of a set by the value of one node label, on the nodes that pass the filter.
type TopologyGroup struct {
	Set    int
	Key    string
	Host   bool // the label is the hostname: counted by existing node
	slot   int  // of those by host: its number
	Filter int  // into PodRules.filters, −1 = every node that has the label

	Count map[string]int32 // by domain: pods of the set there
	Nodes map[string]int32 // by domain: nodes that exist and pass the filter
	Total int32

	Maybe map[string]int32 // by domain: pods on claims on their way that may come up there or elsewhere; in total too

	ByNode   map[int]int32 // of a host topology group: by existing node
	Limit    map[int]int32 // of a host topology group: the most any planned pod of the existing node allows
	Beyond   map[int]int32 // of a host topology group: the most any planned pod of the existing node allows beyond the emptiest existing node
	Eligible []int         // of a host topology group with a filter: existing nodes that pass
	Having   []int32       // of a host topology group with a filter: how many of those have 0, 1, … pods
	Least    int32         // the first of having that is not 0
	Wanted   bool          // a pending pod group spreads by it
	Adapts   int8          // whether those may go wherever any of them may: 1 yes, −1 no, 0 not looked at
	Followed bool          // a pending pod group waits for the pods it counts
	Tightest int32         // the smallest skew any of those allows
	Domains  int32         // the most domains any of those asks for

	Before       map[string]int32 // count, maybe, existing nodes and total before anything was placed
	BeforeMaybe  map[string]int32
	BeforeByNode map[int]int32
	BeforeTotal  int32
}

// OfferingKeys returns the labels decided by the offering that the topology group looks at, sorted.
func (b *PodRules) OfferingKeys(t *TopologyGroup) []string {
	var keys []string
	note := func(key string) {
		if offerings.Decided(key) {
			keys = append(keys, key)
		}
	}
	note(t.Key)
	if t.Filter >= 0 {
		for _, key := range b.Filters[t.Filter].Keys {
			note(key)
		}
		for _, term := range b.Filters[t.Filter].Terms {
			for _, key := range term.Keys() {
				note(key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Baseline remembers the topology groups as they were before anything was placed.
func (b *PodRules) Baseline() {
	for i := range b.TopologyGroups {
		t := &b.TopologyGroups[i]
		t.Before, t.BeforeMaybe, t.BeforeByNode, t.BeforeTotal = maps.Clone(t.Count), maps.Clone(t.Maybe), maps.Clone(t.ByNode), t.Total
	}
}

// Spreads reports whether any pending pod has a hard spread constraint, for which it matters which domains are counted.
func (b *PodRules) Spreads() bool {
	return slices.ContainsFunc(b.TopologyGroups, func(t TopologyGroup) bool { return t.Wanted })
}

// Entangled reports whether pods may wait for each other: one that spreads for another that has to fill the emptiest
// domain, which in turn spreads by something else, or needs others near.
func (b *PodRules) Entangled() bool {
	spreads, follows := 0, false
	for i := range b.TopologyGroups {
		if b.TopologyGroups[i].Wanted {
			spreads++
		}
		follows = follows || b.TopologyGroups[i].Followed
	}
	return spreads > 1 || spreads > 0 && follows
}
