package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/model"
)

// refusal is pods that nothing can hold for the same reasons.
type refusal struct {
	pods    []string // by key
	reasons []model.Reason
}

// unschedulable writes the pods that nothing can hold, most first, with what is in the way and what would help.
func (t *table) unschedulable(pods []model.Unschedulable) {
	refusals := refusals(pods)
	if len(refusals) == 0 {
		return
	}
	t.line("")
	t.line("UNSCHEDULABLE")
	for i, entry := range refusals {
		if i == mostReasons {
			break
		}
		who := entry.pods[0]
		if more := len(entry.pods) - 1; more > 0 {
			who += fmt.Sprintf(" and %d more like it", more)
		}
		t.line("%s", t.cut(who))
		for _, reason := range joined(entry.reasons) {
			t.reason(reason)
		}
	}
	if more := len(refusals) - mostReasons; more > 0 {
		var pods int
		for _, entry := range refusals[mostReasons:] {
			pods += len(entry.pods)
		}
		t.line("and %s for %s more", explain.Many(pods, "pod"), explain.Many(more, "reason"))
	}
}

// reason is a reason of several pools.
type reason struct {
	pools []string // empty = whatever the pool
	model.Reason
}

func (t *table) reason(r reason) {
	where := ""
	switch pools := r.pools; {
	case len(pools) == 1:
		where = "pool " + pools[0] + ": "
	case len(pools) > mostPools:
		where = fmt.Sprintf("pools %s and %d more: ", strings.Join(pools[:mostPools], ", "), len(pools)-mostPools)
	case len(pools) > 1:
		where = "pools " + strings.Join(pools, ", ") + ": "
	}
	t.wrapped("  ", "    ", fmt.Sprintf("%s%s: %s", where, r.Code, r.Message))
	if r.Remedy != "" {
		t.wrapped("    ", "      ", "Remedy: "+r.Remedy)
	}
}

// refusals folds pods with the same reasons, most first, then by the first pod.
func refusals(list []model.Unschedulable) []*refusal {
	byReasons := map[string]*refusal{}
	var out []*refusal
	for _, u := range list {
		key := fmt.Sprintf("%q", u.Reasons)
		if byReasons[key] == nil {
			byReasons[key] = &refusal{reasons: u.Reasons}
			out = append(out, byReasons[key])
		}
		byReasons[key].pods = append(byReasons[key].pods, u.Pod.Key())
	}
	slices.SortStableFunc(out, func(a, b *refusal) int {
		return cmp.Or(cmp.Compare(len(b.pods), len(a.pods)), strings.Compare(a.pods[0], b.pods[0]))
	})
	return out
}

// joined folds pools that say the same, in the order they say it first.
func joined(reasons []model.Reason) []reason {
	at := map[model.Reason]int{}
	var out []reason
	for _, r := range reasons {
		same := r
		same.Pool = ""
		i, seen := at[same]
		if !seen {
			i = len(out)
			at[same] = i
			out = append(out, reason{Reason: same})
		}
		if r.Pool != "" {
			out[i].pools = append(out[i].pools, r.Pool)
		}
	}
	return out
}
