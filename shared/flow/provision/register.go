package provision

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// registerNodes moves claims on whose nodes have joined or become ready. Each step is safe to repeat: the node is
// patched, then the object shows it, then the ledger says so.
func (g *registrar) registerNodes(ctx context.Context) {
	nodes := g.nodesByProvider()
	var due []model.Claim
	for _, claim := range g.ledger.Claims {
		if claim.ObjectUID != "" && unborn(claim, nodes[claim.ProviderID]) {
			due = append(due, claim)
		}
	}
	calls := g.callsFor(ctx, due)
	nominees := g.nominees(due)
	moved := g.each(due, "advance claim %s: %v", func(i int) (model.Claim, error) {
		return g.registerNode(ctx, due[i], nodes[due[i].ProviderID], calls[i], nominees[due[i].Name])
	})
	for i, claim := range moved {
		if due[i].RegisteredUnix == 0 && claim.RegisteredUnix != 0 {
			g.out.Registered++
			g.out.Joined[claim.Pool]++
			g.claimEvent(&claim, "Registered", "node %s is registered, %s after the launch of its instance",
				claim.NodeName, time.Duration(max(0, claim.RegisteredUnix-claim.LaunchedUnix))*time.Second)
		}
		if due[i].InitializedUnix == 0 && claim.InitializedUnix != 0 {
			g.out.Initialized++
			g.moved(claim.Name)
			g.claimEvent(&claim, "Initialized", "node %s is initialized, %s after the launch of its instance",
				claim.NodeName, time.Duration(max(0, claim.InitializedUnix-claim.LaunchedUnix))*time.Second)
		}
	}
}

// callsFor grants calls of EC2's API to registrations that need them, the first ones where there are not enough for
// all: to find out partitions, and to tag. It says of each registration whether it has its calls.
func (g *registrar) callsFor(ctx context.Context, due []model.Claim) []bool {
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
	calls := g.quota.takeSpare(ctx, each*len(needy))
	for _, i := range needy[:calls/each] {
		granted[i] = true
	}
	return granted
}

// registerNode moves a claim on by what its node shows. calls says whether EC2 may be asked; nominees are pods that
// room is kept for before the node is registered.
func (g *registrar) registerNode(ctx context.Context, claim model.Claim, nodes []*model.Node, calls bool,
	nominees []model.PodRef) (model.Claim, error) {
	if len(nodes) > 1 {
		return g.ambiguous(ctx, claim, nodes)
	}
	node := nodes[0]
	if node.DeletedUnix != 0 {
		return claim, nil
	}
	next := claim
	if pending, err := g.hooked(ctx, &next, calls); len(pending) > 0 &&
		(claim.State == model.Launched || !node.Registered()) {
		return g.deferRegistration(ctx, claim, node, pending, err)
	}
	reason, message := unready(node, &next)
	if missing := undevised(node, &next, g.snapshot, g.now()); reason == "" && missing != "" {
		reason, message = waitResource, missing
	}
	if len(nominees) > 0 && !node.Registered() {
		closed := reason == waitNotReady || reason == waitPassing
		if closed && g.now()-node.CreatedUnix <= nomineesWait {
			const wait = "its node to be ready, whose capacity is reserved for pods that were planned before older ones"
			return g.deferRegistration(ctx, claim, node, []string{wait}, nil)
		}
		g.nominate(ctx, nominees, node.Name)
	}
	if claim.State != model.Initialized {
		next.WaitReason, next.WaitMessage = reason, message
	}
	// On record first: should the node go before the rest is done, nobody waits for it any more.
	if state, joins := lifecycle.Next(claim.State, lifecycle.NodeRegistered); joins {
		next.State, next.RegisteredUnix, next.NodeName, next.NodeUID = state, g.now(), node.Name, node.UID
		if err := g.advance(ctx, &next); err != nil {
			return claim, err
		}
	}
	return g.writeNode(ctx, claim, next, node, calls, reason == "")
}

// writeNode writes to a claim's node, its object and the ledger, in that order, what next has that the claim has not,
// and what the node lacks. ready says whether the node is as ready as it is to be.
func (g *registrar) writeNode(
	ctx context.Context, claim, next model.Claim, node *model.Node, calls, ready bool,
) (model.Claim, error) {
	recorded := next
	if claim.State != model.Launched {
		recorded = claim
	}
	patch := g.patchOf(node, &claim, &next, ready)
	if writes(&patch) {
		if err := g.effect(ctx, EffectNode, func() error { return g.cluster.PatchNode(ctx, patch) }); err != nil {
			return recorded, fmt.Errorf("patch node %s: %w", node.Name, err)
		}
	}
	// Not before the node is on record: nobody waits for a tag, and a call that hangs must not come between.
	if calls && !tagged(&next) && claim.NodeName != "" {
		g.tagInstance(ctx, &next)
	}
	if !writes(&patch) && tagged(&next) == tagged(&claim) && sameWait(&next, &claim) {
		return recorded, nil
	}
	if err := g.show(ctx, next); err != nil {
		return recorded, fmt.Errorf("update its NodeClaim: %w", err)
	}
	if next.State == recorded.State && next.NodeUID == recorded.NodeUID && tagged(&next) == tagged(&recorded) &&
		sameWait(&next, &recorded) {
		return recorded, nil
	}
	if err := g.advance(ctx, &next); err != nil {
		return recorded, err
	}
	return next, nil
}

// patchOf returns what is to be written to a claim's node, and moves next on where the node is as ready as it is to be.
func (g *registrar) patchOf(node *model.Node, claim, next *model.Claim, ready bool) model.NodePatch {
	patch := newPatch(node)
	if claim.NodeUID != node.UID || !node.Registered() {
		// also where a node was deleted and joined again, or its registration was lost on its way
		g.register(node, next, &patch)
	}
	hydrate(node, next, &patch)
	if ready && (!node.Initialized() || next.State != model.Initialized) {
		patch.Labels[model.LabelInitialized] = "true"
		// A node that joined again belongs to a claim that is already.
		if state, moves := lifecycle.Next(next.State, lifecycle.NodeInitialized); moves {
			next.State, next.InitializedUnix = state, g.now()
		}
	}
	return patch
}

// register fills in what a node gets when it joins: the claim's labels, annotations and taints, its owner and our
// finalizer, and last, in the same write, no unregistered taint any more.
func (g *registrar) register(node *model.Node, claim *model.Claim, patch *model.NodePatch) {
	claim.NodeName, claim.NodeUID = node.Name, node.UID
	complete(node, claim, patch)
	patch.Labels[model.LabelRegistered] = "true"
	patch.RemoveTaints = []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}}
	if !hasTaint(node.Taints, model.TaintUnregistered, model.NoExecute) && !node.Registered() {
		g.warn(kindClaim, claim.Name, claim.ObjectUID, "UnregisteredTaintMissing",
			fmt.Sprintf("node %s joined without the taint %s:%s, so pods may have been bound before it was "+
				"registered; add it to the node's user data", node.Name, model.TaintUnregistered, model.NoExecute))
	}
}

// hooked returns the names of what must be so before a claim's node is registered and is not yet: until then the node
// keeps the unregistered taint, and no pod runs there. calls says whether EC2 may be asked.
func (g *registrar) hooked(ctx context.Context, claim *model.Claim, calls bool) (pending []string, err error) {
	partition, asked := claim.Labels[model.LabelPartition]
	if !asked || partition != "" {
		return nil, nil
	}
	if calls {
		if err = g.findPartition(ctx, claim); err == nil {
			return nil, nil
		}
	}
	return []string{"placement-group-partition"}, err
}

// deferRegistration is what is done for a node whose registration must wait: it gets all but the end of its
// registration, and people learn for what.
func (g *registrar) deferRegistration(ctx context.Context, claim model.Claim, node *model.Node, pending []string,
	why error) (model.Claim, error) {
	if bare(node, &claim) {
		patch := newPatch(node)
		complete(node, &claim, &patch)
		if err := g.effect(ctx, EffectNode, func() error { return g.cluster.PatchNode(ctx, patch) }); err != nil {
			return claim, fmt.Errorf("patch node %s: %w", node.Name, err)
		}
	}
	if claim.State != model.Launched {
		return claim, why
	}
	claim, err := g.waitsFor(ctx, claim, waitHook, "registration waits for "+strings.Join(pending, ", "))
	if why == nil {
		why = err
	}
	return claim, why
}

// ambiguous tells people that several nodes carry the claim's provider id. Neither is touched.
func (g *registrar) ambiguous(ctx context.Context, claim model.Claim, nodes []*model.Node) (model.Claim, error) {
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = nodes[i].Name
	}
	slices.Sort(names)
	why := fault.New(fault.Invalid, waitAmbiguous,
		"%d nodes have provider id %s: %s; delete those that do not belong to the instance",
		len(nodes), claim.ProviderID, strings.Join(names[:min(len(names), 5)], ", "))
	g.warn(kindClaim, claim.Name, claim.ObjectUID, why.Code, why.Error())
	if claim.State != model.Launched {
		return claim, why
	}
	claim, err := g.waitsFor(ctx, claim, why.Code, why.Error())
	if err != nil {
		return claim, err
	}
	return claim, why
}

// waitsFor shows on a claim's object, and notes, what it waits for, where that is something else than before.
func (g *registrar) waitsFor(ctx context.Context, claim model.Claim, reason, message string) (model.Claim, error) {
	next := claim
	next.WaitReason, next.WaitMessage = reason, message
	if sameWait(&next, &claim) {
		return claim, nil
	}
	if err := g.show(ctx, next); err != nil {
		return claim, fmt.Errorf("update its NodeClaim: %w", err)
	}
	if err := g.advance(ctx, &next); err != nil {
		return claim, err
	}
	return next, nil
}

// tagAtOnce is how many instances one run tags at most: calls of EC2's API are all clusters' to share, and a tag can
// wait.
const tagAtOnce = 10

// tagInstance gives an instance that has joined the names of its node and its claim, where it has none, and notes it in
// the claim's annotations. What goes wrong is tried again by a later run, and holds up nothing.
func (g *registrar) tagInstance(ctx context.Context, claim *model.Claim) {
	tags := map[string]string{"Name": claim.NodeName, "karpenter.sh/nodeclaim": claim.Name,
		"eks:eks-cluster-name": g.reg.Cluster}
	err := g.effect(ctx, EffectTag, func() error {
		_, err := g.tagger.Tag(ctx, claim.InstanceID, tags)
		return err
	})
	if err != nil {
		if !passing(err) {
			g.problem("tag instance %s of claim %s: %v", claim.InstanceID, claim.Name, err)
		}
		return
	}
	annotations := map[string]string{}
	maps.Copy(annotations, claim.Annotations)
	annotations[model.AnnotationTagged], annotations[model.AnnotationClusterTagged] = "true", "true"
	claim.Annotations = annotations
}

// findPartition finds out which partition of its placement group a claim's instance is in, where EC2 chose it. Until
// then its node stays unregistered: what is spread over partitions must not run there.
func (g *registrar) findPartition(ctx context.Context, claim *model.Claim) error {
	found, err := g.fleet.FindInstances(ctx, claim.Intent)
	if err != nil {
		return fmt.Errorf("find out the partition of instance %s: %w", claim.InstanceID, err)
	}
	for _, instance := range found {
		if instance.ID == claim.InstanceID && instance.Partition != 0 {
			claim.Labels = maps.Clone(claim.Labels)
			claim.Labels[model.LabelPartition] = strconv.FormatInt(instance.Partition, 10)
			return nil
		}
	}
	return fault.New(fault.Internal, "PartitionUnknown", "EC2 does not return yet which partition instance %s is in",
		claim.InstanceID)
}
