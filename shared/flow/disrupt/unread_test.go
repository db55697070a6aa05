package disrupt_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// F3: nodes of a command that cannot be read keep their taints, nothing else is disrupted meanwhile, and the look says why. Once it can be
// read, or is gone, all goes on.
func TestF3NodesOfACommandThatCannotBeReadStayAsTheyAre(t *testing.T) {
	h := newHouse(t, 4)
	h.nodes["n0"].Node.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
	fence, err := h.ledger.AcquireLease(t.Context(), cluster, model.LeaseDisrupt, "earlier", h.now, h.now+1)
	must(t, err)
	claim := h.claim("c-n0")
	command := model.Command{
		ID: "spoilt", Version: 1, State: model.CommandCommitted, Reason: model.ReasonEmpty, SinceUnix: h.now, Epoch: 1, Seq: 1,
		Targets: []model.Target{{Claim: claim.Name, Pool: claim.Pool, Class: claim.Class, Node: claim.NodeName, NodeUID: claim.NodeUID, Price: claim.Price}},
	}
	must(t, h.ledger.Commit(t.Context(), fence, command, []model.Claim{claim}, []model.BudgetVersion{{Pool: claim.Pool}}))
	must(t, h.ledger.Release(t.Context(), fence))
	world.SpoilItem(h.ledger, cluster, model.UnreadCommand, "spoilt")
	h.publish()
	must(t, h.run(nil, true))
	out := h.outcome
	if out.Strays != 0 || !tainted(&h.nodes["n0"].Node) || out.Planned != 0 || !strings.Contains(out.Undecided, "cannot be read") ||
		!slices.ContainsFunc(out.Problems, func(p string) bool { return strings.Contains(p, "COMMAND#spoilt") }) {
		t.Errorf("%+v\n%s", out, h.state())
	}
	world.MendItems(h.ledger, cluster)
	if out := h.check(); strings.Contains(out.Undecided, "cannot be read") || out.Open != 1 {
		t.Errorf("mended: %+v", out)
	}
}

// F3, B4: a command one of whose claims cannot be read waits: it is not said to be undone while the claim's node has the taint.
func TestF3ACommandWaitsWhileAClaimOfItCannotBeRead(t *testing.T) {
	h := newHouse(t, 4)
	h.wants(planned(model.ReasonDrifted, 1, "n0"))
	h.boots = 10_000
	h.check()
	h.pass(30)
	if !tainted(&h.nodes["n0"].Node) {
		t.Fatalf("%s", h.state())
	}
	h.plan = nil
	h.settings.ReplaceWithin = time.Second // it is late, and would be undone
	world.SpoilItem(h.ledger, cluster, model.UnreadClaim, "c-n0")
	h.pass(120)
	commands := h.load().Commands
	if len(commands) != 1 || !commands[0].State.Open() || !tainted(&h.nodes["n0"].Node) {
		t.Errorf("while it cannot be read: %+v\n%s", commands, h.state())
	}
	if err := h.run(nil, true); err != nil || !slices.ContainsFunc(h.outcome.Problems, func(p string) bool { return strings.Contains(p, "its claim c-n0 cannot be read") }) {
		t.Errorf("%v, told %q", err, h.outcome.Problems)
	}
	world.MendItems(h.ledger, cluster)
	h.pass(120)
	if commands := h.load().Commands; len(commands) != 1 || commands[0].State != model.CommandUndone || tainted(&h.nodes["n0"].Node) {
		t.Errorf("mended: %+v\n%s", commands, h.state())
	}
}
