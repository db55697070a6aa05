package disruption

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// blockersOf are the kinds of obstacles, few as they are for metrics, by the codes of why a node stays. A node that is
// on its way out, or that people want to keep for good, waits for nothing.
var blockersOf = map[string]string{
	NodeBudget: "Budget", InvalidBudget: "Budget",
	NoReplacement: "Capacity", Unplaceable: "Capacity", ClassNotReady: "Capacity",
	PodDoNotDisrupt: "Pods", NodeDoNotDisrupt: "Pods", DisruptionBudget: "Pods", TooManyBudgets: "Pods",
	PodWindow: "Pods", SingleReplica: "Pods", PodsExpected: "Pods",
	Young: "Quiet", NotQuiet: "Quiet", PoolNotQuiet: "Quiet", NotInitialized: "Quiet",
	Stopped: "Stopped", Breaker: "Stopped", ZoneShifted: "Stopped", TriedLately: "Stopped",
	ZoneWaits: "Turn", TerminatedFirst: "Turn", TooManyCommands: "Turn", SpreadBusy: "Turn", SpreadWaits: "Turn",
	Static:    "Turn",
	InCommand: "", Ending: "", NoClaim: "", PoolMissing: "", NeverConsolidate: "",
}

// waits returns the reason for which a node that stays is to be disrupted, whatever else is found out about it, and
// what is in the way; "" where there is none, or it waits for nothing.
func (node *poolNode) waits() (reason, blocker string) {
	for _, m := range methods {
		if m.method == consolidating || node.eligible&m.method == 0 {
			continue
		}
		why := append(reasonsOf(node.blockers, m.method), node.why...)
		if len(why) == 0 {
			continue
		}
		for _, k := range why {
			if of, known := blockersOf[k.Code]; known && of == "" {
				return "", ""
			}
		}
		return m.reason, cmp.Or(blockersOf[why[0].Code], "Other")
	}
	return "", ""
}

// waiting counts nodes that wait, by reason and blocker, and adds what the empty ones cost to what is delayed.
func (p *planner) waiting() (out []model.WaitingNodes, delayed model.MicroUSD) {
	delayed = p.delayed
	for _, node := range p.fork.poolNodes {
		if node.planned {
			continue
		}
		reason, blocker := node.waits()
		if reason == "" {
			continue
		}
		if reason == model.ReasonEmpty {
			delayed += node.Price
		}
		i := slices.IndexFunc(out, func(w model.WaitingNodes) bool {
			return w.Reason == reason && w.Blocker == blocker
		})
		if i < 0 {
			i, out = len(out), append(out, model.WaitingNodes{Reason: reason, Blocker: blocker})
		}
		out[i].Nodes++
	}
	slices.SortFunc(out, func(a, b model.WaitingNodes) int {
		return cmp.Or(strings.Compare(a.Reason, b.Reason), strings.Compare(a.Blocker, b.Blocker))
	})
	return out, delayed
}
