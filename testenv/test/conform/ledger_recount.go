package conform

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
)

// LedgerRecount is the contract of a ledger towards whoever corrects usage. start returns an empty one for each case.
func LedgerRecount(t *testing.T, start func(t *testing.T) (LedgerDisruptPort, provision.UsageRecounts)) {
	for name, rule := range map[string]func(*testing.T, bench, provision.UsageRecounts){
		"recount replaces usage at its version":      recountNeedsVersion,
		"a launch in between refuses the recount":    recountMeetsALaunch,
		"deposed planner counts nothing anew":        recountNeedsTheFence,
		"recount makes usage that was deleted, once": recountMakesUsage,
	} {
		t.Run(name, func(t *testing.T) {
			ledger, recounts := start(t)
			rule(t, bench{cache{book{ledger, t}, ledger}, ledger}, recounts)
		})
	}
}

// usage returns that of the pool default, the zero value where there is none.
func (b bench) usage() model.Usage {
	b.t.Helper()
	for _, usage := range b.load().Usage {
		if usage.Pool == "default" {
			return usage
		}
	}
	return model.Usage{Pool: "default"}
}

func recountNeedsVersion(t *testing.T, b bench, recounts provision.UsageRecounts) {
	b.running("default", "default")
	fence, usage := b.acquire("planner"), b.usage()
	right := model.Usage{Pool: "default", Version: usage.Version, Reserved: model.Resources{model.Nodes: 1, model.CPU: 7}}
	b.must(recounts.Recount(b.ctx(), fence, right))
	got := b.usage()
	if got.Version != usage.Version+1 || len(got.Reserved) != 2 || got.Reserved[model.Nodes] != 1 || got.Reserved[model.CPU] != 7 {
		t.Errorf("%+v", got)
	}
	b.want(fault.Conflict, "again at the same version", recounts.Recount(b.ctx(), fence, right))
}

func recountMeetsALaunch(t *testing.T, b bench, recounts provision.UsageRecounts) {
	b.running("default", "default")
	fence, usage := b.acquire("planner"), b.usage()
	intent, claims := ledgerLaunch("1", 1)
	b.must(b.Record(b.ctx(), fence, intent, claims, nil))
	b.want(fault.Conflict, "after a launch", recounts.Recount(b.ctx(), fence, model.Usage{Pool: "default", Version: usage.Version, Reserved: model.Resources{model.Nodes: 2}}))
	if held := b.held(model.Nodes); held != 3 {
		t.Errorf("%d nodes are held, want 3", held)
	}
	// So does an end, which another program writes under a lease of its own.
	usage = b.usage()
	b.must(b.collect.CloseClaim(b.ctx(), b.hold("collector"), b.load().Claims[0], farUnix))
	b.want(fault.Conflict, "after an end", recounts.Recount(b.ctx(), fence, usage))
}

func recountNeedsTheFence(t *testing.T, b bench, recounts provision.UsageRecounts) {
	b.running("default")
	old, usage := b.acquire("planner"), b.usage()
	b.acquire("planner")
	b.want(fault.Conflict, "an old fence", recounts.Recount(b.ctx(), old, usage))
	if got := b.usage(); got.Version != usage.Version {
		t.Errorf("written: %+v", got)
	}
}

func recountMakesUsage(t *testing.T, b bench, recounts provision.UsageRecounts) {
	fence := b.acquire("planner")
	made := model.Usage{Pool: "default", Reserved: model.Resources{model.Nodes: 2}}
	b.must(recounts.Recount(b.ctx(), fence, made))
	if held := b.held(model.Nodes); held != 2 {
		t.Errorf("%d nodes are held, want 2", held)
	}
	b.want(fault.Conflict, "once more", recounts.Recount(b.ctx(), fence, made))
}
