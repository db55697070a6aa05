package provision

import (
	"fmt"
	"sort"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
)

// Planning is meant to bear any input. Should it panic all the same, the pool or the pods it panics over are looked
// for, left out, and the rest is planned in the same run. What caused culpritTries panics is left out from the start
// for quarantineFor seconds, and an event says so once.

const (
	culpritTries   = 3
	culpritsAtOnce = 4 // found in one run at most
	quarantineFor  = int64(600)
)

// culprits are what planning panics over, which is left out.
type culprits struct {
	*state
	plan    func(pack.Input) model.Plan // nil = pack.Plan
	accused map[string]bool             // what planning panicked over in this run
}

// quarantined returns what is left out from the start.
func (c *culprits) quarantined() []string {
	var out []string
	for _, q := range c.ledger.Notes.Quarantine {
		if q.Count >= culpritTries && q.UntilUnix > c.now() {
			out = append(out, q.What)
		}
	}
	return out
}

// try plans and returns what planning panicked with, "" where it did not.
func (c *culprits) try(input pack.Input) (plan model.Plan, panicked string) {
	if c.plan != nil {
		return replay.Try(c.plan, input)
	}
	return replay.Try(pack.Plan, input)
}

// withoutCulprit returns the input without what planning panics over, and its name; "" where nothing is found. A pool
// that planning panics over without any pod is a culprit, and so are pods it panics over without any pool. Otherwise it
// takes both, and what leaves more pods planned is left out.
func (c *culprits) withoutCulprit(input pack.Input) (pack.Input, string) {
	without := input
	without.Pending = []int{}
	if _, panicked := c.try(without); panicked != "" {
		what := c.culpritPool(without)
		return replay.LeaveOut(input, what), what
	}
	if what := c.culpritPods(replay.WithPools(input, nil)); what != "" {
		return replay.LeaveOut(input, what), what
	}
	var best pack.Input
	name, fewest := "", 0
	for _, what := range []string{c.culpritPods(input), c.culpritPool(input)} {
		without := replay.LeaveOut(input, what)
		plan, panicked := c.try(without)
		if left := len(replay.Pending(input)) - placedIn(plan); panicked == "" && (name == "" || left < fewest) {
			best, name, fewest = without, what, left
		}
	}
	if name == "" { // several are culprits: begin with the pods
		name = c.culpritPods(input)
		best = replay.LeaveOut(input, name)
	}
	return best, name
}

// culpritPods returns the owner of the last of the fewest first pods that planning panics over, and "" where it does
// not.
func (c *culprits) culpritPods(input pack.Input) string {
	pods := replay.Pending(input)
	n := fewest(len(pods), func(n int) bool {
		some := input
		some.Pending = pods[:n:n]
		_, panicked := c.try(some)
		return panicked != ""
	})
	if n == 0 {
		return ""
	}
	return replay.OwnerOf(input.Snapshot, pods[n-1])
}

// culpritPool returns the last of the fewest first pools that planning panics over, and "" where it does not.
func (c *culprits) culpritPool(input pack.Input) string {
	pools := input.Snapshot.Pools
	n := fewest(len(pools), func(n int) bool {
		_, panicked := c.try(replay.WithPools(input, pools[:n]))
		return panicked != ""
	})
	if n == 0 {
		return ""
	}
	return "NodePool/" + pools[n-1].Name
}

// fewest returns the smallest n from 1 to most for which panics holds, given that it holds for what is larger, and 0
// where it holds for none.
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
func (c *culprits) accuse(what, panicked string) {
	c.problem("planning panicked over %s, which is left out: %s", what, panicked)
	var list []model.Quarantine
	entry := model.Quarantine{What: what}
	for _, q := range c.ledger.Notes.Quarantine {
		switch {
		case q.UntilUnix <= c.now(): // forgotten
		case q.What == what:
			entry = q
		default:
			list = append(list, q)
		}
	}
	if !c.accused[what] { // once in a run, however many rounds it has
		entry.Count++
		c.accused[what] = true
	}
	entry.UntilUnix = c.now() + quarantineFor
	if entry.Count >= culpritTries && !entry.Reported {
		entry.Reported = true
		c.reportQuarantine(what, panicked)
	}
	list = append(list, entry)
	sort.Slice(list, func(i, j int) bool { return list[i].What < list[j].What })
	const most = 100
	c.ledger.Notes.Quarantine, c.noted = list[:min(len(list), most)], true
}

func (c *culprits) reportQuarantine(what, panicked string) {
	message := fmt.Sprintf("planning failed over %s %d times; it is left out for %d minutes: %s", what, culpritTries,
		quarantineFor/60, panicked)
	if name, isPool := strings.CutPrefix(what, "NodePool/"); isPool {
		if pool := c.pool(name); pool != nil {
			c.warn(kindPool, name, pool.UID, "Quarantined", message)
		}
		return
	}
	for _, i := range c.pending() {
		if pod := &c.snapshot.Pods[i]; replay.OwnerOf(c.snapshot, i) == what {
			if pod.Buffer != "" {
				c.report.Events = append(c.report.Events,
					c.headroomEvents(map[string]int{pod.Buffer: 1}, true, "Quarantined", message)...)
				return
			}
			ref := model.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
			c.event(podEvent(ref, true, "Quarantined", message))
			return // one of them speaks for all
		}
	}
}
