package conform

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
)

// LedgerDisruptPort is what a ledger is asked for by the disruption function, and by people who stop that.
type LedgerDisruptPort interface {
	LedgerCollectPort
	disrupt.Ledger
	disrupt.Commands
	Stop(ctx context.Context, reg model.Registration, stop model.Stop) error
	Resume(ctx context.Context, reg model.Registration, stop model.Stop) error
	Stops(ctx context.Context, reg model.Registration) ([]model.Stop, error)
}

// LedgerDisrupt is the contract of a ledger towards the disruption function. start returns an empty one for each case.
func LedgerDisrupt(t *testing.T, start func(t *testing.T) LedgerDisruptPort) {
	for name, rule := range map[string]func(*testing.T, bench){
		"commit writes the command, its claims and its pools' turns":         commitWritesAll,
		"commit of the very same command is no error and changes nothing":    commitRepeats,
		"commit is whole or nothing":                                         commitIsAtomic,
		"commit takes no claim that ends or that a command has":              commitNeedsFreeClaims,
		"commit takes the claims and the turns of its targets and no others": commitNeedsItsOwn,
		"commit of the most nodes, each of a pool of its own":                commitHoldsTheMost,
		"a command may move thousands of pods":                               commitHoldsManyPods,
		"of commits at the same turn exactly one wins":                       commitTakesTurns,
		"deposed judge writes nothing":                                       lostLeaseWritesNothing,
		"step needs the version and an open command":                         stepNeedsVersion,
		"end writes the command and its claims together":                     endWritesClaims,
		"end is whole or nothing":                                            endIsAtomic,
		"end lets go of claims, or ends them":                                endNeedsClaimsLetGo,
		"a command that has ended is kept for a day and stays as it is":      endedCommandStays,
		"load shows replacements that have failed":                           loadShowsSpent,
		"whoever ends machines does so whatever the command":                 endsWinOverCommands,
		"glance shows the pointer, the judge's notes and the time":           peekShowsNotes,
		"the judge's notes need the fence and their version":                 recallNeedsVersion,
		"stops hold for a pool, a cluster, an account and region":            stopsHold,
		"a stop of no known scope is refused":                                stopsAreChecked,
	} {
		t.Run(name, func(t *testing.T) {
			ledger := start(t)
			rule(t, bench{cache{book{ledger, t}, ledger}, ledger})
		})
	}
}

// bench is a ledger under test with the disruption function's ports.
type bench struct {
	cache
	disrupt LedgerDisruptPort
}

// sit takes the disruption function's lease.
func (b bench) sit(owner string) model.Fence {
	b.t.Helper()
	fence, err := b.disrupt.AcquireLease(b.ctx(), "web", model.LeaseDisrupt, owner, ledgerBegin, ledgerSoon)
	if err != nil {
		b.t.Fatal(err)
	}
	return fence
}

// running adopts one initialized claim with an instance for each pool given and returns them as they are stored, by name.
func (b bench) running(pools ...string) []model.Claim {
	b.t.Helper()
	fence := b.hold("collector")
	for i, pool := range pools {
		b.must(b.collect.Adopt(b.ctx(), fence, model.Claim{
			Name: fmt.Sprintf("claim-%02d", i), Pool: pool, Class: "default", State: model.Initialized, Intent: "0",
			InstanceID: fmt.Sprintf("i-%02d", i), NodeName: fmt.Sprintf("node-%02d", i), Reserved: model.Resources{model.Nodes: 1},
		}))
	}
	claims := b.load().Claims
	if len(claims) != len(pools) {
		b.t.Fatalf("%d claims, want %d", len(claims), len(pools))
	}
	return claims
}

// ledgerCommand gives claims back, with one replacement.
func ledgerCommand(id string, claims ...model.Claim) model.Command {
	command := model.Command{
		ID: id, Version: 1, State: model.CommandCommitted, Reason: model.ReasonUnderutilized, Decision: "d", PodsMoved: 2, Savings: 700,
		Epoch: 3, Seq: 9, Inputs: "digest", Workloads: []string{"default/ReplicaSet/web"}, SinceUnix: ledgerBegin,
		Replacements: []model.PlannedClaim{{
			Name: id + "-r0", Pool: claims[0].Pool, Class: "default", InstanceTypes: []string{"m7a.large"}, Price: 100,
			Offering:     model.OfferingKey{InstanceType: "m7a.large", Zone: "us-west-2a", CapacityType: model.Spot},
			Requirements: []model.Requirement{{Key: model.LabelZone, Operator: model.In, Values: []string{"us-west-2a"}}},
			Requests:     model.Resources{model.CPU: 1000}, Reserve: model.Resources{model.Nodes: 1}, Pods: []model.PodRef{{Namespace: "default", Name: "web-1"}},
		}},
	}
	for _, claim := range claims {
		command.Targets = append(command.Targets, model.Target{Claim: claim.Name, Pool: claim.Pool, Class: claim.Class, Node: claim.NodeName, NodeUID: "u-" + claim.Name, Price: 800})
	}
	return command
}

// turnsOf are the turns of the claims' pools, as the ledger has them.
func (b bench) turnsOf(claims ...model.Claim) []model.BudgetVersion {
	b.t.Helper()
	stored := map[string]model.BudgetVersion{}
	for _, budgetVersion := range b.load().BudgetVersions {
		stored[budgetVersion.Pool] = budgetVersion
	}
	var budgetVersions []model.BudgetVersion
	seen := map[string]bool{}
	for _, claim := range claims {
		if !seen[claim.Pool] {
			seen[claim.Pool] = true
			budgetVersions = append(budgetVersions, model.BudgetVersion{Pool: claim.Pool, Version: stored[claim.Pool].Version})
		}
	}
	return budgetVersions
}

// committed commits a command of the claims and returns it as it is stored, with its claims.
func (b bench) committed(fence model.Fence, id string, claims ...model.Claim) (model.Command, []model.Claim) {
	b.t.Helper()
	command := ledgerCommand(id, claims...)
	b.must(b.disrupt.Commit(b.ctx(), fence, command, claims, b.turnsOf(claims...)))
	var out []model.Claim
	for _, claim := range b.load().Claims {
		if claim.Command == id {
			out = append(out, claim)
		}
	}
	if len(out) != len(claims) {
		b.t.Fatalf("%d claims are of command %s, want %d", len(out), id, len(claims))
	}
	return command, out
}

// still fails unless the ledger has what it had.
func (b bench) still(what string, before model.Ledger) {
	b.t.Helper()
	after := b.load()
	before.NowUnix, after.NowUnix = 0, 0
	if !reflect.DeepEqual(before, after) {
		b.t.Errorf("%s wrote something:\n%+v\n%+v", what, before, after)
	}
}

func commitWritesAll(t *testing.T, b bench) {
	claims := b.running("default", "default", "spot")
	command := ledgerCommand("c1", claims...)
	fence := b.sit("a")
	b.must(b.disrupt.Commit(b.ctx(), fence, command, claims, []model.BudgetVersion{{Pool: "default"}, {Pool: "spot"}}))
	ledger := b.load()
	if len(ledger.Commands) != 1 || !reflect.DeepEqual(ledger.Commands[0], command) {
		t.Errorf("commands %+v, want %+v", ledger.Commands, command)
	}
	if want := []model.BudgetVersion{{Pool: "default", Version: 1}, {Pool: "spot", Version: 1}}; !reflect.DeepEqual(ledger.BudgetVersions, want) {
		t.Errorf("turns %+v, want %+v", ledger.BudgetVersions, want)
	}
	for i, claim := range ledger.Claims {
		want := claims[i]
		want.Command, want.Version = "c1", want.Version+1
		if !reflect.DeepEqual(claim, want) {
			t.Errorf("claim %+v, want %+v", claim, want)
		}
	}
	if commands := b.records().Commands; !reflect.DeepEqual(commands, ledger.Commands) {
		t.Errorf("surveyed %+v", commands)
	}
	ending, err := b.collect.Ending(b.ctx(), ledgerWeb)
	b.must(err)
	if !reflect.DeepEqual(ending.Commands, ledger.Commands) {
		t.Errorf("whoever drains sees commands %+v, want %+v", ending.Commands, ledger.Commands)
	}
	if n := b.held(model.Nodes); n != 2 {
		t.Errorf("the pool holds %d nodes, want 2", n)
	}
}

func commitRepeats(t *testing.T, b bench) {
	claims := b.running("default", "default")
	fence := b.sit("a")
	command := ledgerCommand("c1", claims...)
	budgetVersions := b.turnsOf(claims...)
	b.must(b.disrupt.Commit(b.ctx(), fence, command, claims, budgetVersions))
	before := b.load()
	for range 2 {
		b.must(b.disrupt.Commit(b.ctx(), fence, command, claims, budgetVersions))
	}
	b.still("the same command", before)
	other := command
	other.Reason = model.ReasonEmpty
	err := b.disrupt.Commit(b.ctx(), fence, other, claims, budgetVersions)
	b.want(fault.Conflict, "another command of its id", err)
	if fault.CodeOf(err) != "CommandExists" {
		t.Errorf("another command of its id: %v", err)
	}
	b.still("another command of its id", before)
}

func commitIsAtomic(t *testing.T, b bench) {
	claims := b.running("default", "spot", "arm")
	fence := b.sit("a")
	command, budgetVersions := ledgerCommand("c1", claims...), b.turnsOf(claims...)
	_, err := b.Advance(b.ctx(), "web", claims[2])
	b.must(err)
	before := b.load()
	err = b.disrupt.Commit(b.ctx(), fence, command, claims, budgetVersions)
	if b.want(fault.Conflict, "a claim that moved on", err); fault.CodeOf(err) != "ClaimChanged" {
		t.Errorf("a claim that moved on: %v", err)
	}
	b.still("a claim that moved on", before)
	claims = before.Claims
	budgetVersions[1].Version = 4
	err = b.disrupt.Commit(b.ctx(), fence, command, claims, budgetVersions)
	if b.want(fault.Conflict, "a turn that is none", err); fault.CodeOf(err) != "TurnTaken" {
		t.Errorf("a turn that is none: %v", err)
	}
	b.still("a turn that is none", before)
	budgetVersions[1].Version = 0
	b.must(b.disrupt.Commit(b.ctx(), fence, command, claims, budgetVersions))
}

func commitNeedsFreeClaims(t *testing.T, b bench) {
	claims := b.running("default", "default", "default")
	fence := b.sit("a")
	_, held := b.committed(fence, "c1", claims[0])
	draining := claims[1]
	draining.State, draining.Drain = model.Draining, &model.Drain{SinceUnix: ledgerBegin}
	draining, err := b.Advance(b.ctx(), "web", draining)
	b.must(err)
	gone := claims[2]
	b.must(b.collect.CloseClaim(b.ctx(), b.hold("collector"), gone, ledgerSoon))
	before := b.load()
	for name, claim := range map[string]model.Claim{"of a command": held[0], "that ends": draining, "that is gone": gone} {
		b.want(fault.Conflict, "a claim "+name, b.disrupt.Commit(b.ctx(), fence, ledgerCommand("c2", claim), []model.Claim{claim}, b.turnsOf(claim)))
		claim.Command, claim.State = "", model.Initialized // as somebody thinks it is who does not look
		claim.Version--
		b.want(fault.Conflict, "a claim as it was before it was one "+name, b.disrupt.Commit(b.ctx(), fence, ledgerCommand("c2", claim), []model.Claim{claim}, b.turnsOf(claim)))
	}
	b.still("a claim that is not free", before)
}

func commitNeedsItsOwn(t *testing.T, b bench) {
	claims := b.running("default", "spot")
	fence := b.sit("a")
	one := ledgerCommand("c1", claims[0])
	both := ledgerCommand("c1", claims...)
	budgetVersion, spot := model.BudgetVersion{Pool: "default"}, model.BudgetVersion{Pool: "spot"}
	later, older := one, one
	later.State, older.Version = model.CommandReplacing, 0
	before := b.load()
	for name, attempt := range map[string]struct {
		command        model.Command
		claims         []model.Claim
		budgetVersions []model.BudgetVersion
	}{
		"no targets":      {model.Command{ID: "c1", Version: 1, State: model.CommandCommitted}, nil, nil},
		"no id":           {ledgerCommand("", claims[0]), claims[:1], []model.BudgetVersion{budgetVersion}},
		"a claim more":    {one, claims, []model.BudgetVersion{budgetVersion}},
		"a claim twice":   {one, []model.Claim{claims[0], claims[0]}, []model.BudgetVersion{budgetVersion}},
		"a target twice":  {ledgerCommand("c1", claims[0], claims[0]), claims[:1], []model.BudgetVersion{budgetVersion}},
		"a claim less":    {both, claims[:1], []model.BudgetVersion{budgetVersion, spot}},
		"a turn more":     {one, claims[:1], []model.BudgetVersion{budgetVersion, spot}},
		"a turn twice":    {one, claims[:1], []model.BudgetVersion{budgetVersion, budgetVersion}},
		"a turn less":     {both, claims, []model.BudgetVersion{budgetVersion}},
		"no new state":    {later, claims[:1], []model.BudgetVersion{budgetVersion}},
		"no new version":  {older, claims[:1], []model.BudgetVersion{budgetVersion}},
		"too many claims": {ledgerCommand("c1", make([]model.Claim, model.MaxCommandNodes+1)...), claims, []model.BudgetVersion{budgetVersion}},
	} {
		b.want(fault.Invalid, name, b.disrupt.Commit(b.ctx(), fence, attempt.command, attempt.claims, attempt.budgetVersions))
	}
	b.still("what makes no sense", before)
}

func commitHoldsTheMost(t *testing.T, b bench) {
	pools := make([]string, model.MaxCommandNodes)
	for i := range pools {
		pools[i] = fmt.Sprintf("pool-%02d", i)
	}
	claims := b.running(pools...)
	fence := b.sit("a")
	command, held := b.committed(fence, "c1", claims...)
	for i := range held {
		held[i].State, held[i].FailureCode = model.Draining, command.Reason
	}
	command.State, command.EndedUnix = model.CommandDone, b.load().NowUnix
	if _, err := b.disrupt.End(b.ctx(), fence, command, held); err != nil {
		t.Fatal(err)
	}
	ledger := b.load()
	for _, claim := range ledger.Claims {
		if claim.State != model.Draining {
			t.Errorf("claim %s is %s", claim.Name, claim.State)
		}
	}
	if len(ledger.BudgetVersions) != model.MaxCommandNodes {
		t.Errorf("%d turns", len(ledger.BudgetVersions))
	}
}

// commitHoldsManyPods replaces the most nodes there may be, each full of pods, one for one.
func commitHoldsManyPods(t *testing.T, b bench) {
	pools := make([]string, model.MaxCommandNodes)
	for i := range pools {
		pools[i] = "default"
	}
	claims := b.running(pools...)
	fence := b.sit("a")
	command := ledgerCommand("c1", claims...)
	replacement := command.Replacements[0]
	command.Replacements = nil
	for i := range pools {
		replacement.Name, replacement.Pods = fmt.Sprintf("c1-r%02d", i), nil
		for p := range 110 {
			replacement.Pods = append(replacement.Pods, model.PodRef{
				Namespace: "payments-production", Name: fmt.Sprintf("reconciliation-%x-%d-%d", uint32(i*7919+p*104729), i, p),
				UID: fmt.Sprintf("%08x-%04x-4000-8000-%012x", uint32(p)*2654435761, i, uint64(i*1000+p)*11400714819323198485>>16),
			})
		}
		command.Replacements = append(command.Replacements, replacement)
	}
	for range 2 { // the second time as after a lost answer
		b.must(b.disrupt.Commit(b.ctx(), fence, command, claims, []model.BudgetVersion{{Pool: "default"}}))
	}
	if stored := b.load().Commands; len(stored) != 1 || !reflect.DeepEqual(stored[0], command) {
		t.Errorf("%d commands, and not what was committed", len(stored))
	}
	command.State = model.CommandReplacing
	next, err := b.disrupt.AdvanceCommand(b.ctx(), fence, command)
	b.must(err)
	if stored := b.records().Commands; len(stored) != 1 || !reflect.DeepEqual(stored[0], next) {
		t.Errorf("after a step: %d commands, and not what was written", len(stored))
	}
}

// commitTakesTurns has eight processes with the same lease's fence commit eight commands of eight claims of two pools at once, all
// evaluated by the same turns.
func commitTakesTurns(t *testing.T, b bench) {
	claims := b.running("default", "default", "default", "default", "default", "default", "default", "default", "spot")
	fence := b.sit("a")
	shared := claims[8]
	for round := range 3 {
		var won atomic.Int64
		var group sync.WaitGroup
		budgetVersions := b.turnsOf(claims[0])
		for i := range 8 {
			group.Go(func() {
				id := fmt.Sprintf("c-%d-%d", round, i)
				err := b.disrupt.Commit(b.ctx(), fence, ledgerCommand(id, claims[i]), []model.Claim{claims[i]}, budgetVersions)
				switch {
				case err == nil:
					won.Add(1)
				case !fault.Is(err, fault.Conflict):
					t.Errorf("command %s: %v", id, err)
				}
			})
		}
		group.Wait()
		ledger := b.load()
		var held []model.Claim
		for i, claim := range ledger.Claims {
			claims[i] = claim
			if claim.Command != "" {
				claim.Command = ""
				held = append(held, claim)
			}
		}
		open := 0
		for _, command := range ledger.Commands {
			if command.State.Open() {
				open++
				command.State, command.EndedUnix = model.CommandUndone, ledger.NowUnix
				_, err := b.disrupt.End(b.ctx(), fence, command, held)
				b.must(err)
			}
		}
		if won.Load() != 1 || len(held) != 1 || open != 1 || ledger.BudgetVersions[0].Version != int64(round+1) {
			t.Fatalf("round %d: %d won, %d claims are held, %d commands are open, turns %+v; want one of each", round, won.Load(), len(held), open, ledger.BudgetVersions)
		}
		claims = b.load().Claims
	}
	if _, held := b.committed(fence, "other", shared); held[0].Pool != "spot" {
		t.Errorf("%+v", held)
	}
}

func lostLeaseWritesNothing(t *testing.T, b bench) {
	claims := b.running("default", "default")
	old := b.sit("a")
	command, held := b.committed(old, "c1", claims[0])
	_, err := b.disrupt.AcquireLease(b.ctx(), "web", model.LeaseDisrupt, "b", ledgerSoon+1, ledgerSoon+60)
	b.must(err)
	before := b.load()
	b.want(fault.Conflict, "commit", b.disrupt.Commit(b.ctx(), old, ledgerCommand("c2", claims[1]), claims[1:], b.turnsOf(claims[1])))
	stepped := command
	stepped.State = model.CommandReplacing
	_, err = b.disrupt.AdvanceCommand(b.ctx(), old, stepped)
	b.want(fault.Conflict, "step", err)
	stepped.State, stepped.EndedUnix, held[0].Command = model.CommandUndone, ledgerSoon, ""
	_, err = b.disrupt.End(b.ctx(), old, stepped, held)
	b.want(fault.Conflict, "end", err)
	_, err = b.disrupt.Recall(b.ctx(), old, model.DisruptNotes{AtUnix: ledgerBegin})
	b.want(fault.Conflict, "recall", err)
	b.still("a deposed judge", before)
}

func stepNeedsVersion(t *testing.T, b bench) {
	claims := b.running("default")
	fence := b.sit("a")
	command, held := b.committed(fence, "c1", claims...)
	command.State, command.TaintedUnix, command.ReplacingUnix = model.CommandReplacing, ledgerBegin, ledgerSoon
	next, err := b.disrupt.AdvanceCommand(b.ctx(), fence, command)
	b.must(err)
	want := command
	want.Version = 2
	if stored := b.load().Commands; !reflect.DeepEqual(next, want) || len(stored) != 1 || !reflect.DeepEqual(stored[0], want) {
		t.Errorf("returned %+v, stored %+v, want %+v", next, stored, want)
	}
	if got := b.load().Claims; !reflect.DeepEqual(got, held) {
		t.Errorf("a step changed claims: %+v", got)
	}
	_, err = b.disrupt.AdvanceCommand(b.ctx(), fence, command)
	b.want(fault.Conflict, "an older version", err)
	never := next
	never.ID = "never"
	_, err = b.disrupt.AdvanceCommand(b.ctx(), fence, never)
	b.want(fault.Conflict, "a command that never was", err)
	done := next
	done.State, done.EndedUnix = model.CommandDone, ledgerSoon
	_, err = b.disrupt.AdvanceCommand(b.ctx(), fence, done)
	b.want(fault.Invalid, "a step to the end", err)
	if stored := b.load().Commands; len(stored) != 1 || !reflect.DeepEqual(stored[0], want) {
		t.Errorf("something was written: %+v", stored)
	}
}

func endWritesClaims(t *testing.T, b bench) {
	claims := b.running("default", "default")
	fence := b.sit("a")
	command, held := b.committed(fence, "c1", claims...)
	now := b.load().NowUnix
	for i := range held {
		held[i].State, held[i].FailureCode = model.Draining, command.Reason
		held[i].Drain = &model.Drain{SinceUnix: now, DeadlineUnix: now + 600}
	}
	command.State, command.EndedUnix = model.CommandDone, now
	ended, err := b.disrupt.End(b.ctx(), fence, command, held)
	b.must(err)
	ledger := b.load()
	if ended.Version != 2 || len(ledger.Commands) != 1 || !reflect.DeepEqual(ledger.Commands[0], ended) {
		t.Errorf("returned %+v, stored %+v", ended, ledger.Commands)
	}
	if r := ended.Replacements; len(r) != 1 || r[0].Name != "c1-r0" || r[0].Offering.InstanceType != "m7a.large" || r[0].Class != "default" || r[0].Price != 100 ||
		len(r[0].Requirements)+len(r[0].InstanceTypes)+len(r[0].Requests)+len(r[0].Pods) != 0 {
		t.Errorf("kept of the replacements: %+v", r)
	}
	if len(command.Replacements[0].InstanceTypes) == 0 {
		t.Error("what was given was changed")
	}
	for i, claim := range ledger.Claims {
		want := held[i]
		want.Version++
		if !reflect.DeepEqual(claim, want) {
			t.Errorf("claim %+v, want %+v", claim, want)
		}
	}
	if b.held(model.Nodes) != 2 {
		t.Errorf("a command's end gave back what its claims hold: %d nodes", b.held(model.Nodes))
	}
}

func endIsAtomic(t *testing.T, b bench) {
	claims := b.running("default", "default")
	fence := b.sit("a")
	command, held := b.committed(fence, "c1", claims...)
	_, err := b.Advance(b.ctx(), "web", held[1])
	b.must(err)
	before := b.load()
	for i := range held {
		held[i].Command = ""
	}
	command.State, command.EndedUnix = model.CommandUndone, before.NowUnix
	_, err = b.disrupt.End(b.ctx(), fence, command, held)
	if b.want(fault.Conflict, "a claim that moved on", err); fault.CodeOf(err) != "ClaimChanged" {
		t.Errorf("a claim that moved on: %v", err)
	}
	b.still("a claim that moved on", before)
	held[1].Version++
	stale := command
	stale.Version = 7
	_, err = b.disrupt.End(b.ctx(), fence, stale, held)
	b.want(fault.Conflict, "another version", err)
	b.still("another version", before)
	if _, err = b.disrupt.End(b.ctx(), fence, command, held); err != nil {
		t.Fatal(err)
	}
	for _, claim := range b.load().Claims {
		if claim.Command != "" || claim.State != model.Initialized {
			t.Errorf("%+v", claim)
		}
	}
}

func endNeedsClaimsLetGo(t *testing.T, b bench) {
	claims := b.running("default", "default")
	fence := b.sit("a")
	command, held := b.committed(fence, "c1", claims[0])
	command.State, command.EndedUnix = model.CommandDone, ledgerBegin
	before := b.load()
	end := func(what string, command model.Command, claims ...model.Claim) {
		t.Helper()
		_, err := b.disrupt.End(b.ctx(), fence, command, claims)
		b.want(fault.Invalid, what, err)
	}
	end("a claim that is kept", command, held...)
	gone, open, timeless, other := held[0], command, command, claims[1]
	gone.State = model.Gone
	end("a claim that is closed", command, gone)
	let := held[0]
	let.Command = ""
	end("a claim twice", command, let, let)
	end("a claim of others", command, other)
	open.State = model.CommandUndoing
	end("a state that is no end", open, let)
	timeless.EndedUnix = 0
	end("no time", timeless, let)
	b.still("what makes no sense", before)
}

func endedCommandStays(t *testing.T, b bench) {
	claims := b.running("default", "default")
	fence := b.sit("a")
	now := b.load().NowUnix
	for i, ended := range []int64{now, now - 24*3600 - 1} {
		command, held := b.committed(fence, fmt.Sprintf("c%d", i), claims[i])
		held[0].Command = ""
		command.State, command.EndedUnix, command.FailureCode = model.CommandUndone, ended, "Why"
		last, err := b.disrupt.End(b.ctx(), fence, command, held)
		b.must(err)
		_, err = b.disrupt.End(b.ctx(), fence, last, nil)
		b.want(fault.Conflict, "another end", err)
		last.State = model.CommandReplacing
		_, err = b.disrupt.AdvanceCommand(b.ctx(), fence, last)
		b.want(fault.Conflict, "a step after the end", err)
	}
	for name, commands := range map[string][]model.Command{"load": b.load().Commands, "survey": b.records().Commands} {
		if len(commands) != 1 || commands[0].ID != "c0" || commands[0].State != model.CommandUndone || commands[0].FailureCode != "Why" {
			t.Errorf("%s: %+v, want the one that ended within a day", name, commands)
		}
	}
}

// loadShowsSpent has both replacements of a command launched, of which one gives no instance.
func loadShowsSpent(t *testing.T, b bench) {
	claims := b.running("default", "default")
	fence, planner := b.sit("a"), b.acquire("planner")
	command := ledgerCommand("c1", claims[0])
	command.Replacements = append(command.Replacements, command.Replacements[0])
	command.Replacements[1].Name = "c1-r1"
	b.must(b.disrupt.Commit(b.ctx(), fence, command, claims[:1], b.turnsOf(claims[0])))
	if spent := b.load().Spent; len(spent) != 0 {
		t.Errorf("before any was launched: %+v", spent)
	}
	intent, launched := ledgerLaunch("1", 3)
	for i, name := range []string{"c1-r0", "c1-r1", "other"} {
		launched[i].Name, intent.Claims[i] = name, name
	}
	b.must(b.Record(b.ctx(), planner, intent, launched, nil))
	outcome := ledgerOutcome(intent, launched, 1)
	outcome.AtUnix = farUnix
	b.must(b.Settle(b.ctx(), planner, outcome))
	if spent := b.load().Spent; len(spent) != 1 || spent[0].Name != "c1-r1" || spent[0].FailureCode != "InsufficientInstanceCapacity" || spent[0].State != model.Gone {
		t.Errorf("while the command is open: %+v, want c1-r1", spent)
	}
	command.State, command.EndedUnix = model.CommandUndone, b.load().NowUnix
	_, err := b.disrupt.End(b.ctx(), fence, command, nil)
	b.must(err)
	if spent := b.load().Spent; len(spent) != 0 {
		t.Errorf("after its end: %+v", spent)
	}
}

// endsWinOverCommands has an instance end while it is an open command's.
func endsWinOverCommands(t *testing.T, b bench) {
	claims := b.running("default", "default")
	fence := b.sit("a")
	command, held := b.committed(fence, "c1", claims...)
	spot := held[0]
	spot.State, spot.FailureCode = model.Draining, model.EndedSpotInterrupted
	spot, err := b.Advance(b.ctx(), "web", spot)
	b.must(err)
	b.must(b.collect.CloseClaim(b.ctx(), b.hold("collector"), spot, b.load().NowUnix))
	held[1].State, held[1].FailureCode = model.Draining, command.Reason
	command.State, command.EndedUnix = model.CommandDone, b.load().NowUnix
	if _, err := b.disrupt.End(b.ctx(), fence, command, held[1:]); err != nil {
		t.Errorf("without the claim that ended by itself: %v", err)
	}
	records := b.records()
	if records.Claims[0].State != model.Gone || records.Claims[0].FailureCode != model.EndedSpotInterrupted || records.Claims[1].FailureCode != command.Reason {
		t.Errorf("%+v", records.Claims)
	}
}

func peekShowsNotes(t *testing.T, b bench) {
	manifest, notes, now, err := b.disrupt.Peek(b.ctx(), "web")
	if err != nil || manifest != nil || !reflect.DeepEqual(notes, model.DisruptNotes{}) || now == 0 {
		t.Errorf("of nothing: %+v %+v %d %v", manifest, notes, now, err)
	}
	epoch, err := b.NextEpoch(b.ctx(), "web", "w")
	b.must(err)
	b.must(b.point(model.Manifest{Cluster: "web", Epoch: epoch, SnapshotKey: "k", SnapshotSeq: 1, HeadSeq: 4, HeartbeatAt: ledgerBegin}))
	b.must(b.heartbeat(epoch, ledgerSoon))
	kept, err := b.disrupt.Recall(b.ctx(), b.sit("a"), model.DisruptNotes{
		AtUnix: ledgerBegin, Epoch: epoch, Seq: 4, Ledger: "l", Catalog: "c", DueUnix: ledgerSoon, Reported: []model.ReportedNode{{Node: "n", Code: "c", AtUnix: ledgerBegin}},
	})
	b.must(err)
	manifest, notes, _, err = b.disrupt.Peek(b.ctx(), "web")
	if err != nil || manifest == nil || manifest.HeadSeq != 4 || manifest.HeartbeatAt != ledgerSoon || !reflect.DeepEqual(notes, kept) {
		t.Errorf("%+v %+v %v", manifest, notes, err)
	}
	if _, notes, _, err := b.disrupt.Peek(b.ctx(), "shop"); err != nil || notes.Version != 0 {
		t.Errorf("of another cluster: %+v %v", notes, err)
	}
	if stored := b.load().Disrupt; !reflect.DeepEqual(stored, kept) {
		t.Errorf("loaded %+v, want %+v", stored, kept)
	}
}

func recallNeedsVersion(t *testing.T, b bench) {
	fence := b.sit("a")
	first, err := b.disrupt.Recall(b.ctx(), fence, model.DisruptNotes{AtUnix: ledgerBegin, HintUnix: ledgerSoon})
	if err != nil || first.Version != 1 {
		t.Fatalf("%+v %v", first, err)
	}
	_, err = b.disrupt.Recall(b.ctx(), fence, model.DisruptNotes{AtUnix: ledgerSoon})
	b.want(fault.Conflict, "notes of an older version", err)
	first.HintUnix = 0
	if second, err := b.disrupt.Recall(b.ctx(), fence, first); err != nil || second.Version != 2 || !reflect.DeepEqual(b.load().Disrupt, second) {
		t.Errorf("%+v %v", second, err)
	}
}

func stopsHold(t *testing.T, b bench) {
	shop := ledgerWeb
	shop.Cluster = "shop"
	far := shop
	far.Region = "eu-west-1"
	pool := func(name, why string) model.Stop {
		return model.Stop{Scope: model.StopPool, Pool: name, Why: why, By: "ann", SinceUnix: ledgerBegin}
	}
	cluster, region := model.Stop{Scope: model.StopCluster, Why: "freeze"}, model.Stop{Scope: model.StopRegion, Why: "incident"}
	for _, stop := range []model.Stop{region, cluster, pool("b", "1"), pool("a", "2"), pool("a", "3")} {
		b.must(b.disrupt.Stop(b.ctx(), ledgerWeb, stop))
	}
	want := func(what string, reg model.Registration, want ...model.Stop) {
		t.Helper()
		stops, err := b.disrupt.Stops(b.ctx(), reg)
		b.must(err)
		ledger, err := b.disrupt.Load(b.ctx(), reg)
		b.must(err)
		if len(stops)+len(want) > 0 && !reflect.DeepEqual(stops, want) || len(ledger.Stops)+len(want) > 0 && !reflect.DeepEqual(ledger.Stops, want) {
			t.Errorf("%s: %+v, loaded %+v, want %+v", what, stops, ledger.Stops, want)
		}
	}
	want("all", ledgerWeb, pool("a", "3"), pool("b", "1"), cluster, region)
	want("of another cluster", shop, region)
	want("of another region", far)
	for range 2 {
		b.must(b.disrupt.Resume(b.ctx(), ledgerWeb, model.Stop{Scope: model.StopPool, Pool: "a"}))
	}
	want("without a pool's", ledgerWeb, pool("b", "1"), cluster, region)
	b.must(b.disrupt.Resume(b.ctx(), ledgerWeb, model.Stop{Scope: model.StopCluster}))
	want("without the cluster's", ledgerWeb, pool("b", "1"), region)
	b.must(b.disrupt.Resume(b.ctx(), shop, model.Stop{Scope: model.StopRegion}))
	want("without the region's", ledgerWeb, pool("b", "1"))
	want("without the region's, of another cluster", shop)
}

func stopsAreChecked(t *testing.T, b bench) {
	for _, stop := range []model.Stop{{}, {Scope: "fleet"}, {Scope: model.StopPool}, {Scope: model.StopCluster, Pool: "a"}, {Scope: model.StopRegion, Pool: "a"}} {
		b.want(fault.Invalid, fmt.Sprintf("stop %+v", stop), b.disrupt.Stop(b.ctx(), ledgerWeb, stop))
		b.want(fault.Invalid, fmt.Sprintf("resume %+v", stop), b.disrupt.Resume(b.ctx(), ledgerWeb, stop))
	}
	if stops, err := b.disrupt.Stops(b.ctx(), ledgerWeb); err != nil || len(stops) != 0 {
		t.Errorf("%+v %v", stops, err)
	}
}
