package provision

import (
	"context"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
)

// excludeLeavingNodes makes what is planned by show which nodes are leaving, as far as the ledger knows more than they show. Nodes of claims that
// are to end: their taint is put on after that was recorded, and seen later still; meanwhile nothing must be planned onto them, and
// their pods need a place elsewhere. Nodes of claims that an open command has: nothing is planned onto them, and their pods stay until
// it ends, tainted or not; so do those of a node that only bears the taint still, or again. Otherwise capacity would be bought for
// the same pods twice, by two (B5). The snapshot itself, which others share, stays as it is.
func (r *pass) excludeLeavingNodes() {
	r.snapshot, r.leaving, r.podAt, r.waits, r.seenUnix = r.shown, nil, nil, nil, r.now()
	claims := map[string]*model.Claim{} // by provider id
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; claim.Live() && claim.ProviderID != "" {
			claims[claim.ProviderID] = claim
		}
	}
	held := replacedBy(r.ledger.Commands)
	leaving := pack.Leaving{}
	for i := range r.shown.Nodes {
		node := &r.shown.Nodes[i]
		claim := claims[node.ProviderID]
		switch {
		case claim == nil || node.ProviderID == "":
			continue
		case claim.Ending():
			leaving[node.Name] = claim.DrainDeadlineUnix(r.seenUnix)
		case held[claim.Name], r.ledger.Unread.Has(model.UnreadCommand, claim.Command), replay.IsDisrupted(node):
			leaving[node.Name] = pack.Stays
		}
	}
	if len(leaving) > 0 {
		r.leaving = leaving
	}
	r.snapshot = replay.Seen(r.shown, leaving)
}

// replacedBy returns the names of the claims whose nodes commands are about to disrupt: those of open commands that are not being
// undone. Once one is, its nodes are capacity again as soon as their taints are off.
func replacedBy(commands []model.Command) map[string]bool {
	held := map[string]bool{}
	for i := range commands {
		if command := &commands[i]; command.State.Going() {
			for _, target := range command.Targets {
				held[target.Claim] = true
			}
		}
	}
	return held
}

// pending returns the pods that ask for capacity, as indexes into the snapshot's pods.
func (r *pass) pending() []int {
	if r.waits == nil {
		r.waits = pack.PendingAt(r.snapshot, r.leaving, r.seenUnix)
		if r.waits == nil {
			r.waits = []int{} // looked up, and there are none
		}
	}
	return r.waits
}

// draining returns the names of the claims whose nodes are being emptied, sorted; never nil.
func (r *pass) draining() []string {
	names := []string{}
	for i := range r.ledger.Claims {
		if r.ledger.Claims[i].State == model.Draining {
			names = append(names, r.ledger.Claims[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// more reports whether nodes are being emptied that were not yet when there were those named. A run that has probed an offering leaves
// them to the next: it would ask for that offering once more.
func (r *pass) more(drains []string) bool {
	return !r.probeEarly && len(r.probes) == 0 && slices.ContainsFunc(r.draining(), func(name string) bool {
		_, known := slices.BinarySearch(drains, name)
		return !known
	})
}

// unshowSeconds is how old NodeClaims of instances have to be that are shown in a rush: those that were launched a moment ago cannot
// have joined yet, and are left for a later run.
const unshowSeconds = 15

// rush reports whether very many drains have just begun.
func (r *pass) rush() bool { return r.ledger.Rush(r.now()) }

// plannedFor returns those of the draining claims all of whose pods have a place by the plan, or had one asked of EC2, or can
// have none: not those with pods whose launches were put off.
func (r *pass) plannedFor(drains []string, plan model.Plan) []string {
	if len(drains) == 0 {
		return drains
	}
	late := map[string]bool{} // pods by UID
	for _, planned := range plan.Claims {
		for _, pod := range planned.Pods {
			if !r.recordedNow[planned.Name] {
				late[pod.UID] = true
			}
		}
	}
	waits := map[string]bool{} // nodes by name
	for _, i := range r.pending() {
		if pod := &r.snapshot.Pods[i]; late[pod.UID] && pod.NodeName != "" {
			waits[pod.NodeName] = true
		}
	}
	for _, i := range r.round.Input.Later {
		waits[r.snapshot.Pods[i].NodeName] = true
	}
	delete(waits, "")
	unmet := map[string]bool{}
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; waits[claim.NodeName] {
			unmet[claim.Name] = true
		}
	}
	return slices.DeleteFunc(drains, func(name string) bool { return unmet[name] })
}

// replaced notes the claims whose nodes are being emptied and whose pods were planned for: their drains need wait no longer.
// It is written at once, before what else this run does.
func (r *pass) replaced(ctx context.Context) {
	if r.plannedClaims == nil || slices.Equal(r.plannedClaims, r.ledger.Notes.Replaced) {
		return
	}
	r.ledger.Notes.Replaced, r.noted = r.plannedClaims, true
	if err := r.remember(ctx); err != nil {
		r.problem("record that drains need not wait: %v", err)
	}
}
