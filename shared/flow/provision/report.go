package provision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// openDecision starts the record of this run's decision.
func (r *pass) openDecision(pending int) {
	r.decision = model.Decision{
		ID: r.NewID(), Cluster: r.reg.Cluster, AtUnix: r.now(), Trigger: r.request.Trigger,
		Epoch: r.snapshot.Epoch, Seq: r.snapshot.Seq, Build: r.settings.Build, Pending: pending, Catalog: *r.out.Catalog,
	}
	r.out.Decision = r.decision.ID
}

// publishReports publishes what people want to know: where pods will go or why they cannot, and how pools and classes stand.
func (r *pass) publishReports(ctx context.Context) {
	r.podEvents()
	r.reportStandalone()
	r.conditions()
	r.reportSuspensions()
	r.withRefusals()
	shown := r.poolStatus()
	if len(r.report.Events)+len(r.report.Pools)+len(r.report.Claims)+len(r.report.Classes)+len(r.report.PoolStatus)+len(r.report.Buffers) == 0 {
		return
	}
	err := r.effect(ctx, EffectReport, func() error { return r.clients.Reporter.Report(ctx, r.report) })
	if err != nil {
		r.problem("report events and conditions: %v", err)
		return
	}
	r.noteShown(ctx, shown)
}

func (r *pass) event(event model.Event) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.report.Events = append(r.report.Events, event)
}

// podEvents says of each pod of the last plan where it goes, or why nowhere.
func (r *pass) podEvents() {
	if len(r.decision.Rounds) == 0 {
		return
	}
	var events []model.Event
	rush := r.rush()
	for _, round := range r.decision.Rounds {
		for _, claim := range round.Launched {
			pods, room := r.forPeople(r.waitingPods(&claim))
			where := fmt.Sprintf("nodeclaim/%s (%s in %s, %s, $%.4f per hour)",
				claim.Name, claim.InstanceType, claim.Zone, claim.CapacityType, claim.Price.USD())
			for _, pod := range pods {
				if rush && r.runs(pod) {
					continue // it is about to be asked to leave, and whatever takes its place is another pod
				}
				events = append(events, podEvent(pod, false, "Nominated", "Pod should schedule on: "+where))
			}
			events = append(events, r.headroomEvents(room, false, "Nominated", "should come with %s", where)...)
		}
	}
	last := r.decision.Rounds[len(r.decision.Rounds)-1]
	for _, claim := range last.Failed {
		pods, room := r.forPeople(r.waitingPods(&claim))
		why := fmt.Sprintf("NodePool %s: no instance could be launched: %s: %s", claim.Pool, claim.FailureCode, claim.FailureMessage)
		for _, pod := range pods {
			events = append(events, podEvent(pod, true, "FailedScheduling", why))
		}
		events = append(events, r.headroomEvents(room, true, "FailedScheduling", "%s", why)...)
	}
	for _, u := range last.Plan.Unschedulable {
		if r.bufferOf(u.Pod) != "" {
			continue // its buffer's status says it
		}
		events = append(events, podEvent(u.Pod, true, "FailedScheduling", reasonText(u.Reasons)))
	}
	events = append(events, r.putOffEvents(last.Plan)...)
	if len(events) > r.settings.MaxEvents {
		r.problem("%d pod events were left out", len(events)-r.settings.MaxEvents)
		events = events[:r.settings.MaxEvents]
	}
	r.report.Events = append(r.report.Events, events...)
}

// runs reports whether a pod that asks for capacity is still on a node, which it is to leave.
func (r *pass) runs(ref model.PodRef) bool {
	pod := r.pod(ref)
	return pod != nil && pod.NodeName != ""
}

// waitingPods are the pods that wait for a claim: none for a replacement, whose pods run where they are.
func (r *pass) waitingPods(claim *model.Claim) []model.PodRef {
	if r.replaces(claim.Name) != nil {
		return nil
	}
	return claim.Pods
}

// reportDelayAfter is the age, in seconds, from which a pod gets the event that its launch was put off: most are made a moment later.
const reportDelayAfter = 60

// putOffEvents tells pods for which an instance is planned, and was not asked for in this run, why they wait.
func (r *pass) putOffEvents(plan model.Plan) []model.Event {
	var events []model.Event
	for _, claim := range plan.Claims {
		if r.recordedNow[claim.Name] {
			continue
		}
		why := r.putOff[claim.Pool]
		if why == "" {
			why = "other launches go first"
		}
		for _, ref := range claim.Pods {
			if pod := r.pod(ref); pod != nil && pod.NodeName == "" && pod.Buffer == "" && r.now()-pod.CreatedUnix >= reportDelayAfter {
				events = append(events, podEvent(ref, true, "FailedScheduling", fmt.Sprintf(
					"NodePool %s: an instance is planned and could not be launched yet: %s", claim.Pool, why)))
			}
		}
	}
	return events
}

func podEvent(pod model.PodRef, warning bool, reason, message string) model.Event {
	return model.Event{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Warning: warning, Reason: reason, Message: message}
}

// reasonText folds equal reasons of several pools into one.
func reasonText(reasons []model.Reason) string {
	type text struct{ message, remedy string }
	pools := map[text][]string{}
	var order []text
	for _, reason := range reasons {
		t := text{reason.Message, reason.Remedy}
		if _, seen := pools[t]; !seen {
			order = append(order, t)
		}
		if reason.Pool != "" {
			pools[t] = append(pools[t], reason.Pool)
		} else if pools[t] == nil {
			pools[t] = []string{}
		}
	}
	var parts []string
	for _, t := range order {
		part := t.message
		if names := pools[t]; len(names) > 0 {
			part = "nodepool " + strings.Join(names, ", ") + ": " + part
		}
		if t.remedy != "" {
			part += " (" + t.remedy + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// conditions says of every pool whether it may be used, and how much it has. Pools nothing was found out about in this
// run are left alone.
func (r *pass) conditions() {
	if r.classes == nil {
		r.reportHealth()
		return
	}
	for _, pool := range r.snapshot.Pools {
		if pool.DeletedUnix != 0 {
			continue
		}
		r.changed[pool.Name] = true
		r.report.Pools = append(r.report.Pools, r.validation(pool), r.classReady(pool))
		if len(pool.Invalid) > 0 {
			r.report.Events = append(r.report.Events, model.Event{
				Kind: "NodePool", Name: pool.Name, UID: pool.UID, Warning: true, Reason: "NodePoolValidationFailed",
				Message: strings.Join(pool.Invalid, "; "),
			})
		}
	}
	for _, name := range sortedClasses(r.classes) {
		class := r.classes[name]
		if why := offering.ClassProblem(class); why != "" {
			r.report.Events = append(r.report.Events, model.Event{
				Kind: "EC2NodeClass", Name: name, UID: class.UID, Warning: true, Reason: "NotReady", Message: why,
			})
		}
	}
	r.reportHealth()
}

func sortedClasses(classes map[string]model.Class) []string {
	names := make([]string, 0, len(classes))
	for name := range classes {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (r *pass) validation(pool model.Pool) model.Condition {
	condition := model.Condition{Object: pool.Name, UID: pool.UID, Type: "ValidationSucceeded", Status: "True", Reason: "ValidationSucceeded"}
	if len(pool.Invalid) > 0 {
		condition.Status, condition.Reason, condition.Message = "False", "NodePoolValidationFailed", strings.Join(pool.Invalid, "; ")
	}
	return condition
}

func (r *pass) classReady(pool model.Pool) model.Condition {
	condition := model.Condition{Object: pool.Name, UID: pool.UID, Type: "NodeClassReady", Status: "True", Reason: "NodeClassReady"}
	name := pool.Template.ClassName
	class, known := r.classes[name]
	switch {
	case !known && r.terminating(name):
		condition.Status, condition.Reason, condition.Message = "False", "NodeClassTerminating", "EC2NodeClass "+name+" is being deleted"
	case !known:
		condition.Status, condition.Reason = "False", "NodeClassNotFound"
		condition.Message = "EC2NodeClass " + name + " of spec.template.spec.nodeClassRef.name does not exist; create it or name another"
	default:
		if problems := slices.Concat(class.Invalid, class.Status.Problems); len(problems) > 0 {
			condition.Status, condition.Reason, condition.Message = "False", problems[0].Reason, problems[0].Message
			if problems[0].Unknown {
				condition.Status, condition.Reason = "Unknown", "NodeClassReadinessUnknown"
			}
			return condition
		}
		if refusal := r.refusalOf(class); refusal != nil {
			condition.Status, condition.Reason, condition.Message = "False", refusal.Reason, refusal.Message
		}
		if len(class.Unsupported) > 0 {
			condition.Status, condition.Reason, condition.Message = "False", "NodeClassNotReady", strings.Join(class.Unsupported, "; ")
		}
	}
	return condition
}

func (r *pass) terminating(name string) bool {
	for _, class := range r.snapshot.Classes {
		if class.Name == name && class.DeletedUnix != 0 {
			return true
		}
	}
	return false
}

// poolStatus shows each pool's instances, where this run looked at everything, or they are others than were shown last, whoever
// changed that. It returns what is shown then, by pool.
func (r *pass) poolStatus() []model.PoolShown {
	shown := make([]model.PoolShown, 0, len(r.snapshot.Pools))
	for _, pool := range r.snapshot.Pools {
		status := r.statusOf(&pool)
		now := model.PoolShown{Pool: pool.Name, Digest: digestOf(status)}
		if r.classes != nil || !slices.Contains(r.ledger.Notes.Shown, now) {
			r.report.PoolStatus = append(r.report.PoolStatus, status)
		}
		shown = append(shown, now)
	}
	slices.SortFunc(shown, func(a, b model.PoolShown) int { return strings.Compare(a.Pool, b.Pool) })
	return shown
}

// statusOf returns what instances a pool has.
func (r *pass) statusOf(pool *model.Pool) model.PoolStatus {
	status := model.PoolStatus{Pool: pool.Name, UID: pool.UID, Resources: model.Resources{
		model.CPU: 0, model.Memory: 0, model.Pods: 0, model.EphemeralStorage: 0,
	}}
	for i := range r.ledger.Claims {
		claim := &r.ledger.Claims[i]
		if claim.Pool != pool.Name || !claim.Live() || claim.State == model.Intended {
			continue
		}
		status.Nodes++
		for name, amount := range claim.Capacity {
			status.Resources[name] += amount
		}
		if _, limited := pool.Limits[model.Dollars]; limited {
			status.Resources[model.Dollars] += int64(claim.Price)
		}
	}
	status.Resources[model.Nodes] = status.Nodes
	return status
}

// digestOf stands for a status and the pool it is of.
func digestOf(status model.PoolStatus) string {
	sum := sha256.Sum256(fmt.Append(nil, status.UID, " ", status.Nodes, " ", status.Resources)) // maps are printed by key
	return hex.EncodeToString(sum[:8])
}

// noteShown notes what pools show, after they do: should this run die in between they are shown it once more.
func (r *pass) noteShown(ctx context.Context, shown []model.PoolShown) {
	if slices.Equal(shown, r.ledger.Notes.Shown) {
		return
	}
	r.ledger.Notes.Shown, r.noted = shown, true
	if err := r.remember(ctx); err != nil {
		r.problem("record the status of NodePools: %v", err)
	}
}
