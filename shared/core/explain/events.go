package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// lately returns what was decided about a pod, the latest first.
func lately(cluster *Cluster, is func(model.PodRef) bool) []HistoryEvent {
	if cluster.Installation == nil {
		return nil
	}
	var out []HistoryEvent
	decisions := cluster.Installation.Decisions
	for i := len(decisions) - 1; i >= 0 && len(out) < maxEvents; i-- {
		out = append(out, decided(&decisions[i], is)...)
	}
	return out[:min(len(out), maxEvents)]
}

// decided returns what one decision says of a pod, the latest first.
func decided(d *model.Decision, is func(model.PodRef) bool) []HistoryEvent {
	var out []HistoryEvent
	say := func(claim, format string, values ...any) {
		out = append(out, HistoryEvent{AtUnix: d.AtUnix, Decision: d.ID, Claim: claim, Text: fmt.Sprintf(format, values...)})
	}
	for r := len(d.Rounds) - 1; r >= 0; r-- {
		round := &d.Rounds[r]
		settled := false
		for i := range round.Launched {
			if claim := &round.Launched[i]; slices.ContainsFunc(claim.Pods, is) {
				say(claim.Name, "NodeClaim %s was launched for it: %s.", claim.Name, boughtText(claim))
				settled = true
			}
		}
		for i := range round.Failed {
			if claim := &round.Failed[i]; slices.ContainsFunc(claim.Pods, is) {
				say(claim.Name, "The launch of NodeClaim %s for it failed: %s: %s.", claim.Name, claim.FailureCode, strings.TrimSuffix(claim.FailureMessage, "."))
				settled = true
			}
		}
		if settled {
			continue
		}
		for i := range round.Plan.Nominations {
			if n := &round.Plan.Nominations[i]; slices.ContainsFunc(n.Pods, is) {
				say("", "It was found to fit %s.", n.Node)
			}
		}
		for i := range round.Plan.Claims {
			if c := &round.Plan.Claims[i]; slices.ContainsFunc(c.Pods, is) {
				say(c.Name, "A node of NodePool %s was planned for it (%s at $%.4f per hour) and not launched in that run.", c.Pool, c.Offering.InstanceType, c.Price.USD())
			}
		}
		for i := range round.Plan.Unschedulable {
			if u := &round.Plan.Unschedulable[i]; is(u.Pod) && len(u.Reasons) > 0 {
				first := u.Reasons[0]
				where := ""
				if first.Pool != "" {
					where = "NodePool " + first.Pool + ": "
				}
				say("", "No NodePool could hold it: %s%s.", where, strings.TrimSuffix(first.Message, "."))
			}
		}
	}
	return out
}
