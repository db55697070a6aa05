package provision

import (
	"fmt"
	"sort"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
)

// Planning is meant to bear any input. Should it panic all the same, the pool or the pods it panics over are looked for,
// left out, and the rest is planned in the same run. What caused culpritTries panics is left out from the start for
// quarantineFor seconds, and an event says so once.

const (
	culpritTries   = 3
	culpritsAtOnce = 4 // found in one run at most
	quarantineFor  = int64(600)
)

// quarantined returns what is left out from the start.
func (r *pass) quarantined() []string {
	var out []string
	for _, q := range r.ledger.Notes.Quarantine {
		if q.Count >= culpritTries && q.UntilUnix > r.now() {
			out = append(out, q.What)
		}
	}
	return out
}

// planned is pack.Plan, or whatever takes its place in a test, with what makes it panic left out of this round's question.
func (r *pass) planned() model.Plan {
	input := r.round.PlannerInput()
	plan, panicked := r.try(input)
	for range culpritsAtOnce {
		if panicked == "" || r.request.Deadline.Sub(r.Now()) < r.settings.StopBefore {
			break
		}
		without, what := r.withoutCulprit(input)
		if what == "" {
			break
		}
		r.accuse(what, panicked)
		r.plannerInput.LeftOut = append(r.plannerInput.LeftOut, what)
		input = without
		plan, panicked = r.try(input)
	}
	if panicked == "" {
		return r.round.WithReasons(r.round.Evened(plan, input, func(fair pack.Input) (model.Plan, string) {
			r.spend()
			return r.try(fair)
		}))
	}
	r.problem("planning panics, and no object was found that could be left out: %s", panicked)
	return model.Plan{}
}

// try plans and returns what planning panicked with, "" where it did not.
func (r *pass) try(input pack.Input) (plan model.Plan, panicked string) {
	if r.Plan != nil {
		return replay.Try(r.Plan, input)
	}
	return replay.Try(pack.Plan, input)
}

// withoutCulprit returns the input without what planning panics over, and its name; "" where nothing is found. A pool that
// planning panics over without any pod is a culprit, and so are pods it panics over without any pool. Otherwise it takes both,
// and what leaves more pods planned is left out.
func (r *pass) withoutCulprit(input pack.Input) (pack.Input, string) {
	without := input
	without.Pending = []int{}
	if _, panicked := r.try(without); panicked != "" {
		what := r.culpritPool(without)
		return replay.LeaveOut(input, what), what
	}
	if what := r.culpritPods(replay.WithPools(input, nil)); what != "" {
		return replay.LeaveOut(input, what), what
	}
	var best pack.Input
	name, fewest := "", 0
	for _, what := range []string{r.culpritPods(input), r.culpritPool(input)} {
		without := replay.LeaveOut(input, what)
		plan, panicked := r.try(without)
		if left := len(replay.Pending(input)) - placedIn(plan); panicked == "" && (name == "" || left < fewest) {
			best, name, fewest = without, what, left
		}
	}
	if name == "" { // several are culprits: begin with the pods
		name = r.culpritPods(input)
		best = replay.LeaveOut(input, name)
	}
	return best, name
}

// culpritPods returns the owner of the last of the fewest first pods that planning panics over, and "" where it does not.
func (r *pass) culpritPods(input pack.Input) string {
	pods := replay.Pending(input)
	n := fewest(len(pods), func(n int) bool {
		some := input
		some.Pending = pods[:n:n]
		_, panicked := r.try(some)
		return panicked != ""
	})
	if n == 0 {
		return ""
	}
	return replay.OwnerOf(input.Snapshot, pods[n-1])
}

// culpritPool returns the last of the fewest first pools that planning panics over, and "" where it does not.
func (r *pass) culpritPool(input pack.Input) string {
	pools := input.Snapshot.Pools
	n := fewest(len(pools), func(n int) bool {
		_, panicked := r.try(replay.WithPools(input, pools[:n]))
		return panicked != ""
	})
	if n == 0 {
		return ""
	}
	return "NodePool/" + pools[n-1].Name
}

// fewest returns the smallest n from 1 to most for which panics holds, given that it holds for what is larger, and 0 where
// it holds for none.
func fewest(most int, panics func(n int) bool) int {
	n := 1 + sort.Search(most, func(i int) bool { return panics(i + 1) })
	if n > most {
		return 0
	}
	return n
}

func placedIn(plan model.Plan) int {
	n := 0
	for _, claim := range plan.Claims {
		n += len(claim.Pods)
	}
	for _, nomination := range plan.Nominations {
		n += len(nomination.Pods)
	}
	return n
}

// accuse notes what planning panicked over.
func (r *pass) accuse(what, panicked string) {
	r.problem("planning panicked over %s, which is left out: %s", what, panicked)
	var list []model.Quarantine
	entry := model.Quarantine{What: what}
	for _, q := range r.ledger.Notes.Quarantine {
		switch {
		case q.UntilUnix <= r.now(): // forgotten
		case q.What == what:
			entry = q
		default:
			list = append(list, q)
		}
	}
	if !r.accused[what] { // once in a run, however many rounds it has
		entry.Count++
		r.accused[what] = true
	}
	entry.UntilUnix = r.now() + quarantineFor
	if entry.Count >= culpritTries && !entry.Reported {
		entry.Reported = true
		r.reportQuarantine(what, panicked)
	}
	list = append(list, entry)
	sort.Slice(list, func(i, j int) bool { return list[i].What < list[j].What })
	const most = 100
	r.ledger.Notes.Quarantine, r.noted = list[:min(len(list), most)], true
}

func (r *pass) reportQuarantine(what, panicked string) {
	message := fmt.Sprintf("planning failed over %s %d times; it is left out for %d minutes: %s", what, culpritTries, quarantineFor/60, panicked)
	if name, isPool := strings.CutPrefix(what, "NodePool/"); isPool {
		for _, pool := range r.snapshot.Pools {
			if pool.Name == name {
				r.event(model.Event{Kind: "NodePool", Name: name, UID: pool.UID, Warning: true, Reason: "Quarantined", Message: message})
			}
		}
		return
	}
	for _, i := range r.pending() {
		if pod := &r.snapshot.Pods[i]; replay.OwnerOf(r.snapshot, i) == what {
			if pod.Buffer != "" {
				r.report.Events = append(r.report.Events, r.headroomEvents(map[string]int{pod.Buffer: 1}, true, "Quarantined", "%s", message)...)
				return
			}
			r.event(model.Event{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Warning: true, Reason: "Quarantined", Message: message})
			return // one of them speaks for all
		}
	}
}
