package provision

import (
	"context"
	"fmt"
	"sort"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// showClaims makes the NodeClaim objects of launched claims that have none on record, also those an earlier run launched
// and did not come to show. In a rush the youngest wait for a later run: the pods that leave ask for one, and so does a node that joins.
func (r *pass) showClaims(ctx context.Context) {
	var unshown []model.Claim
	rush := r.rush()
	for _, claim := range r.ledger.Claims {
		if rush && claim.State == model.Launched && r.now()-claim.LaunchedUnix < unshowSeconds {
			continue
		}
		if claim.State == model.Launched && claim.ObjectUID == "" && !claim.Vanished || r.unshown(&claim) {
			unshown = append(unshown, claim)
		}
	}
	shown := make([]model.Claim, len(unshown))
	r.parallel(len(unshown), func(i int) {
		claim, err := r.showClaim(ctx, unshown[i])
		if err != nil && !passing(err) {
			r.problem("show claim %s: %v", unshown[i].Name, err)
		}
		shown[i] = claim
	})
	for _, claim := range shown {
		r.replaceClaim(claim)
	}
}

func (r *pass) showClaim(ctx context.Context, claim model.Claim) (model.Claim, error) {
	uid, err := r.putClaim(ctx, claim)
	if err != nil || claim.ObjectUID == uid { // of one that people made
		return claim, err
	}
	claim.ObjectUID = uid
	return r.noteObject(ctx, claim)
}

// putClaim writes a claim's NodeClaim object and returns its UID.
func (r *pass) putClaim(ctx context.Context, claim model.Claim) (uid string, err error) {
	err = r.effect(ctx, EffectPutClaim, func() (err error) {
		uid, err = r.clients.Cluster.PutClaim(ctx, claim)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("write its NodeClaim: %w", err)
	}
	return uid, nil
}

// noteObject writes to the ledger which NodeClaim object the claim has.
func (r *pass) noteObject(ctx context.Context, claim model.Claim) (model.Claim, error) {
	err := r.effect(ctx, EffectNote, func() (err error) {
		claim, err = r.ClaimStates.Advance(ctx, r.reg.Cluster, claim)
		return err
	})
	if err != nil {
		return claim, fmt.Errorf("record its object: %w", err)
	}
	return claim, nil
}

// registerNodes moves claims on whose nodes have joined or become ready. Each step is safe to repeat: the node is patched, then
// the object shows it, then the ledger says so.
func (r *pass) registerNodes(ctx context.Context) {
	nodes := r.nodesByProvider()
	var due []model.Claim
	for _, claim := range r.ledger.Claims {
		if claim.ObjectUID != "" && unborn(claim, nodes[claim.ProviderID]) {
			due = append(due, claim)
		}
	}
	moved := make([]model.Claim, len(due))
	calls := r.callsFor(ctx, due)
	nominees := r.nominees(due)
	r.parallel(len(due), func(i int) {
		claim, err := r.registerNode(ctx, due[i], nodes[due[i].ProviderID], calls[i], nominees[due[i].Name])
		if err != nil && !passing(err) {
			r.problem("advance claim %s: %v", due[i].Name, err)
		}
		moved[i] = claim
	})
	for i, claim := range moved {
		r.replaceClaim(claim)
		if due[i].RegisteredUnix == 0 && claim.RegisteredUnix != 0 {
			r.out.Registered++
			r.out.Joined[claim.Pool]++
		}
		if due[i].InitializedUnix == 0 && claim.InitializedUnix != 0 {
			r.out.Initialized++
			r.moved(claim.Name)
		}
	}
}

// unborn reports whether there is something to be done for a claim's node: it has joined or become ready, was deleted and has
// joined again, or lacks what it should have got.
func unborn(claim model.Claim, nodes []*model.Node) bool {
	switch claim.State {
	case model.Launched, model.Registered:
		return len(nodes) > 0
	case model.Initialized:
		return len(nodes) == 1 && (nodes[0].UID != claim.NodeUID || !nodes[0].Initialized() || !tagged(&claim) || bare(nodes[0], &claim))
	}
	return false
}

// callsFor grants calls of EC2's API to registrations that need them, the first ones where there are not enough for all: to find
// out partitions, and to tag. It says of each registration whether it has its calls.
func (r *pass) callsFor(ctx context.Context, due []model.Claim) []bool {
	granted := make([]bool, len(due))
	var needy []int
	for i := range due {
		partition, asked := due[i].Labels[model.LabelPartition]
		if len(needy) < tagAtOnce && (due[i].NodeName != "" && !tagged(&due[i]) || asked && partition == "") {
			needy = append(needy, i)
		}
	}
	if len(needy) == 0 {
		return granted
	}
	const each = 3 // describe to find the partition, describe and tag
	got := r.takeSpare(ctx, each*len(needy))
	for _, i := range needy[:got.calls/each] {
		granted[i] = true
	}
	return granted
}

// nodesByProvider indexes the snapshot's nodes by provider id; nodes without one are left out, so that nothing that has
// no id is ever taken for another thing that has none.
func (r *pass) nodesByProvider() map[string][]*model.Node {
	nodes := make(map[string][]*model.Node, len(r.snapshot.Nodes))
	for i := range r.snapshot.Nodes {
		if node := &r.snapshot.Nodes[i]; node.ProviderID != "" {
			nodes[node.ProviderID] = append(nodes[node.ProviderID], node)
		}
	}
	return nodes
}

// registerNode moves a claim on by what its node shows. calls says whether EC2 may be asked; nominees are pods that room is kept for before the
// node is registered.
func (r *pass) registerNode(ctx context.Context, claim model.Claim, nodes []*model.Node, calls bool, nominees []model.PodRef) (model.Claim, error) {
	if len(nodes) > 1 {
		return r.ambiguous(ctx, claim, nodes)
	}
	node := nodes[0]
	if node.DeletedUnix != 0 {
		return claim, nil
	}
	patch := model.NodePatch{Name: node.Name, UID: node.UID, Labels: map[string]string{}}
	next := claim
	if pending, err := r.hooked(ctx, &next, calls); len(pending) > 0 && (claim.State == model.Launched || !node.Registered()) {
		return r.deferRegistration(ctx, claim, node, pending, err)
	}
	reason, message := unready(node, &next)
	if len(nominees) > 0 && !node.Registered() {
		if closed := reason == waitNotReady || reason == waitPassing; closed && r.now()-node.CreatedUnix <= nomineesWait {
			return r.deferRegistration(ctx, claim, node, []string{"its node to be ready, whose capacity is reserved for pods that were planned before older ones"}, nil)
		}
		r.nominate(ctx, nominees, node.Name)
	}
	if claim.State != model.Initialized {
		next.WaitReason, next.WaitMessage = reason, message
	}
	if state, joins := lifecycle.Next(claim.State, lifecycle.NodeRegistered); joins { // on record first: should the node go before the rest is done, nobody waits for it any more
		next.State, next.RegisteredUnix, next.NodeName, next.NodeUID = state, r.now(), node.Name, node.UID
		if err := r.advance(ctx, &next); err != nil {
			return claim, err
		}
	}
	recorded := next
	if claim.State != model.Launched {
		recorded = claim
	}
	if claim.NodeUID != node.UID || !node.Registered() {
		r.register(node, &next, &patch) // also where a node was deleted and joined again, or its registration was lost on its way
	}
	hydrate(node, &next, &patch)
	if reason == "" && (!node.Initialized() || next.State != model.Initialized) {
		patch.Labels[model.LabelInitialized] = "true"
		if state, moves := lifecycle.Next(next.State, lifecycle.NodeInitialized); moves { // a node that joined again belongs to a claim that is already
			next.State, next.InitializedUnix = state, r.now()
		}
	}
	if writes(&patch) {
		if err := r.effect(ctx, EffectNode, func() error { return r.clients.Cluster.PatchNode(ctx, patch) }); err != nil {
			return recorded, fmt.Errorf("patch node %s: %w", node.Name, err)
		}
	}
	// Not before the node is on record: nobody waits for a tag, and a call that hangs must not come between.
	if calls && !tagged(&next) && claim.NodeName != "" {
		r.tagInstance(ctx, &next)
	}
	if !writes(&patch) && tagged(&next) == tagged(&claim) && sameWait(&next, &claim) {
		return recorded, nil
	}
	if err := r.show(ctx, next); err != nil {
		return recorded, fmt.Errorf("update its NodeClaim: %w", err)
	}
	if next.State == recorded.State && next.NodeUID == recorded.NodeUID && tagged(&next) == tagged(&recorded) && sameWait(&next, &recorded) {
		return recorded, nil
	}
	if err := r.advance(ctx, &next); err != nil {
		return recorded, err
	}
	return next, nil
}

// writes reports whether a patch changes anything.
func writes(patch *model.NodePatch) bool { return len(patch.Labels) > 0 || patch.Finalizer }

// show brings the claim's object up to it. People may have deleted that; the node is ours all the same.
func (r *pass) show(ctx context.Context, claim model.Claim) error {
	err := r.effect(ctx, EffectPutClaim, func() error {
		_, err := r.clients.Cluster.PutClaim(ctx, claim)
		return err
	})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// advance writes the claim on condition of its version, and gives it the next one.
func (r *pass) advance(ctx context.Context, claim *model.Claim) error {
	err := r.effect(ctx, EffectAdvance, func() (err error) {
		next, err := r.ClaimStates.Advance(ctx, r.reg.Cluster, *claim)
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

func hasTaint(taints []model.Taint, key, effect string) bool {
	for _, taint := range taints {
		if taint.Key == key && taint.Effect == effect {
			return true
		}
	}
	return false
}

func sortedNames(resources model.Resources) []string {
	names := make([]string, 0, len(resources))
	for name := range resources {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// replaceClaim keeps the run's view of the ledger in step with what it wrote.
func (r *pass) replaceClaim(claim model.Claim) {
	for i := range r.ledger.Claims {
		if r.ledger.Claims[i].Name == claim.Name {
			r.ledger.Claims[i] = claim
			return
		}
	}
	r.ledger.Claims = append(r.ledger.Claims, claim)
}
