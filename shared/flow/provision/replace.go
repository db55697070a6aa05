package provision

import (
	"context"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// Nodes that are disrupted voluntarily are replaced first: the disruption function records a command with the claims
// that are to take their place, each by the name it is to have, and asks for a check. They are launched by the ordinary
// protocol, for no pod that waits, and once each: one whose name the ledger or a NodeClaim has, in whatever state, is
// not asked for again, since a replacement that failed is the disruption function's to decide about.

// replacements are the claims that disruption commands wait for.
type replacements struct {
	*state
	requestDisruption port.Hint
	nameUsed          map[string]bool // names that turned out to be in use
	wait              bool            // some wait for others of their command: see waiting
}

// waiting returns the replacements that commands wait for, nobody launched yet and may be launched now, with their
// commands: by command, in the order of the command. Of a command one of whose replacements failed nothing more is
// bought: it will be undone. And what was not available for an earlier command goes before the rest of its own, so that
// nothing is bought for a try that comes to nothing.
func (r *replacements) waiting() []pendingReplacement {
	var out []pendingReplacement
	known, got := map[string]bool{}, map[string]bool{}
	for _, claims := range [][]model.Claim{r.ledger.Claims, r.ledger.Spent, r.ledger.Ended, r.ledger.FormerClaims} {
		for i := range claims {
			known[claims[i].Name] = true
			got[claims[i].Name] = got[claims[i].Name] || claims[i].Live() && claims[i].InstanceID != ""
		}
	}
	for _, u := range r.ledger.Unread.Of(model.UnreadClaim) {
		known[u.Name] = true
	}
	// its record was lost: the instance is adopted by the object, or the object goes with it
	for i := range r.shown.Claims {
		known[r.shown.Claims[i].Name] = true
	}
	r.wait = false
	failed := r.notHad()
	for i := range r.ledger.Commands {
		command := &r.ledger.Commands[i]
		if command.State != model.CommandReplacing || r.lacks(command) {
			continue
		}
		doubts := slices.ContainsFunc(command.Replacements,
			func(p model.PlannedClaim) bool { return !got[p.Name] && doubtful(&p, failed) })
		for _, planned := range command.Replacements {
			switch {
			case known[planned.Name] || r.nameUsed[planned.Name]:
			case doubts && !doubtful(&planned, failed):
				r.wait = true
			default:
				out = append(out, pendingReplacement{command, planned})
			}
		}
	}
	return out
}

// lacks reports whether a replacement of the command has failed.
func (r *replacements) lacks(command *model.Command) bool {
	return slices.ContainsFunc(r.ledger.Spent, func(c model.Claim) bool {
		return slices.ContainsFunc(command.Replacements, func(p model.PlannedClaim) bool { return p.Name == c.Name })
	})
}

// notHad returns what commands did not get within the last day, and what all of that has in common: where a zone is
// dry, or all of spot, what was never asked for there is as doubtful as what was.
func (r *replacements) notHad() []model.UnavailableOffering {
	var failed []model.UnavailableOffering
	for i := range r.ledger.Commands {
		failed = append(failed, r.ledger.Commands[i].FailedOfferings...)
	}
	if common, ok := offering.CommonUnavailable(failed); ok {
		failed = append(failed, common)
	}
	return failed
}

// doubtful reports whether the replacement may be bought as something that was not available.
func doubtful(planned *model.PlannedClaim, failed []model.UnavailableOffering) bool {
	for _, unavailable := range failed {
		for _, name := range planned.InstanceTypes {
			for _, zone := range planned.Zones {
				for _, kind := range planned.CapacityTypes {
					if offering.Covers(unavailable,
						model.OfferingKey{InstanceType: name, Zone: zone, CapacityType: kind}) {
						return true
					}
				}
			}
		}
	}
	return false
}

// pendingReplacement is a replacement that is to be launched.
type pendingReplacement struct {
	command *model.Command
	planned model.PlannedClaim
}

// launchable returns the claims that commands wait for, unless somebody has stopped that.
func (r *replacements) launchable() []model.PlannedClaim {
	var claims []model.PlannedClaim
	waits := map[string]int{}
	for _, o := range r.waiting() {
		if why := r.stopped(&o); why != "" {
			waits[why]++
			continue
		}
		claims = append(claims, o.planned)
	}
	for _, why := range slices.Sorted(maps.Keys(waits)) {
		r.problem("%d replacements wait: %s", waits[why], why)
	}
	return claims
}

// stopped says where disruption is stopped that a replacement is for; empty = nowhere.
func (r *replacements) stopped(o *pendingReplacement) string {
	for i := range r.ledger.Stops {
		stop := &r.ledger.Stops[i]
		if stop.Scope != model.StopPool ||
			slices.ContainsFunc(o.command.Targets, func(t model.Target) bool { return t.Pool == stop.Pool }) {
			return "disruption is stopped in " + stop.What(r.reg)
		}
	}
	return ""
}

// maxPrice is the most a replacement may cost per hour so that its command saves anything, 0 where it was made for
// another reason: its own price, and its share of what would be saved, less the smallest amount there is.
func maxPrice(command *model.Command, planned *model.PlannedClaim) model.MicroUSD {
	if command.Reason != model.ReasonUnderutilized || command.Savings <= 0 || planned.Price <= 0 {
		return 0
	}
	return planned.Price + (command.Savings-1)/model.MicroUSD(len(command.Replacements))
}

// promised returns what of the claims' room is for pods that run on instances they replace still: those are not
// pending, and will need that room once the command ends. Pods that came in between are planned elsewhere.
func (r *replacements) promised(claims []model.Claim) []model.ReservedCapacity {
	promised := map[string]string{} // names of claims by the UIDs of pods
	for i := range r.ledger.Commands {
		if command := &r.ledger.Commands[i]; command.State == model.CommandReplacing {
			for _, planned := range command.Replacements {
				for _, pod := range planned.Pods {
					promised[pod.UID] = planned.Name
				}
			}
		}
	}
	if len(promised) == 0 {
		return nil
	}
	taken := map[string]model.Resources{} // by claim
	at := map[string]string{}             // claims by the names of their nodes
	for i := range claims {
		at[claims[i].NodeName] = claims[i].Name
	}
	for i := range r.snapshot.Pods {
		pod := &r.snapshot.Pods[i]
		name := promised[pod.UID]
		if name == "" || pod.NodeName == "" || at[pod.NodeName] == name || pod.Terminal() || pod.Shape < 0 ||
			pod.Shape >= len(r.snapshot.Shapes) {
			continue
		}
		if taken[name] == nil {
			taken[name] = model.Resources{}
		}
		for resource, amount := range r.snapshot.ShapeOf(pod).Requests {
			taken[name][resource] += amount
		}
	}
	var out []model.ReservedCapacity
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		out = append(out, model.ReservedCapacity{Claim: name, Takes: taken[name]})
	}
	return out
}

// unfit notes which replacements cannot be launched for a reason that waiting does not mend, such as their pool's
// limits, and has the disruption function look: it undoes their commands, whose nodes would stay tainted without
// effect. What was noted of commands that have ended is forgotten.
func (r *replacements) unfit(why map[string]string) {
	notes := map[string]model.Unfit{}
	for _, unfit := range r.ledger.Notes.Unfit {
		if _, again := why[unfit.Name]; again && r.replaces(unfit.Name) != nil {
			notes[unfit.Name] = unfit
		}
	}
	for name, text := range why {
		if _, known := notes[name]; !known {
			notes[name] = model.Unfit{Name: name, Why: text, AtUnix: r.now()}
		}
		r.moved(name)
	}
	var list []model.Unfit
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		list = append(list, notes[name])
	}
	if !slices.Equal(list, r.ledger.Notes.Unfit) {
		r.ledger.Notes.Unfit, r.noted = list, true
	}
}

// replacedKey is the key of the hint that a command's replacement came on or failed: short enough for a hint, whatever
// their names.
func replacedKey(command, name string) string {
	return "replaced/" + digest([]byte(command+"/"+name), 12)
}

// notifyDisruption asks for another check by the disruption function, once for each command whose replacements came on
// or failed in this run. Where it is lost the disruption function's own tick finds what the ledger says.
func (r *replacements) notifyDisruption(ctx context.Context) {
	if r.requestDisruption == nil || len(r.awaited) == 0 {
		return
	}
	reported := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(r.awaited)) {
		command := r.replaces(name)
		if command == nil || reported[command.ID] {
			continue
		}
		reported[command.ID] = true
		key := replacedKey(command.ID, name)
		if err := r.effect(ctx, EffectDisrupt,
			func() error { return r.requestDisruption(ctx, r.reg.Cluster, key) }); err != nil {
			r.problem("send a hint about replacement %s; the next scheduled run finds it: %v", name, err)
		}
	}
}
