package history

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// joinSeconds is the age from which a machine that has not joined is no capacity any more.
const joinSeconds = 900

// asked is what the last decision before a time was asked.
type asked struct {
	*model.Question
	input *model.DecisionInput
}

// question returns what a planner would be asked at the scene's time, beside the snapshot: of now what the ledger says, of a past time
// what the last decision before it was asked. Settings of the installation are those of the last decision; where there is none they
// are the defaults.
func question(reg model.Registration, book *explain.Book, last *asked, snapshot *model.Snapshot, at int64) *model.Question {
	q := &model.Question{NowUnix: at, SeenUnix: at, Salt: "why"}
	if last != nil {
		q.Offers, q.IgnorePreferences, q.BestEffortMinValues = last.Offers, last.IgnorePreferences, last.BestEffortMinValues
	}
	q.Offers.NowUnix = at
	if q.Offers.Region == "" {
		q.Offers.Region = reg.Region
	}
	if book.Past {
		if last != nil {
			q.Classes, q.Claims, q.Usage, q.Marks, q.Leaving = last.Classes, last.Claims, last.Usage, last.Marks, last.Leaving
			return q
		}
		for _, class := range snapshot.Classes {
			q.Classes = append(q.Classes, model.ClassAsked{Name: class.Name, Status: class.Status})
		}
		return q
	}
	ledger := &book.Ledger
	q.Usage, q.Marks, q.Leaving = ledger.Usage, ledger.Marks, leaving(ledger, snapshot, at)
	joined := map[string]bool{}
	for i := range snapshot.Nodes {
		if id := snapshot.Nodes[i].ProviderID; id != "" {
			joined[id] = true
		}
	}
	for _, claim := range ledger.Claims {
		if claim, is := capacity(claim, joined[claim.ProviderID], at); is {
			q.Claims = append(q.Claims, claim)
		}
	}
	for _, class := range snapshot.Classes {
		status := offer.Latest(class, ledger.Classes)
		q.Classes = append(q.Classes, model.ClassAsked{
			Name: class.Name, Status: offer.Less(status, offer.Taken(&status, ledger.Claims), ledger.Marks, at), Barred: barred(&ledger.Notes, class.Name, at),
		})
	}
	return q
}

// lastAsked returns what the last recorded decision was asked; nil where none says.
func (f *Flow) lastAsked(ctx context.Context, reg model.Registration, book *explain.Book) (*asked, error) {
	for _, d := range slices.Backward(book.Decisions) {
		whole, err := f.Records.FindDecision(ctx, reg.Cluster, d.ID)
		if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read decision %s: %w", d.ID, err)
		}
		for r := len(whole.Rounds) - 1; r >= 0; r-- {
			if whole.Rounds[r].Asked != nil {
				return &asked{whole.Rounds[r].Asked, whole.Input}, nil
			}
		}
		return nil, nil // of a version that did not keep it
	}
	return nil, nil
}

// capacity returns the claim as a planner takes it, and whether it is one to plan with: a machine that has not joined in time is none, nor
// is one that is to end; where that still has its node it is handed on as gone.
func capacity(claim model.Claim, joined bool, now int64) (model.Claim, bool) {
	switch {
	case !claim.Live(), claim.Ending() && !joined:
		return claim, false
	case claim.Ending():
		claim.State = model.Gone
		return claim, true
	}
	return claim, joined || claim.State != model.Launched || now-claim.LaunchedUnix <= joinSeconds
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
			out[node.Name] = claim.LeftUnix(now)
		case held[claim.Name], tainted(node):
			out[node.Name] = pack.Stays
		}
	}
	return out
}

func tainted(node *model.Node) bool {
	return slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted && t.Effect == model.NoSchedule })
}

// barred says why nothing is launched from a class for a reason that the planner remembers; "" where something may be.
func barred(notes *model.Notes, class string, now int64) string {
	stamp := func(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }
	for _, hold := range notes.Holds {
		if hold.Class == class && hold.UntilUnix > now {
			return fmt.Sprintf("machines launched at %s did not join, time %d in a row; one is tried from %s on: look at its user data, role and network", stamp(hold.LastUnix), hold.Failures, stamp(hold.UntilUnix))
		}
	}
	for _, refusal := range notes.Refusals {
		if refusal.Class == class && refusal.UntilUnix > now {
			return fmt.Sprintf("%s: %s; it is tried again at %s", refusal.Reason, refusal.Message, stamp(refusal.UntilUnix))
		}
	}
	return ""
}

// ask joins a question with the snapshot, places of CapacityBuffers among its pods, and the region's machines.
func ask(q *model.Question, snapshot *model.Snapshot, machines []model.MachineType) pack.Input {
	seen := *snapshot
	seen.Nodes = slices.Clone(snapshot.Nodes)
	for i := range seen.Nodes {
		node := &seen.Nodes[i]
		if _, leaves := q.Leaving[node.Name]; leaves && !tainted(node) {
			node.Taints = append(slices.Clone(node.Taints), model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule})
		}
	}
	in := pack.Input{
		Snapshot: &seen, Catalogs: map[string][]model.InstanceType{}, ClassProblems: map[string]string{}, Claims: q.Claims, Usage: map[string]model.Resources{},
		Marks: q.Marks, NowUnix: q.NowUnix, Salt: q.Salt, IgnorePreferences: q.IgnorePreferences, BestEffortMinValues: q.BestEffortMinValues,
	}
	in.Pending = pack.PendingAt(&seen, q.Leaving, q.SeenUnix)
	if in.Pending == nil {
		in.Pending = []int{}
	}
	for _, of := range q.Classes {
		i := slices.IndexFunc(seen.Classes, func(c model.Class) bool { return c.Name == of.Name })
		if i < 0 {
			continue
		}
		class := seen.Classes[i]
		class.Status = of.Status
		why := offer.ClassProblem(class)
		if problems := offer.ClassProblems(machines, class, q.Offers); why == "" && len(problems) > 0 {
			why = problems[0].Condition + ": " + problems[0].Message
		}
		if why == "" {
			why = of.Barred
		}
		if why == "" && len(machines) == 0 {
			why = "what EC2 sells in " + q.Offers.Region + " is not known: the catalogue function has not stored it yet"
		}
		if why != "" {
			in.ClassProblems[class.Name] = why
		}
		in.Catalogs[class.Name] = offer.Mask(offer.Catalog(machines, class, q.Offers), class.Status.Subnets, offer.ForClass(q.Marks, &class.Status), q.NowUnix)
	}
	for _, usage := range q.Usage {
		in.Usage[usage.Pool] = usage.Held
	}
	return in
}
