package budget

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Unlimited is what a pool allows that no budget of speaks.
const Unlimited = math.MaxInt32

// Bound is what one budget that is active lets be disrupted at once.
type Bound struct {
	Nodes   int
	Reasons []string // that the budget is about; empty = every reason
}

// Bounds returns what each of a pool's budgets lets be disrupted at once for a reason, of those that are active and
// name it. againUnix is when that may change by itself, 0 = never.
//
// Invalid, naming field and value, where any of the pool's budgets cannot be read, whatever it names.
func Bounds(budgets []model.Budget, reason string, nodes int, now int64) (out []Bound, againUnix int64, err error) {
	for i := range budgets {
		b := &budgets[i]
		amount, err := amountOf(b.Nodes, nodes)
		if err != nil {
			return nil, 0, fault.Wrap(fault.Invalid, "", err, "spec.disruption.budgets[%d].nodes", i)
		}
		active, change, err := window(b, now)
		if err != nil {
			if _, unknown := Zone(b.TimeZone); unknown != nil {
				err = fault.Wrap(fault.Invalid, "", unknown, "annotation %s", model.AnnotationTimeZone)
			}
			return nil, 0, fault.Wrap(fault.Invalid, "", err, "spec.disruption.budgets[%d].schedule", i)
		}
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, reason) {
			continue
		}
		if change > now && (againUnix == 0 || change < againUnix) {
			againUnix = change
		}
		if active {
			out = append(out, Bound{amount, b.Reasons})
		}
	}
	return out, againUnix, nil
}

// Problem returns the field of a budget that nobody can read, and why: Invalid, naming the value; nil where it can be
// read. A pool with such a budget disrupts nothing.
func Problem(b model.Budget) (field string, err error) {
	if _, err := amountOf(b.Nodes, 1); err != nil {
		return "nodes", err
	}
	if _, _, err := window(&b, 0); err != nil {
		if _, unknown := Zone(b.TimeZone); unknown != nil {
			return "timeZone", unknown
		}
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
		const message = "%.50q is neither a number of nodes nor a percentage; write 3 or 10%%"
		return 0, fault.New(fault.Invalid, "", message, text)
	case percent && n > 100:
		return 0, fault.New(fault.Invalid, "", "%.50q is more than 100%%", text)
	case percent:
		return (nodes*n + 99) / 100, nil
	}
	return min(n, Unlimited), nil
}

// window reports whether the budget is active: always where it has no schedule. changeUnix is the next time that may
// change, 0 = never.
func window(b *model.Budget, nowUnix int64) (active bool, changeUnix int64, err error) {
	return Window{b.Schedule, b.DurationSeconds, b.TimeZone}.At(nowUnix)
}
