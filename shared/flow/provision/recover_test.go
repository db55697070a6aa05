package provision_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// unfinished returns a world whose first run, for n pods that fill an instance each, was killed before or after CreateFleet.
func unfinished(t *testing.T, n int, mode world.Mode) *world.World {
	t.Helper()
	w := start(t, world.Options{Types: []string{"m5.large"}, Visibility: 3 * time.Second})
	pending(w, "web", n, world.Shape(1500, gib))
	killed := w.Process(world.Fault{At: 1, Effect: "launch", Mode: mode})
	_, _ = killed.Run(t.Context(), provision.TriggerBatch) // nobody hears what it returns
	if ledger := load(t, w); len(ledger.Intents) != 1 || len(ledger.Claims) != n {
		t.Fatalf("%d intents and %d claims are open, want 1 and %d", len(ledger.Intents), len(ledger.Claims), n)
	}
	return w
}

// due is how long after the start of a killed run its launches may be looked into.
const due = world.InvocationTimeout + 2*time.Second + 30*time.Second + 2*time.Second

// F086, M37: pods of a launch whose outcome is unknown count on it, and it is looked into once its process is surely
// dead.
func TestUnfinishedLaunchWaitsUntilItsProcessIsSurelyDead(t *testing.T) {
	w := unfinished(t, 2, world.DiesBefore)
	w.Tick(due - 10*time.Second)
	outcome := pass(t, w, provision.TriggerResync)
	if outcome.Recovered != 0 || outcome.Claims != 0 || w.Fleet.Calls() != 0 {
		t.Errorf("%+v, %d calls", outcome, w.Fleet.Calls())
	}
	if outcome.Nominated != 2 {
		t.Errorf("%d pods count on the claims under way, want 2", outcome.Nominated)
	}
}

func TestUnfinishedLaunchThatIsFoundIsTakenOver(t *testing.T) {
	w := unfinished(t, 2, world.DiesAfter)
	w.Fleet.ForgetTokens() // whoever asks again gets other instances
	w.Tick(due)
	outcome := pass(t, w, provision.TriggerResync)
	if outcome.Recovered != 1 || outcome.Claims != 0 || len(w.Fleet.Instances()) != 2 {
		t.Fatalf("%+v, %d machines", outcome, len(w.Fleet.Instances()))
	}
	for _, claim := range load(t, w).Claims {
		if claim.InstanceType != "m5.large" || claim.Capacity[model.CPU] != 2000 || claim.Price == 0 || claim.Labels[model.LabelZone] != claim.Zone {
			t.Errorf("claim %+v", claim)
		}
	}
	settle(t, w)
	sound(t, w)
}

func TestUnfinishedLaunchThatIsNotFoundIsRepeatedWithTheSameBytes(t *testing.T) {
	w := unfinished(t, 2, world.DiesBefore)
	before := load(t, w).Intents[0]
	w.Tick(due)
	outcome := pass(t, w, provision.TriggerResync)
	if outcome.Recovered != 1 || len(w.Fleet.Instances()) != 2 || w.Fleet.Calls() != 1 {
		t.Fatalf("%+v, %d machines", outcome, len(w.Fleet.Instances()))
	}
	for _, instance := range w.Fleet.Instances() {
		if instance.Tags["joiner.sh/intent"] != before.ID {
			t.Errorf("machine %s is of intent %s, want %s", instance.ID, instance.Tags["joiner.sh/intent"], before.ID)
		}
	}
	settle(t, w)
	sound(t, w)
}

// Not shown yet, asked for again: the token answers with the first instances.
func TestUnfinishedLaunchThatIsNotShownYetIsNotDoubled(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}, Visibility: 10 * time.Minute})
	pending(w, "web", 2, world.Shape(1500, gib))
	w.Fleet.LoseNextReply()
	outcome := pass(t, w, provision.TriggerBatch)
	if outcome.Claims != 0 || len(w.Fleet.Instances()) != 2 || len(load(t, w).Intents) != 1 {
		t.Fatalf("%+v", outcome)
	}
	w.Tick(due)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Recovered != 1 || len(w.Fleet.Instances()) != 2 {
		t.Fatalf("%+v, %d machines", outcome, len(w.Fleet.Instances()))
	}
	settle(t, w)
	sound(t, w)
}

// An instance that is not shown yet is no instance that was not launched: written off, it would run without a claim.
func TestUnfinishedLaunchOfWhichOnlyPartIsShownIsNotDoubled(t *testing.T) {
	draws := func(string) *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }
	fleet := world.FleetOptions{Visibility: world.Span{Min: time.Second, Max: 4 * time.Minute}}
	w := start(t, world.Options{Types: []string{"m5.large"}, Draws: draws, Fleet: fleet})
	pending(w, "web", 6, world.Shape(1500, gib))
	_, _ = w.Process(world.Fault{At: 1, Effect: "launch", Mode: world.DiesAfter}).Run(t.Context(), provision.TriggerBatch)
	w.Tick(due)
	intent := load(t, w).Intents[0]
	if shown, err := w.Fleet.FindInstances(t.Context(), intent.ID); err != nil || len(shown) == 0 || len(shown) == len(intent.Claims) {
		t.Fatalf("%d of %d machines are shown: %v", len(shown), len(intent.Claims), err)
	}
	if outcome := pass(t, w, provision.TriggerResync); outcome.Recovered != 1 || len(w.Fleet.Instances()) != 6 {
		t.Fatalf("%+v, %d machines", outcome, len(w.Fleet.Instances()))
	}
	settle(t, w)
	sound(t, w)
}

// F3, A5: while a claim of an unfinished launch cannot be read it is unknown which of its instances are whose: its outcome waits, and has all of
// them afterwards.
func TestF3UnfinishedLaunchWaitsWhileAClaimOfItCannotBeRead(t *testing.T) {
	w := unfinished(t, 2, world.DiesAfter)
	w.Tick(due)
	world.SpoilItem(w.Ledger, world.Name, model.UnreadClaim, load(t, w).Claims[0].Name)
	outcome := pass(t, w, provision.TriggerResync)
	if outcome.Recovered != 0 || !slices.ContainsFunc(outcome.Problems, func(p string) bool {
		return strings.Contains(p, "cannot be read, so it is unknown which claims its instances")
	}) {
		t.Errorf("while it cannot be read: %+v", outcome)
	}
	world.MendItems(w.Ledger, world.Name)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Recovered != 1 || len(w.Fleet.Instances()) != 2 {
		t.Errorf("mended: %+v, %d machines", outcome, len(w.Fleet.Instances()))
	}
	settle(t, w)
	sound(t, w)
}

func TestUnfinishedLaunchThatWasPartlyFulfilledIsPlannedAgain(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}, Visibility: 3 * time.Second})
	pending(w, "web", 3, world.Shape(1500, gib))
	stock := func(n int) {
		for _, zone := range []string{"us-west-2a", "us-west-2b", "us-west-2c"} {
			w.Fleet.SetCapacity(model.OfferingKey{InstanceType: "m5.large", Zone: zone, CapacityType: model.Spot}, n)
			n = min(n, 0)
		}
	}
	stock(2)
	_, _ = w.Process(world.Fault{At: 1, Effect: "launch", Mode: world.DiesAfter}).Run(t.Context(), provision.TriggerBatch)
	w.Tick(due)
	outcome := pass(t, w, provision.TriggerResync)
	if outcome.Recovered != 1 || outcome.Claims != 1 || len(w.Fleet.Instances()) != 3 {
		t.Fatalf("%+v, %d machines", outcome, len(w.Fleet.Instances()))
	}
	settle(t, w)
	sound(t, w)
}

func TestUnfinishedLaunchThatIsTooOldIsGivenUp(t *testing.T) {
	w := unfinished(t, 2, world.DiesBefore)
	old := load(t, w).Intents[0].ID
	w.Tick(16 * time.Minute)
	outcome := pass(t, w, provision.TriggerResync)
	if outcome.Recovered != 1 || outcome.Claims != 2 {
		t.Fatalf("%+v", outcome)
	}
	for _, instance := range w.Fleet.Instances() {
		if instance.Tags["joiner.sh/intent"] == old {
			t.Errorf("the old bytes were sent after %s", 16*time.Minute)
		}
	}
	settle(t, w)
	sound(t, w)
}

// That a repeated call is refused says nothing of the first one, whose answer was lost: its instances are taken over once EC2 shows them.
func TestF6ARefusedRepeatSaysNothingOfTheCallBefore(t *testing.T) {
	for _, refusal := range []error{
		fault.New(fault.Invalid, "InvalidAMIID.NotFound", "the image is gone"), fault.New(fault.Denied, "UnauthorizedOperation", "not authorized"),
		fault.New(fault.Throttled, "RequestLimitExceeded", "slow down"),
	} {
		w := start(t, world.Options{Types: []string{"m5.large"}, Visibility: 3 * time.Minute})
		pending(w, "web", 2, world.Shape(1500, gib))
		w.Fleet.LoseNextReply()
		pass(t, w, provision.TriggerBatch)
		w.Fleet.RefuseNext(refusal)
		w.Tick(due)
		if outcome := pass(t, w, provision.TriggerResync); outcome.Recovered != 0 || outcome.Claims != 0 || len(load(t, w).Intents) != 1 {
			t.Errorf("after %v: %+v", refusal, outcome)
		}
		w.Tick(3 * time.Minute)
		if outcome := pass(t, w, provision.TriggerResync); outcome.Recovered != 1 || outcome.Claims != 0 || len(w.Fleet.Instances()) != 2 {
			t.Errorf("after %v, once its machines are shown: %+v", refusal, outcome)
		}
		settle(t, w)
		sound(t, w)
	}
}

// A launch that was never made and is refused from then on is given up at the second repeated call, which comes three minutes after it was
// recorded where the first came a moment after a tick, and its pods are planned anew.
func TestUnfinishedLaunchIsGivenUpAtItsSecondRefusal(t *testing.T) {
	w := unfinished(t, 2, world.DiesBefore)
	for _, c := range []struct {
		after     time.Duration
		recovered int
	}{{due, 0}, {3*time.Minute + time.Second - due, 1}} {
		w.Fleet.RefuseNext(fault.New(fault.Invalid, "InvalidLaunchTemplateName.NotFoundException", "the template is gone"))
		w.Tick(c.after)
		if outcome := pass(t, w, provision.TriggerResync); outcome.Recovered != c.recovered || outcome.Claims != 2*c.recovered {
			t.Fatalf("%s later: %+v", c.after, outcome)
		}
	}
	settle(t, w)
	sound(t, w)
}

// A launch that was never made and is refused from then on is given up after four minutes, and its pods are planned anew.
func TestUnfinishedLaunchThatIsRefusedGivesItsPodsBack(t *testing.T) {
	w := unfinished(t, 2, world.DiesBefore)
	w.Fleet.RefuseNext(fault.New(fault.Invalid, "InvalidAMIID.NotFound", "the image is gone"))
	w.Tick(due)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Recovered != 0 || outcome.Claims != 0 {
		t.Fatalf("%+v", outcome)
	}
	w.Fleet.RefuseNext(fault.New(fault.Invalid, "InvalidAMIID.NotFound", "the image is gone"))
	w.Tick(4 * time.Minute)
	if outcome := pass(t, w, provision.TriggerResync); outcome.Recovered != 1 || outcome.Claims != 2 {
		t.Fatalf("%+v", outcome)
	}
	settle(t, w)
	sound(t, w)
}

func TestTokenOfAnotherRequestIsToldAndLeftToTheTag(t *testing.T) {
	w := unfinished(t, 1, world.DiesBefore)
	w.Fleet.RefuseNext(fault.New(fault.Conflict, "IdempotentParameterMismatch", "the token was used for another request"))
	w.Tick(due)
	outcome := pass(t, w, provision.TriggerResync)
	if outcome.Recovered != 0 || !strings.Contains(strings.Join(outcome.Problems, "\n"), "IdempotentParameterMismatch") {
		t.Errorf("%+v", outcome)
	}
	if len(load(t, w).Intents) != 1 {
		t.Error("the launch was closed")
	}
}

// The ledger is not read at one instant: an open intent may be seen with claims that are settled or gone.
func TestRecoveryMeetsClaimsThatAreSettled(t *testing.T) {
	w := unfinished(t, 2, world.DiesAfter)
	seen := load(t, w)
	w.Tick(due)
	pass(t, w, provision.TriggerResync)
	process := w.Process(world.Fault{})
	flow := process.Flow()
	for name, claims := range map[string][]model.Claim{"settled": load(t, w).Claims, "gone": nil} {
		flow.Claims = staleIntents{flow.Claims, model.Ledger{Claims: claims, Intents: seen.Intents, Usage: seen.Usage}}
		_, err := flow.Run(t.Context(), provision.Request{
			Cluster: world.Name, Trigger: provision.TriggerResync, Owner: "reader of " + name, Deadline: w.Clock.Now().Add(world.InvocationTimeout),
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	settle(t, w)
	sound(t, w)
}

// F16, X9: a repeated call is in the ledger before it is made, with when it is due: whoever dies on the way has counted.
func TestF16ARepeatedCallIsRecordedBeforeItIsMade(t *testing.T) {
	w := unfinished(t, 1, world.DiesBefore)
	before := load(t, w).Intents[0]
	w.Tick(due)
	_, _ = w.Process(world.Fault{At: 1, Effect: "launch", Mode: world.DiesBefore}).Run(t.Context(), provision.TriggerResync) // nobody hears what it returns
	intents := load(t, w).Intents
	if len(intents) != 1 || intents[0].Attempt != before.Attempt+1 || intents[0].DueUnix <= w.Clock.Now().Unix() || w.Fleet.Calls() != 0 {
		t.Errorf("%+v, %d calls", intents, w.Fleet.Calls())
	}
}
