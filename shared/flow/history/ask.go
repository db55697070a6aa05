package history

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// joinSeconds is the age from which an instance that has not joined is no capacity any more, by default.
const joinSeconds = 900

// From what multiple of its usual price on an instance is waited for, and for how long: as provisioning does where nobody says otherwise.
const (
	priceCapFactor  = 5
	priceCapSeconds = 180
)

// lastInput is what the last decision before a time was asked.
type lastInput struct {
	*model.PlannerInput
	input *model.DecisionInput
}

// plannerInput returns what a planner would be asked at the cluster's time, beside the snapshot: of now what the ledger says, of a past time
// what the last decision before it was asked. Settings of the installation are those of the last decision; where there is none they
// are the defaults.
func plannerInput(reg model.Registration, installation *explain.Installation, last *lastInput, snapshot *model.Snapshot, at int64) *model.PlannerInput {
	q := &model.PlannerInput{NowUnix: at, SeenUnix: at, Salt: "why", PriceCapFactor: priceCapFactor, PriceCapWaitSeconds: priceCapSeconds}
	if last != nil && last.PriceCapFactor > 0 {
		q.PriceCapFactor, q.PriceCapWaitSeconds = last.PriceCapFactor, last.PriceCapWaitSeconds
	}
	if last != nil {
		q.Offerings, q.IgnorePreferences, q.BestEffortMinValues = last.Offerings, last.IgnorePreferences, last.BestEffortMinValues
	}
	q.Offerings.NowUnix = at
	if q.Offerings.Region == "" {
		q.Offerings.Region = reg.Region
	}
	most := fairshare.DefaultPlanBound()
	q.Most = &most
	if installation.Past {
		if last != nil {
			q.Most, q.Served, q.PlannedTo = last.Most, last.Served, last.PlannedTo
			q.Classes, q.Claims, q.Usage, q.UnavailableOfferings, q.SuspendedPools, q.Leaving = last.Classes, last.Claims, last.Usage, last.UnavailableOfferings, last.SuspendedPools, last.Leaving
			return q
		}
		for _, class := range snapshot.Classes {
			q.Classes = append(q.Classes, model.PlannerClass{Name: class.Name, Status: class.Status})
		}
		return q
	}
	ledger := &installation.Ledger
	q.Served, q.PlannedTo = replay.ServedNamespaces(snapshot, pack.Pending(snapshot), ledger.Claims), ledger.Notes.PlannedTo
	q.Usage, q.Leaving = ledger.Usage, leaving(ledger, snapshot, at)
	q.UnavailableOfferings = slices.Concat(ledger.UnavailableOfferings, ledger.Shifts.Unavailable(at))
	joined := map[string]bool{}
	for i := range snapshot.Nodes {
		if id := snapshot.Nodes[i].ProviderID; id != "" {
			joined[id] = true
		}
	}
	for _, claim := range ledger.Claims {
		joinWithin := snapshot.WaitsOf(claim.Pool).JoinOr(joinSeconds)
		if claim, is := capacity(claim, joined[claim.ProviderID], at, joinWithin); is {
			q.Claims = append(q.Claims, claim)
		}
	}
	for _, suspension := range ledger.Notes.PoolSuspensions {
		if suspension.Instances > 0 && suspension.UntilUnix > at {
			q.SuspendedPools = append(q.SuspendedPools, model.SuspendedPool{Pool: suspension.Pool, Why: suspension.Text()})
		}
	}
	for _, class := range snapshot.Classes {
		status := offering.Latest(class, ledger.Classes)
		q.Classes = append(q.Classes, model.PlannerClass{
			Name: class.Name, Status: offering.Less(status, offering.Taken(&status, ledger.Claims), ledger.UnavailableOfferings, at), Barred: barred(&ledger.Notes, class.Name, at),
		})
	}
	return q
}

// lastInput returns what the last recorded decision was asked; nil where none says.
func (f *Flow) lastInput(ctx context.Context, reg model.Registration, installation *explain.Installation) (*lastInput, error) {
	for _, d := range slices.Backward(installation.Decisions) {
		whole, err := f.Records.FindDecision(ctx, reg.Cluster, d.ID)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read decision %s: %w", d.ID, err)
		}
		for r := len(whole.Rounds) - 1; r >= 0; r-- {
			if whole.Rounds[r].Input != nil {
				return &lastInput{whole.Rounds[r].Input, whole.Input}, nil
			}
		}
		return nil, nil // of a version that did not keep it
	}
	return nil, nil
}

// capacity returns the claim as a planner takes it, and whether it is one to plan with: an instance that has not joined in time is none, nor
// is one that is to end; where that still has its node it is handed on as gone.
func capacity(claim model.Claim, joined bool, now, joinWithin int64) (model.Claim, bool) {
	switch {
	case !claim.Live(), claim.Ending() && !joined:
		return claim, false
	case claim.Ending():
		claim.State = model.Gone
		return claim, true
	}
	return claim, joined || claim.State != model.Launched || now-claim.LaunchedUnix <= joinWithin
}

// leaving says which nodes are to end, as far as the ledger knows, and which a command has.
func leaving(ledger *model.Ledger, snapshot *model.Snapshot, now int64) map[string]int64 {
	held, claims := map[string]bool{}, map[string]*model.Claim{}
	for i := range ledger.Commands {
		if command := &ledger.Commands[i]; command.State.Going() {
			for _, target := range command.Targets {
				held[target.Claim] = true
			}
		}
	}
	for i := range ledger.Claims {
		if claim := &ledger.Claims[i]; claim.Live() && claim.ProviderID != "" {
			claims[claim.ProviderID] = claim
		}
	}
	out := map[string]int64{}
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		switch claim := claims[node.ProviderID]; {
		case claim == nil:
		case claim.Ending():
			out[node.Name] = claim.DrainDeadlineUnix(now)
		case held[claim.Name], replay.IsDisrupted(node):
			out[node.Name] = pack.Stays
		}
	}
	return out
}

// barred says why nothing is launched from a class for a reason that the planner remembers; "" where something may be.
func barred(notes *model.Notes, class string, now int64) string {
	stamp := func(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }
	for _, suspension := range notes.ClassSuspensions {
		if suspension.Class == class && suspension.UntilUnix > now {
			return fmt.Sprintf("instances launched at %s did not join, time %d in a row; one is launched from %s on: check its user data, role and network", stamp(suspension.LastUnix), suspension.Failures, stamp(suspension.UntilUnix))
		}
	}
	for _, refusal := range notes.Refusals {
		if refusal.Class == class && refusal.UntilUnix > now {
			return fmt.Sprintf("%s: %s; it is tried again at %s", refusal.Reason, refusal.Message, stamp(refusal.UntilUnix))
		}
	}
	return ""
}

// ask puts the question to a planner, on a snapshot with the places of CapacityBuffers among its pods and the region's instances.
func ask(q *model.PlannerInput, shown *model.Snapshot, instanceTypes []model.InstanceTypeInfo) (pack.Input, model.Plan) {
	seen := replay.Seen(shown, q.Leaving)
	asking := pack.PendingAt(seen, q.Leaving, q.SeenUnix)
	if asking == nil {
		asking = []int{} // nobody asks
	}
	asked := replay.New(q, seen, asking, instanceTypes)
	if len(instanceTypes) == 0 {
		for _, class := range q.Classes {
			if asked.Input.ClassProblems[class.Name] == "" {
				asked.Input.ClassProblems[class.Name] = "the catalog of EC2 instance types in " + q.Offerings.Region + " is unknown: the catalog function has not stored it yet"
			}
		}
	}
	plan, _ := asked.Affordable(asked.Plan())
	return asked.Input, plan
}
