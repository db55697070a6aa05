package provision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// Nodes that are disrupted voluntarily are replaced first: the disruption function records a command with the claims that are to take their place,
// each by the name it is to have, and asks for a check. They are launched by the ordinary protocol, for no pod that waits, and once
// each: one whose name the ledger or a NodeClaim has, in whatever state, is not asked for again, since a replacement that failed is the
// disruption function's to decide about.

// pendingReplacements returns the replacements that commands wait for, nobody launched yet and may be launched now, with their commands: by command,
// in the order of the command. Of a command one of whose replacements failed nothing more is bought: it will be undone. And what was not
// available for an earlier command goes before the rest of its own, so that nothing is bought for a try that comes to nothing.
func (r *pass) pendingReplacements() []pendingReplacement {
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
	for i := range r.shown.Claims { // its record was lost: the instance is adopted by the object, or the object goes with it
		known[r.shown.Claims[i].Name] = true
	}
	r.replacementsWait = false
	failed := r.notHad()
	for i := range r.ledger.Commands {
		command := &r.ledger.Commands[i]
		if command.State != model.CommandReplacing || r.lacks(command) {
			continue
		}
		doubts := slices.ContainsFunc(command.Replacements, func(p model.PlannedClaim) bool { return !got[p.Name] && doubtful(&p, failed) })
		for _, planned := range command.Replacements {
			switch {
			case known[planned.Name] || r.nameUsed[planned.Name]:
			case doubts && !doubtful(&planned, failed):
				r.replacementsWait = true
			default:
				out = append(out, pendingReplacement{command, planned})
			}
		}
	}
	return out
}

// lacks reports whether a replacement of the command has failed.
func (r *pass) lacks(command *model.Command) bool {
	return slices.ContainsFunc(r.ledger.Spent, func(c model.Claim) bool {
		return slices.ContainsFunc(command.Replacements, func(p model.PlannedClaim) bool { return p.Name == c.Name })
	})
}

// notHad returns what commands did not get within the last day, and what all of that has in common: where a zone is dry, or all of spot,
// what was never asked for there is as doubtful as what was.
func (r *pass) notHad() []model.UnavailableOffering {
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
					if offering.Covers(unavailable, model.OfferingKey{InstanceType: name, Zone: zone, CapacityType: kind}) {
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

// replacements returns the claims that commands wait for, unless somebody has stopped that.
func (r *pass) replacements() []model.PlannedClaim {
	var claims []model.PlannedClaim
	waits := map[string]int{}
	for _, o := range r.pendingReplacements() {
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
func (r *pass) stopped(o *pendingReplacement) string {
	for i := range r.ledger.Stops {
		stop := &r.ledger.Stops[i]
		if stop.Scope != model.StopPool || slices.ContainsFunc(o.command.Targets, func(t model.Target) bool { return t.Pool == stop.Pool }) {
			return "disruption is stopped in " + stop.What(r.reg)
		}
	}
	return ""
}

// replaces returns the open command that a claim of that name is a replacement of; nil where there is none.
func (r *pass) replaces(name string) *model.Command {
	for i := range r.ledger.Commands {
		command := &r.ledger.Commands[i]
		if command.State.Open() && slices.ContainsFunc(command.Replacements, func(p model.PlannedClaim) bool { return p.Name == name }) {
			return command
		}
	}
	return nil
}

// maxPrice is the most a replacement may cost per hour so that its command saves anything, 0 where it was made for another reason: its
// own price, and its share of what would be saved, less the smallest amount there is.
func maxPrice(command *model.Command, planned *model.PlannedClaim) model.MicroUSD {
	if command.Reason != model.ReasonUnderutilized || command.Savings <= 0 || planned.Price <= 0 {
		return 0
	}
	return planned.Price + (command.Savings-1)/model.MicroUSD(len(command.Replacements))
}

// promised returns what of the claims' room is for pods that run on instances they replace still: those are not pending, and
// will need that room once the command ends. Pods that came in between are planned elsewhere.
func (r *pass) promised(claims []model.Claim) []model.ReservedCapacity {
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
		if name == "" || pod.NodeName == "" || at[pod.NodeName] == name || pod.Terminal() || pod.Shape < 0 || pod.Shape >= len(r.snapshot.Shapes) {
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

// moved notes that a replacement has become what its command waits for, or has failed.
func (r *pass) moved(name string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.awaited[name] = true
}

// replacedKey is the key of the hint that a command's replacement came on or failed: short enough for a hint, whatever their names.
func replacedKey(command, name string) string {
	sum := sha256.Sum256([]byte(command + "/" + name))
	return "replaced/" + hex.EncodeToString(sum[:12])
}

// notifyDisruption asks for another check by the disruption function, once for each command whose replacements came on or failed in this run.
// Where it is lost the disruption function's own tick finds what the ledger says.
func (r *pass) notifyDisruption(ctx context.Context) {
	if r.Disruptions == nil || len(r.awaited) == 0 {
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
		if err := r.effect(ctx, EffectDisrupt, func() error { return r.Disruptions.RequestDisruption(ctx, r.reg.Cluster, key) }); err != nil {
			r.problem("send a hint about replacement %s; the next scheduled run finds it: %v", name, err)
		}
	}
}
