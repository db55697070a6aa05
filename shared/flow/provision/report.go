package provision

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// reporter publishes what people want to know.
type reporter struct {
	*constraints
	port     port.Reporter
	health   *poolHealth
	recorder *recorder
}

// publish publishes what people want to know: where pods will go or why they cannot, and how pools and classes stand.
func (r *reporter) publish(ctx context.Context, all *launches) {
	r.podEvents(all)
	r.standalones.conditions()
	r.conditions()
	r.suspensions.conditions()
	r.classes.withRefusals()
	r.overlays(ctx)
	shown := r.poolStatus()
	out := &r.report
	if len(out.Events)+len(out.Pools)+len(out.Claims)+len(out.Classes)+len(out.PoolStatus)+len(out.Buffers)+
		len(out.Overlays) == 0 {
		return
	}
	err := r.effect(ctx, EffectReport, func() error { return r.port.Report(ctx, r.report) })
	if err != nil {
		r.problem("report events and conditions: %v", err)
		return
	}
	r.noteShown(ctx, shown)
}

// podEvents says of each pod of the last plan where it goes, or why nowhere.
func (r *reporter) podEvents(all *launches) {
	rounds := r.recorder.decision.Rounds
	if len(rounds) == 0 {
		return
	}
	var events []model.Event
	rush := r.ledger.Rush(r.now())
	for _, round := range rounds {
		for _, claim := range round.Launched {
			where := fmt.Sprintf("nodeclaim/%s (%s in %s, %s, $%.4f per hour)",
				claim.Name, claim.InstanceType, claim.Zone, claim.CapacityType, claim.Price.USD())
			events = append(events, r.claimEvents(r.waitingPods(&claim, rush), false, "Nominated",
				"Pod should schedule on: "+where, "should come with "+where)...)
		}
	}
	last := &rounds[len(rounds)-1]
	for _, claim := range last.Failed {
		why := fmt.Sprintf("NodePool %s: no instance could be launched: %s: %s", claim.Pool, claim.FailureCode,
			claim.FailureMessage)
		events = append(events, r.claimEvents(r.waitingPods(&claim, false), true, "FailedScheduling", why, why)...)
	}
	for _, u := range last.Plan.Unschedulable {
		if pod := r.pod(u.Pod); pod != nil && r.snapshot.ShapeOf(pod).OptsOut() {
			continue // it is as its owner wants it
		}
		if r.bufferOf(u.Pod) == "" { // its buffer's status says it
			events = append(events, podEvent(u.Pod, true, "FailedScheduling", reasonText(u.Reasons)))
		}
	}
	events = append(events, r.putOffEvents(last.Plan, all)...)
	if len(events) > r.settings.MaxEvents {
		r.problem("%d pod events were left out", len(events)-r.settings.MaxEvents)
		events = events[:r.settings.MaxEvents]
	}
	r.report.Events = append(r.report.Events, events...)
}

// waitingPods are the pods that wait for a claim: none for a replacement, whose pods run where they are. In a rush
// those that are on a node still are left out: they are about to be asked to leave, and whatever takes their place is
// another pod.
func (r *reporter) waitingPods(claim *model.Claim, rush bool) []model.PodRef {
	switch {
	case r.replaces(claim.Name) != nil:
		return nil
	case !rush:
		return claim.Pods
	}
	return slices.DeleteFunc(slices.Clone(claim.Pods), func(ref model.PodRef) bool {
		pod := r.pod(ref)
		return pod != nil && pod.NodeName != ""
	})
}

// reportDelayAfter is the age, in seconds, from which a pod gets the event that its launch was put off: most are made a
// moment later.
const reportDelayAfter = 60

// putOffEvents tells pods for which an instance is planned, and was not asked for in this run, why they wait.
func (r *reporter) putOffEvents(plan model.Plan, all *launches) []model.Event {
	var events []model.Event
	for _, claim := range plan.Claims {
		if all.recorded[claim.Name] {
			continue
		}
		why := cmp.Or(all.putOff[claim.Pool], "other launches go first")
		for _, ref := range claim.Pods {
			if pod := r.pod(ref); pod != nil && pod.NodeName == "" && pod.Buffer == "" &&
				r.now()-pod.CreatedUnix >= reportDelayAfter {
				events = append(events, podEvent(ref, true, "FailedScheduling", fmt.Sprintf(
					"NodePool %s: an instance is planned and could not be launched yet: %s", claim.Pool, why)))
			}
		}
	}
	return events
}

// conditions says of every pool whether it may be used, and how much it has. Pools nothing was found out about in this
// run are left alone.
func (r *reporter) conditions() {
	if r.classes.resolved == nil {
		r.health.conditions()
		return
	}
	for _, pool := range r.snapshot.Pools {
		if pool.DeletedUnix != 0 {
			continue
		}
		r.health.changed[pool.Name] = true
		r.poolCondition(&pool, "ValidationSucceeded", validation)
		r.poolCondition(&pool, "NodeClassReady", r.classReady)
		if len(pool.Invalid) > 0 {
			r.warn(kindPool, pool.Name, pool.UID, "NodePoolValidationFailed", strings.Join(pool.Invalid, "; "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.classes.resolved)) {
		class := r.classes.resolved[name]
		if why := offering.ClassProblem(class); why != "" {
			r.warn(kindClass, name, class.UID, "NotReady", why)
		}
	}
	r.health.conditions()
}

func validation(pool *model.Pool) (status, reason, message string) {
	if len(pool.Invalid) > 0 {
		return "False", "NodePoolValidationFailed", strings.Join(pool.Invalid, "; ")
	}
	return "True", "ValidationSucceeded", ""
}

func (r *reporter) classReady(pool *model.Pool) (status, reason, message string) {
	name := pool.Template.ClassName
	class, known := r.classes.resolved[name]
	if applied := r.class(name); !known && applied != nil && applied.DeletedUnix != 0 {
		return "False", "NodeClassTerminating", "EC2NodeClass " + name + " is being deleted"
	}
	if !known {
		return "False", "NodeClassNotFound",
			"EC2NodeClass " + name + " of spec.template.spec.nodeClassRef.name does not exist; " +
				"create it or name another"
	}
	if problems := slices.Concat(class.Invalid, class.Status.Problems); len(problems) > 0 {
		if problems[0].Unknown {
			return "Unknown", "NodeClassReadinessUnknown", problems[0].Message
		}
		return "False", problems[0].Reason, problems[0].Message
	}
	if len(class.Unsupported) > 0 {
		return "False", "NodeClassNotReady", strings.Join(class.Unsupported, "; ")
	}
	if refusal := r.classes.refusalOf(class); refusal != nil {
		return "False", refusal.Reason, refusal.Message
	}
	return "True", "NodeClassReady", ""
}

// poolStatus shows each pool's instances, where this run looked at everything, or they are others than were shown last,
// whoever changed that. It returns what is shown then, by pool.
func (r *reporter) poolStatus() []model.PoolShown {
	shown := make([]model.PoolShown, 0, len(r.snapshot.Pools))
	for _, pool := range r.snapshot.Pools {
		status := r.statusOf(&pool)
		text := fmt.Append(nil, status.UID, " ", status.Nodes, " ", status.Resources, " ", status.ClassGeneration, " ",
			status.Rollout) // maps are printed by key
		now := model.PoolShown{Pool: pool.Name, Digest: digest(text, 8)}
		if r.classes.resolved != nil || !slices.Contains(r.ledger.Notes.Shown, now) {
			r.report.PoolStatus = append(r.report.PoolStatus, status)
		}
		shown = append(shown, now)
	}
	slices.SortFunc(shown, func(a, b model.PoolShown) int { return strings.Compare(a.Pool, b.Pool) })
	return shown
}

// statusOf returns what instances a pool has.
func (r *reporter) statusOf(pool *model.Pool) model.PoolStatus {
	status := model.PoolStatus{Pool: pool.Name, UID: pool.UID, Resources: model.Resources{
		model.CPU: 0, model.Memory: 0, model.Pods: 0, model.EphemeralStorage: 0,
	}}
	class := r.class(pool.Template.ClassName)
	if class != nil {
		status.ClassGeneration = class.Generation
	}
	rollout := lifecycle.NewRollout(pool, class, r.reg.CA)
	for i := range r.ledger.Claims {
		claim := &r.ledger.Claims[i]
		if claim.Pool != pool.Name || !claim.Live() || claim.State == model.Intended {
			continue
		}
		status.Nodes++
		rollout.Add(claim)
		for name, amount := range claim.Capacity {
			status.Resources[name] += amount
		}
		if _, limited := pool.Limits[model.Dollars]; limited {
			status.Resources[model.Dollars] += int64(claim.Price)
		}
	}
	status.Resources[model.Nodes], status.Rollout = status.Nodes, rollout.Counts()
	return status
}

// noteShown notes what pools show, after they do: should this run die in between they are shown it once more.
func (r *reporter) noteShown(ctx context.Context, shown []model.PoolShown) {
	if slices.Equal(shown, r.ledger.Notes.Shown) {
		return
	}
	r.ledger.Notes.Shown, r.noted = shown, true
	if err := r.remember(ctx); err != nil {
		r.problem("record the status of NodePools: %v", err)
	}
}
