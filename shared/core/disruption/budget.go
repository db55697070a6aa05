package disruption

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// unlimited is what a pool allows that no budget of speaks.
const unlimited = math.MaxInt32

// budgetsLeft is what the budgets of pools leave. It is shared by all commands of a plan: a node that is disrupted for one reason is
// not there for any other.
type budgetsLeft struct {
	nodes   map[string]int            // by pool: those that percentages are of
	busy    map[string]int            // by pool: those that are disrupted, or not ready
	planned map[string]int            // by pool: those of the busy that commands of this plan disrupt
	counted map[string]bool           // nodes that are among the busy, by name
	limits  map[string]map[string]int // by pool and reason: the most that may be busy
	invalid map[string]error          // by pool: why it is left alone
}

// budgetReasons are those that budgets name.
var budgetReasons = []string{model.ReasonEmpty, model.ReasonDrifted, model.ReasonUnderutilized}

// newBudgetsLeft counts the nodes of every pool and reads its budgets. Percentages are of the nodes that are initialized and whose
// instances are not ending; busy are those, and the ones that end, that an open command disrupts, that leave for whatever
// cause, or that are not ready; where claims cannot be read, those without one too.
func newBudgetsLeft(v *planner) *budgetsLeft {
	r := &budgetsLeft{nodes: make(map[string]int), busy: make(map[string]int), planned: make(map[string]int), counted: make(map[string]bool),
		limits: make(map[string]map[string]int), invalid: make(map[string]error)}
	for _, node := range v.poolNodes {
		if node.Claim == nil && v.in.Unclaimed {
			r.count(node)
		}
		if node.Claim == nil || !node.Node.Initialized() {
			continue
		}
		pool := node.Node.Pool()
		if node.Claim.State != model.Terminating {
			r.nodes[pool]++
		}
		if node.command != nil || node.Claim.Ending() || node.Node.DeletedUnix != 0 || !node.Node.Ready || v.deleted(node.Claim) {
			r.count(node)
		}
	}
	for i := range v.in.Snapshot.Pools {
		pool := &v.in.Snapshot.Pools[i]
		r.limits[pool.Name] = make(map[string]int, len(budgetReasons))
		for _, reason := range budgetReasons {
			limit, again, err := limitOf(pool.Disruption.Budgets, reason, r.nodes[pool.Name], v.now)
			if err != nil {
				limit, r.invalid[pool.Name] = 0, err
			}
			r.limits[pool.Name][reason] = limit
			if r.nodes[pool.Name] > 0 {
				v.replanAt(again)
			}
		}
	}
	return r
}

// count makes the node one of the busy.
func (r *budgetsLeft) count(node *poolNode) {
	if !r.counted[node.name()] {
		r.counted[node.name()] = true
		r.busy[node.Node.Pool()]++
	}
}

// left returns how many more nodes of a pool may be disrupted for the reason now.
func (r *budgetsLeft) left(pool, reason string) int {
	if reason == model.ReasonExpired { // within budgets a node expires as it drifts
		reason = model.ReasonDrifted
	}
	limit, known := r.limits[pool][reason]
	if !known {
		return 0
	}
	return max(0, limit-r.busy[pool])
}

// fits reports whether all of the nodes may be disrupted together for the reason. One that is busy already takes nothing.
func (r *budgetsLeft) fits(reason string, nodes ...*poolNode) bool {
	need := make(map[string]int)
	for _, node := range nodes {
		pool := node.Node.Pool()
		if r.left(pool, reason) == 0 { // a busy one too: what is at its limit is left alone
			return false
		}
		if !r.counted[node.name()] {
			if need[pool]++; need[pool] > r.left(pool, reason) {
				return false
			}
		}
	}
	return true
}

// take takes what disruption the nodes takes.
func (r *budgetsLeft) take(nodes ...*poolNode) {
	for _, node := range nodes {
		if !r.counted[node.name()] {
			r.planned[node.Node.Pool()]++
		}
		r.count(node)
	}
}

// clone returns a copy to try things out on.
func (r *budgetsLeft) clone() *budgetsLeft {
	out := *r
	out.busy, out.planned, out.counted = maps.Clone(r.busy), maps.Clone(r.planned), maps.Clone(r.counted)
	return &out
}

// full words why a pool's budgets keep a node now, when so many other nodes that are not taken yet come first.
func (r *budgetsLeft) full(pool, reason string, first int) model.KeptReason {
	if err := r.invalid[pool]; err != nil {
		return model.KeptReason{Code: InvalidBudget, Message: fmt.Sprintf("NodePool %s: %s", pool, err)}
	}
	if reason == model.ReasonExpired {
		reason = model.ReasonDrifted
	}
	message := fmt.Sprintf("budgets of NodePool %s allow %d of its %d nodes to be disrupted at once (%s): %d are disrupted or not ready",
		pool, r.limits[pool][reason], r.nodes[pool], reason, r.busy[pool]-r.planned[pool])
	if first = min(first, r.left(pool, reason)) + r.planned[pool]; first > 0 {
		message += fmt.Sprintf(", and %d others of this plan come first", first)
	}
	return model.KeptReason{Code: NodeBudget, Message: message}
}

// limitOf returns the most of a pool's nodes that its budgets let be disrupted at once for a reason: the smallest of those that
// are active and name it; unlimited where none does. againUnix is when that may change by itself, 0 = never.
//
// Invalid, naming field and value, where any of the pool's budgets cannot be read, whatever it names.
func limitOf(budgets []model.Budget, reason string, nodes int, now int64) (limit int, againUnix int64, err error) {
	limit = unlimited
	for i := range budgets {
		b := &budgets[i]
		amount, err := amountOf(b.Nodes, nodes)
		if err != nil {
			return 0, 0, fault.Wrap(fault.Invalid, "", err, "spec.disruption.budgets[%d].nodes", i)
		}
		active, change, err := window(b, now)
		if err != nil {
			return 0, 0, fault.Wrap(fault.Invalid, "", err, "spec.disruption.budgets[%d].schedule", i)
		}
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		if change > now && (againUnix == 0 || change < againUnix) {
			againUnix = change
		}
		if active {
			limit = min(limit, amount)
		}
	}
	return limit, againUnix, nil
}

// BudgetProblem returns the field of a budget that nobody can read, and why: Invalid, naming the value; nil where it can be read. A
// pool with such a budget disrupts nothing.
func BudgetProblem(b model.Budget) (field string, err error) {
	if _, err := amountOf(b.Nodes, 1); err != nil {
		return "nodes", err
	}
	if _, _, err := window(&b, 0); err != nil {
		return "schedule", err
	}
	return "", nil
}

// amountOf reads a number of nodes, or a percentage of so many, rounded up.
func amountOf(text string, nodes int) (int, error) {
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || n < 0 || digits[0] == '+':
		return 0, fault.New(fault.Invalid, "", "%.50q is neither a number of nodes nor a percentage; write 3 or 10%%", text)
	case percent && n > 100:
		return 0, fault.New(fault.Invalid, "", "%.50q is more than 100%%", text)
	case percent:
		return (nodes*n + 99) / 100, nil
	}
	return min(n, unlimited), nil
}

// schedules reads the five fields of cron, or one of its macros, all of which are in UTC.
var schedules = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// window reports whether the budget is active: where it has a schedule, whether the first hit after its duration before now is
// now at the latest. changeUnix is the next time that may change, 0 = never.
func window(b *model.Budget, nowUnix int64) (active bool, changeUnix int64, err error) {
	if b.Schedule == "" && b.DurationSeconds == 0 {
		return true, 0, nil
	}
	if b.Schedule == "" {
		return false, 0, fault.New(fault.Invalid, "", "there is a duration and no schedule; set both or neither")
	}
	if b.DurationSeconds <= 0 {
		return false, 0, fault.New(fault.Invalid, "", "there is a schedule, %.100q, and no duration; set both or neither", b.Schedule)
	}
	schedule, err := parse(b.Schedule)
	if err != nil {
		return false, 0, err
	}
	now := time.Unix(nowUnix, 0).UTC()
	begun := schedule.Next(time.Unix(nowUnix-min(b.DurationSeconds, 10*366*24*3600), 0).UTC())
	if begun.IsZero() { // such as the 31st of February
		return false, 0, nil
	}
	if begun.After(now) {
		return false, begun.Unix(), nil
	}
	return true, begun.Unix() + b.DurationSeconds, nil
}

// parse reads a schedule as the NodePool's own rules let it be written.
func parse(text string) (cron.Schedule, error) {
	words := strings.Fields(text)
	const remedy = "write five fields of cron, in UTC, or @daily and the like"
	if len(words) != 5 && !(len(words) == 1 && slices.Contains(macros, text)) {
		return nil, fault.New(fault.Invalid, "", "%.100q is no schedule; %s", text, remedy)
	}
	schedule, err := schedules.Parse(strings.Join(words, " "))
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "%.100q is no schedule; %s", text, remedy)
	}
	return schedule, nil
}

var macros = []string{"@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
