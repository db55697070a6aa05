package testenv

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// eventReasons are the reasons of Karpenter's events (core 1.15 and its AWS provider), each with the flow that tells people so here, or
// with why nobody does.
var eventReasons = map[string]struct{ flow, why string }{
	"Nominated":                              {flow: "provision"},
	"FailedScheduling":                       {flow: "provision"},
	"UnregisteredTaintMissing":               {flow: "provision"},
	"FailedConsistencyCheck":                 {flow: "provision"},
	"DisruptionBlocked":                      {flow: "disrupt"},
	"Unconsolidatable":                       {flow: "disrupt"},
	"ConsolidationCandidate":                 {flow: "disrupt"},
	"ConsolidationRejected":                  {flow: "disrupt"},
	"DisruptionLaunching":                    {flow: "disrupt"},
	"DisruptionWaitingReadiness":             {flow: "disrupt"},
	"DisruptionTerminating":                  {flow: "disrupt"},
	"NodeRepairBlocked":                      {flow: "interruption"},
	"TerminationGracePeriodExpiring":         {flow: "interruption"},
	"FailedDraining":                         {flow: "interruption"},
	"Evicted":                                {flow: "interruption"},
	"Disrupted":                              {flow: "interruption"},
	"AwaitingVolumeDetachment":               {flow: "interruption"},
	"InvalidDoNotDisruptAnnotation":          {flow: "interruption"},
	"DoNotDisruptUntil":                      {flow: "interruption"},
	"DoNotDisruptGracePeriodElapsed":         {flow: "interruption"},
	"SpotInterrupted":                        {flow: "interruption"},
	"SpotRebalanceRecommendation":            {flow: "interruption"},
	"InstanceStopping":                       {flow: "interruption"},
	"InstanceTerminating":                    {flow: "interruption"},
	"InstanceUnhealthy":                      {flow: "interruption"},
	"CapacityReservationInstanceInterrupted": {flow: "interruption"},
	"TerminatingOnInterruption":              {flow: "interruption"},

	"InsufficientCapacityError": {why: "a claim without a machine has no NodeClaim to say it on; its pods say it (FailedScheduling), and the pool's claims are tried elsewhere"},
	"NoCompatibleInstanceTypes": {why: "admission warns of it while the NodePool is applied, and pods say which requirement leaves nothing"},
	"ConsolidationApproved":     {why: "ConsolidationCandidate says it, with what is saved"},
	"FailedTermination":         {why: "Karpenter defines it and never publishes it"},
	"Finalized":                 {why: "the object is gone, and with it who would read it; the decision and removal records say it"},
}

// TestF152_EventsHaveKarpentersReasons holds the table to the flows' source: what is said to be told is, and what is not is not.
func TestF152_EventsHaveKarpentersReasons(t *testing.T) {
	reported := map[string]map[string]bool{} // flows by literal
	for path, file := range parseShipped(t) {
		flow, ok := strings.CutPrefix(path, "shared/flow/")
		if !ok {
			continue
		}
		flow, _, _ = strings.Cut(flow, "/")
		ast.Inspect(file, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					if reported[text] == nil {
						reported[text] = map[string]bool{}
					}
					reported[text][flow] = true
				}
			}
			return true
		})
	}
	for reason, row := range eventReasons {
		switch {
		case row.flow == "" && row.why == "":
			t.Errorf("%s: nobody tells it, and nothing says why", reason)
		case row.flow != "" && !reported[reason][row.flow]:
			t.Errorf("%s: flow/%s does not tell it", reason, row.flow)
		case row.flow == "" && len(reported[reason]) > 0:
			t.Errorf("%s is told by %v, and is said not to be", reason, reported[reason])
		}
	}
}
