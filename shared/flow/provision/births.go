package provision

import (
	"context"
	"fmt"
	"sort"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// showClaims makes the NodeClaim objects of launched claims that have none on record, also those an earlier run launched
// and did not come to show.
func (r *run) showClaims(ctx context.Context) {
	var unshown []model.Claim
	for _, claim := range r.ledger.Claims {
		if claim.State == model.Launched && claim.ObjectUID == "" {
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

func (r *run) showClaim(ctx context.Context, claim model.Claim) (model.Claim, error) {
	var uid string
	err := r.effect(ctx, EffectShow, func() (err error) {
		uid, err = r.site.Cluster.PutClaim(ctx, claim)
		return err
	})
	if err != nil {
		return claim, fmt.Errorf("write its NodeClaim: %w", err)
	}
	claim.ObjectUID = uid
	err = r.effect(ctx, EffectNote, func() (err error) {
		claim, err = r.Births.Advance(ctx, r.reg.Cluster, claim)
		return err
	})
	if err != nil {
		return claim, fmt.Errorf("note its object: %w", err)
	}
	return claim, nil
}

// births moves claims on whose nodes have joined or become ready. Each step is safe to repeat: the node is patched, then
// the object shows it, then the ledger says so.
func (r *run) births(ctx context.Context) {
	nodes := r.nodesByProvider()
	var due []model.Claim
	for _, claim := range r.ledger.Claims {
		if claim.ObjectUID != "" && unborn(claim, nodes[claim.ProviderID]) {
			due = append(due, claim)
		}
	}
	moved := make([]model.Claim, len(due))
	calls := r.callsFor(ctx, due)
	r.parallel(len(due), func(i int) {
		claim, err := r.birth(ctx, due[i], nodes[due[i].ProviderID], calls[i])
		if err != nil && !passing(err) {
			r.problem("bring claim %s on: %v", due[i].Name, err)
		}
		moved[i] = claim
	})
	for i, claim := range moved {
		r.replaceClaim(claim)
		if due[i].RegisteredUnix == 0 && claim.RegisteredUnix != 0 {
			r.out.Registered++
		}
		if due[i].InitializedUnix == 0 && claim.InitializedUnix != 0 {
			r.out.Initialized++
		}
	}
}

// unborn reports whether there is something to be done for a claim's node: it has joined or become ready, or was deleted
// and has joined again.
func unborn(claim model.Claim, nodes []*model.Node) bool {
	switch claim.State {
	case model.Launched, model.Registered:
		return len(nodes) > 0
	case model.Initialized:
		return len(nodes) == 1 && (nodes[0].UID != claim.NodeUID || !nodes[0].Initialized() || !tagged(&claim))
	}
	return false
}

// callsFor grants calls of EC2's API to births that need them, the first ones where there are not enough for all: to find
// out partitions, and to tag. It says of each birth whether it has its calls.
func (r *run) callsFor(ctx context.Context, due []model.Claim) []bool {
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
	got := r.take(ctx, each*len(needy), false, 0)
	for _, i := range needy[:got.calls/each] {
		granted[i] = true
	}
	return granted
}

// nodesByProvider indexes the snapshot's nodes by provider id; nodes without one are left out, so that nothing that has
// no id is ever taken for another thing that has none.
func (r *run) nodesByProvider() map[string][]*model.Node {
	nodes := make(map[string][]*model.Node, len(r.snapshot.Nodes))
	for i := range r.snapshot.Nodes {
		if node := &r.snapshot.Nodes[i]; node.ProviderID != "" {
			nodes[node.ProviderID] = append(nodes[node.ProviderID], node)
		}
	}
	return nodes
}

// birth moves a claim on by what its node shows. calls says whether EC2 may be asked.
func (r *run) birth(ctx context.Context, claim model.Claim, nodes []*model.Node, calls bool) (model.Claim, error) {
	if len(nodes) > 1 {
		err := fault.New(fault.Invalid, "MultipleNodesFound", "%d nodes carry provider id %s; delete those that are not the machine", len(nodes), claim.ProviderID)
		r.event(model.Event{Kind: "NodeClaim", Name: claim.Name, UID: claim.ObjectUID, Warning: true, Reason: err.Code, Message: err.Message})
		return claim, err
	}
	node := nodes[0]
	if node.DeletedUnix != 0 {
		return claim, nil
	}
	patch := model.NodePatch{Name: node.Name, UID: node.UID, Labels: map[string]string{}}
	next := claim
	if partition, asked := claim.Labels[model.LabelPartition]; asked && partition == "" {
		if !calls {
			return claim, nil
		}
		if known, err := r.inPartition(ctx, &next); !known {
			return claim, err
		}
	}
	if claim.State == model.Launched { // on record first: should the node go before the rest is done, nobody waits for it any more
		next.State, next.RegisteredUnix, next.NodeName, next.NodeUID = model.Registered, r.now(), node.Name, node.UID
		if err := r.advance(ctx, &next); err != nil {
			return claim, err
		}
	}
	recorded := next
	if claim.NodeUID != node.UID || !node.Registered() {
		r.register(node, &next, &patch) // also where a node was deleted and joined again, or its registration was lost on its way
	}
	if r.ready(node, &next) {
		patch.Labels[model.LabelInitialized] = "true"
		if next.State != model.Initialized { // a node that joined again belongs to a claim that is already
			next.State, next.InitializedUnix = model.Initialized, r.now()
		}
	}
	if len(patch.Labels) > 0 {
		if err := r.effect(ctx, EffectNode, func() error { return r.site.Cluster.PatchNode(ctx, patch) }); err != nil {
			return recorded, fmt.Errorf("patch node %s: %w", node.Name, err)
		}
	}
	// Not before the node is on record: nobody waits for a tag, and a call that hangs must not come between.
	if calls && !tagged(&next) && claim.NodeName != "" {
		r.tagMachine(ctx, &next)
	}
	if len(patch.Labels) == 0 && tagged(&next) == tagged(&claim) {
		return recorded, nil
	}
	err := r.effect(ctx, EffectShow, func() error {
		_, err := r.site.Cluster.PutClaim(ctx, next)
		return err
	})
	if err != nil && !fault.Is(err, fault.NotFound) { // people may have deleted the object; the node is ours all the same
		return recorded, fmt.Errorf("update its NodeClaim: %w", err)
	}
	if next.State == recorded.State && next.NodeUID == recorded.NodeUID && tagged(&next) == tagged(&recorded) {
		return recorded, nil
	}
	if err := r.advance(ctx, &next); err != nil {
		return recorded, err
	}
	return next, nil
}

// advance writes the claim on condition of its version, and gives it the next one.
func (r *run) advance(ctx context.Context, claim *model.Claim) error {
	err := r.effect(ctx, EffectAdvance, func() (err error) {
		next, err := r.Births.Advance(ctx, r.reg.Cluster, *claim)
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

// register fills in what a node gets when it joins: the claim's labels, annotations and taints, its owner, and no
// unregistered taint any more.
func (r *run) register(node *model.Node, claim *model.Claim, patch *model.NodePatch) {
	claim.NodeName, claim.NodeUID = node.Name, node.UID
	for key, value := range claim.Labels {
		patch.Labels[key] = value
	}
	patch.Labels[model.LabelRegistered] = "true"
	patch.Annotations = claim.Annotations
	if node.Labels[model.LabelDoNotSync] != "true" {
		patch.AddTaints = append(append([]model.Taint{}, claim.Taints...), claim.StartupTaints...)
	}
	patch.RemoveTaints = []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}}
	patch.Owner = &model.Object{Name: claim.Name, UID: claim.ObjectUID}
	if !hasTaint(node.Taints, model.TaintUnregistered, model.NoExecute) && !node.Registered() {
		r.event(model.Event{
			Kind: "NodeClaim", Name: claim.Name, UID: claim.ObjectUID, Warning: true, Reason: "UnregisteredTaintMissing",
			Message: fmt.Sprintf("node %s joined without the taint %s:%s, so pods may have been bound before it was registered; "+
				"add it to the node's user data", node.Name, model.TaintUnregistered, model.NoExecute),
		})
	}
}

// ready reports whether a registered node may be called initialised: it is Ready, its startup taints and those that go
// by themselves are gone, and it offers every resource the claim was launched for.
func (r *run) ready(node *model.Node, claim *model.Claim) bool {
	if claim.State != model.Registered && claim.State != model.Initialized || !node.Ready {
		return false
	}
	if !node.Registered() && len(claim.StartupTaints) > 0 {
		return false // they are being put on only now
	}
	for _, taint := range node.Taints {
		if taint.Key == model.TaintUnregistered {
			continue // taken off by registration, which comes before or with this
		}
		if model.EphemeralTaint(taint.Key, taint.Effect) || hasTaint(claim.StartupTaints, taint.Key, taint.Effect) {
			return false
		}
	}
	for _, name := range sortedNames(claim.Requests) {
		if claim.Requests[name] > 0 && node.Allocatable[name] == 0 {
			return false // a device plugin that has not reported yet
		}
	}
	return true
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
func (r *run) replaceClaim(claim model.Claim) {
	for i := range r.ledger.Claims {
		if r.ledger.Claims[i].Name == claim.Name {
			r.ledger.Claims[i] = claim
			return
		}
	}
	r.ledger.Claims = append(r.ledger.Claims, claim)
}
