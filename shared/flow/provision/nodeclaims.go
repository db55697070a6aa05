package provision

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// registrar shows claims as NodeClaims, and registers their nodes.
type registrar struct {
	*state
	quota     *quota
	states    port.ClaimStates
	cluster   Cluster
	nominator Nominator
	tagger    Tagger
	fleet     Fleet
}

// unshowSeconds is how old NodeClaims of instances have to be that are shown in a rush: those that were launched a
// moment ago cannot have joined yet, and are left for a later run.
const unshowSeconds = 15

// showClaims makes the NodeClaim objects of launched claims that have none on record, also those an earlier run
// launched and did not come to show. In a rush the youngest wait for a later run: the pods that leave ask for one, and
// so does a node that joins.
func (g *registrar) showClaims(ctx context.Context) {
	var due []model.Claim
	rush := g.ledger.Rush(g.now())
	for _, claim := range g.ledger.Claims {
		if rush && claim.State == model.Launched && g.now()-claim.LaunchedUnix < unshowSeconds {
			continue
		}
		if claim.State == model.Launched && claim.ObjectUID == "" && !claim.Vanished || g.unshown(&claim) {
			due = append(due, claim)
		}
	}
	manual := make([]bool, len(due)) // objects that people made, and that may not show their instance yet
	for i := range due {
		manual[i] = g.unshown(&due[i])
	}
	shown := g.each(due, "show claim %s: %v", func(i int) (model.Claim, error) { return g.showClaim(ctx, due[i]) })
	for i := range shown {
		if shown[i].ObjectUID != "" && (due[i].ObjectUID == "" || manual[i]) {
			g.claimEvent(&shown[i], "Launched", "instance %s is launched (%s in %s, %s, $%.4f per hour)",
				shown[i].InstanceID,
				shown[i].InstanceType, shown[i].Zone, shown[i].CapacityType, shown[i].Price.USD())
		}
	}
}

// claimEvent has people told, on its object, how far a claim has come.
func (g *registrar) claimEvent(claim *model.Claim, reason, format string, args ...any) {
	g.event(model.Event{
		Kind: kindClaim, Name: claim.Name, UID: claim.ObjectUID, Reason: reason, Message: fmt.Sprintf(format, args...),
	})
}

// each takes a step for each of the claims side by side, and returns what became of them, as the ledger has them now.
// An error of a step is a problem, with the claim's name, unless it is passing.
func (g *registrar) each(due []model.Claim, problem string, step func(i int) (model.Claim, error)) []model.Claim {
	moved := make([]model.Claim, len(due))
	g.parallel(len(due), func(i int) {
		var err error
		if moved[i], err = step(i); err != nil && !passing(err) {
			g.problem(problem, due[i].Name, err)
		}
	})
	for _, claim := range moved {
		g.replaceClaim(claim)
	}
	return moved
}

func (g *registrar) showClaim(ctx context.Context, claim model.Claim) (model.Claim, error) {
	uid, err := g.putClaim(ctx, claim)
	if err != nil {
		return claim, fmt.Errorf("write its NodeClaim: %w", err)
	}
	if claim.ObjectUID == uid { // of one that people made
		return claim, nil
	}
	claim.ObjectUID = uid
	return g.noteObject(ctx, claim)
}

// putClaim writes a claim's NodeClaim object and returns its UID.
func (g *registrar) putClaim(ctx context.Context, claim model.Claim) (uid string, err error) {
	err = g.effect(ctx, EffectPutClaim, func() (err error) {
		uid, err = g.cluster.PutClaim(ctx, claim)
		return err
	})
	return uid, err
}

// noteObject writes to the ledger which NodeClaim object the claim has.
func (g *registrar) noteObject(ctx context.Context, claim model.Claim) (model.Claim, error) {
	err := g.effect(ctx, EffectNote, func() (err error) {
		claim, err = g.states.Advance(ctx, g.reg.Cluster, claim)
		return err
	})
	if err != nil {
		return claim, fmt.Errorf("record its object: %w", err)
	}
	return claim, nil
}

// show brings the claim's object up to it. People may have deleted that; the node is ours all the same.
func (g *registrar) show(ctx context.Context, claim model.Claim) error {
	if _, err := g.putClaim(ctx, claim); !fault.Is(err, fault.NotFound) {
		return err
	}
	return nil
}

// advance writes the claim on condition of its version, and gives it the next one.
func (g *registrar) advance(ctx context.Context, claim *model.Claim) error {
	err := g.effect(ctx, EffectAdvance, func() (err error) {
		next, err := g.states.Advance(ctx, g.reg.Cluster, *claim)
		if err == nil {
			*claim = next
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("record state %s: %w", claim.State, err)
	}
	return nil
}

// restore makes the NodeClaim objects anew of claims whose objects went with a definition, once their NodePool is there
// again: the NodePool as it is now owns the object, and the object the node, as before. Of a claim whose NodePool has
// not come back there is no object, and its instance runs on.
func (g *registrar) restore(ctx context.Context) {
	there := map[string]bool{"": true} // pools, as the snapshot shows them: none of the others is asked for
	for i := range g.snapshot.Pools {
		there[g.snapshot.Pools[i].Name] = g.snapshot.Pools[i].DeletedUnix == 0
	}
	var due []model.Claim
	waits := 0
	for _, claim := range g.ledger.Claims {
		switch {
		case !claim.Vanished || !claim.Live() || claim.Ending() || claim.State == model.Intended:
		case !there[claim.Pool]:
			waits++
		default:
			due = append(due, claim)
		}
	}
	if waits > 0 {
		g.problem("%d NodeClaims that were deleted with their CustomResourceDefinition wait for their NodePools to be "+
			"applied again; their instances keep running", waits)
	}
	uids := map[string]string{"": ""}
	for i := range due {
		uid, asked := uids[due[i].Pool]
		if !asked {
			var err error
			if uid, err = g.cluster.PoolUID(ctx, due[i].Pool); err != nil {
				g.problem("create the NodeClaims of NodePool %s again: %v", due[i].Pool, err)
			}
			uids[due[i].Pool] = uid
		}
		due[i].PoolUID = uid
	}
	restored := make([]bool, len(due))
	once := func(i int) error {
		if due[i].Pool != "" && due[i].PoolUID == "" {
			return nil
		}
		claim, err := g.restoreClaim(ctx, due[i])
		if err == nil {
			due[i], restored[i] = claim, true
		} else if !passing(err) {
			g.problem("create NodeClaim %s again: %v", due[i].Name, err)
		}
		return err
	}
	// NodeClaims are not defined: none of the others can be made either
	if len(due) == 0 || fault.Is(once(0), fault.NotFound) {
		return
	}
	g.parallel(len(due)-1, func(i int) { _ = once(i + 1) })
	for i := range due {
		if restored[i] {
			g.replaceClaim(due[i])
			g.out.Restored++
		}
	}
}

// restoreClaim makes one object, has it own the claim's node, and notes it. Each step may be repeated.
func (g *registrar) restoreClaim(ctx context.Context, claim model.Claim) (model.Claim, error) {
	uid, err := g.putClaim(ctx, claim)
	if err != nil {
		return claim, fmt.Errorf("write its NodeClaim: %w", err)
	}
	if claim.NodeName != "" && claim.NodeUID != "" {
		patch := model.NodePatch{Name: claim.NodeName, UID: claim.NodeUID,
			Owner: &model.Object{Name: claim.Name, UID: uid}, Finalizer: true}
		err := g.effect(ctx, EffectNode, func() error { return g.cluster.PatchNode(ctx, patch) })
		if err != nil && !passing(err) {
			return claim, fmt.Errorf("make it the owner of node %s: %w", claim.NodeName, err)
		}
	}
	claim.ObjectUID, claim.Vanished = uid, false
	return g.noteObject(ctx, claim)
}

// hydrateObjects gives NodeClaim objects of living claims the finalizer and the label of their class where they lack
// them.
func (g *registrar) hydrateObjects(ctx context.Context) {
	lacking := map[string]bool{} // by UID
	for i := range g.snapshot.Claims {
		if object := &g.snapshot.Claims[i]; object.Bare && object.DeletedUnix == 0 {
			lacking[object.UID] = true
		}
	}
	if len(lacking) == 0 {
		return
	}
	var due []model.Claim
	for _, claim := range g.ledger.Claims {
		if claim.Live() && claim.State != model.Intended && !claim.Ending() && lacking[claim.ObjectUID] {
			due = append(due, claim)
		}
	}
	g.each(due, "complete NodeClaim %s: %v", func(i int) (model.Claim, error) { return due[i], g.show(ctx, due[i]) })
}
