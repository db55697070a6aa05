package budget

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// OtherCause is why nodes count that are not ready, or that end for what no budget names: they count for every budget.
const OtherCause = ""

// causes are all there are.
var causes = []string{OtherCause, model.ReasonEmpty, model.ReasonDrifted, model.ReasonUnderutilized}

// Counts are how many nodes of one pool its budgets count, by the reason, as budgets name it, that they are disrupted
// for, or OtherCause.
type Counts map[string]int

// Sum returns how many of them a budget with those reasons counts: all, or where the pool's budgets count by reason
// and this one names some, those of its reasons and of other causes.
func (c Counts) Sum(reasons []string, byReason bool) int {
	n := 0
	for _, cause := range causes {
		if cause == OtherCause || len(reasons) == 0 || !byReason || slices.Contains(reasons, cause) {
			n += c[cause]
		}
	}
	return n
}

// ByReason reports whether a budget of the pool that names reasons counts only what is disrupted for them.
func ByReason(pool *model.Pool) bool { return pool.Annotations[model.AnnotationByReason] == "true" }

// Tightest returns which of the bounds leaves the least, and how many of the busy nodes it counts. Where there is no
// bound, that is one of Unlimited nodes, which counts all.
func Tightest(bounds []Bound, busy Counts, byReason bool) (tightest Bound, counted int) {
	tightest, counted = Bound{Nodes: Unlimited}, busy.Sum(nil, byReason)
	for _, b := range bounds {
		if n := busy.Sum(b.Reasons, byReason); b.Nodes-n < tightest.Nodes-counted {
			tightest, counted = b, n
		}
	}
	return tightest, counted
}

// Measured reports whether percentages are of the node too: it is initialized, and its instance is not ending. claim
// is nil where it is not known.
func Measured(node *model.Node, claim *model.Claim) bool {
	return node.Initialized() && (claim == nil || claim.State != model.Terminating)
}

// Busy reports whether a budget counts the node: it is initialized and disrupted by a command, ends, is deleted, or is
// not ready. claim is nil where it is not known.
func Busy(node *model.Node, claim *model.Claim, disrupted bool) bool {
	ends := claim != nil && claim.Ending()
	return node.Initialized() && (disrupted || ends || node.DeletedUnix != 0 || !node.Ready)
}

// CauseOf returns what a node counts for whose claim names a command: the command's reason, as budgets name it;
// OtherCause where none of the commands is that one, or the claim is nil.
func CauseOf(claim *model.Claim, commands []model.Command) string {
	if claim == nil || claim.Command == "" {
		return OtherCause
	}
	for i := range commands {
		if commands[i].ID == claim.Command {
			return model.ReasonNamed(commands[i].Reason).Budget
		}
	}
	return OtherCause
}
