package provision

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Reasons of the conditions Registered and Initialized of a claim that is not so far yet. Karpenter's.
const (
	waitHook      = "RegistrationHookPending"
	waitAmbiguous = "MultipleNodesFound"
	waitNotReady  = "NodeNotReady"
	waitStartup   = "StartupTaintsExist"
	waitPassing   = "KnownEphemeralTaintsExist"
	waitResource  = "ResourceNotRegistered"
)

// register fills in what a node gets when it joins: the claim's labels, annotations and taints, its owner and our finalizer,
// and last, in the same write, no unregistered taint any more.
func (r *pass) register(node *model.Node, claim *model.Claim, patch *model.NodePatch) {
	claim.NodeName, claim.NodeUID = node.Name, node.UID
	complete(node, claim, patch)
	patch.Labels[model.LabelRegistered] = "true"
	patch.RemoveTaints = []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}}
	if !hasTaint(node.Taints, model.TaintUnregistered, model.NoExecute) && !node.Registered() {
		r.event(model.Event{
			Kind: "NodeClaim", Name: claim.Name, UID: claim.ObjectUID, Warning: true, Reason: "UnregisteredTaintMissing",
			Message: fmt.Sprintf("node %s joined without the taint %s:%s, so pods may have been bound before it was registered; "+
				"add it to the node's user data", node.Name, model.TaintUnregistered, model.NoExecute),
		})
	}
}

// complete fills in what a node has of its claim. The claim's words win.
func complete(node *model.Node, claim *model.Claim, patch *model.NodePatch) {
	maps.Copy(patch.Labels, claim.Labels)
	if claim.Class != "" {
		patch.Labels[model.LabelNodeClass] = claim.Class
	}
	patch.Annotations = claim.Annotations
	if node.Labels[model.LabelDoNotSync] != "true" {
		patch.AddTaints = slices.Concat(claim.Taints, claim.StartupTaints)
	}
	patch.Owner, patch.Finalizer = &model.Object{Name: claim.Name, UID: claim.ObjectUID}, nodeFinalizers
}

// nodeFinalizers says whether nodes get our finalizer, which whoever ends instances takes off again.
const nodeFinalizers = true

// bare reports whether a node lacks our finalizer or says another class than its claim's: it joined before there was one, or
// somebody took it off.
func bare(node *model.Node, claim *model.Claim) bool {
	return node.DeletedUnix == 0 && (nodeFinalizers && !node.Finalizer || claim.Class != "" && node.Labels[model.LabelNodeClass] != claim.Class)
}

// hydrate fills in what a registered node lacks.
func hydrate(node *model.Node, claim *model.Claim, patch *model.NodePatch) {
	if !bare(node, claim) {
		return
	}
	patch.Finalizer = nodeFinalizers
	if claim.Class != "" {
		patch.Labels[model.LabelNodeClass] = claim.Class
	}
}

// hydrateObjects gives NodeClaim objects of living claims the finalizer and the label of their class where they lack them.
func (r *pass) hydrateObjects(ctx context.Context) {
	lacking := map[string]bool{} // by UID
	for i := range r.snapshot.Claims {
		if object := &r.snapshot.Claims[i]; object.Bare && object.DeletedUnix == 0 {
			lacking[object.UID] = true
		}
	}
	if len(lacking) == 0 {
		return
	}
	var due []model.Claim
	for _, claim := range r.ledger.Claims {
		if claim.Live() && claim.State != model.Intended && !claim.Ending() && lacking[claim.ObjectUID] {
			due = append(due, claim)
		}
	}
	r.parallel(len(due), func(i int) {
		if err := r.show(ctx, due[i]); err != nil && !passing(err) {
			r.problem("complete NodeClaim %s: %v", due[i].Name, err)
		}
	})
}

// hook is something that must be so before a node is registered: until then it keeps the unregistered taint, and no pod
// runs there.
type hook struct {
	name string // as people read it
	// done reports whether it is so, and may complete the claim. calls says whether EC2 may be asked.
	done func(r *pass, ctx context.Context, claim *model.Claim, calls bool) (bool, error)
}

// hooks are all there are. Each is asked about, whatever became of the others.
var hooks = []hook{
	{"placement-group-partition", func(r *pass, ctx context.Context, claim *model.Claim, calls bool) (bool, error) {
		if partition, asked := claim.Labels[model.LabelPartition]; !asked || partition != "" {
			return true, nil
		}
		if !calls {
			return false, nil
		}
		return r.inPartition(ctx, claim)
	}},
}

// hooked returns the names of the hooks that hold a claim's registration up, and the first thing that went wrong.
func (r *pass) hooked(ctx context.Context, claim *model.Claim, calls bool) (pending []string, err error) {
	for _, h := range hooks {
		done, failure := h.done(r, ctx, claim, calls)
		if !done {
			pending = append(pending, h.name)
		}
		if err == nil {
			err = failure
		}
	}
	return pending, err
}

// deferRegistration is what is done for a node whose registration must wait: it gets all but the end of its registration, and people are
// told for what.
func (r *pass) deferRegistration(ctx context.Context, claim model.Claim, node *model.Node, pending []string, why error) (model.Claim, error) {
	if bare(node, &claim) {
		patch := model.NodePatch{Name: node.Name, UID: node.UID, Labels: map[string]string{}}
		complete(node, &claim, &patch)
		if err := r.effect(ctx, EffectNode, func() error { return r.clients.Cluster.PatchNode(ctx, patch) }); err != nil {
			return claim, fmt.Errorf("patch node %s: %w", node.Name, err)
		}
	}
	if claim.State != model.Launched {
		return claim, why
	}
	claim, err := r.waitsFor(ctx, claim, waitHook, "registration waits for "+strings.Join(pending, ", "))
	if why == nil {
		why = err
	}
	return claim, why
}

// ambiguous tells people that several nodes carry the claim's provider id. Neither is touched.
func (r *pass) ambiguous(ctx context.Context, claim model.Claim, nodes []*model.Node) (model.Claim, error) {
	names := make([]string, len(nodes))
	for i := range nodes {
		names[i] = nodes[i].Name
	}
	slices.Sort(names)
	why := fault.New(fault.Invalid, waitAmbiguous, "%d nodes have provider id %s: %s; delete those that do not belong to the instance",
		len(nodes), claim.ProviderID, strings.Join(names[:min(len(names), 5)], ", "))
	r.event(model.Event{Kind: "NodeClaim", Name: claim.Name, UID: claim.ObjectUID, Warning: true, Reason: why.Code, Message: why.Error()})
	if claim.State != model.Launched {
		return claim, why
	}
	claim, err := r.waitsFor(ctx, claim, why.Code, why.Error())
	if err != nil {
		return claim, err
	}
	return claim, why
}

// waitsFor shows on a claim's object, and notes, what it waits for, where that is something else than before.
func (r *pass) waitsFor(ctx context.Context, claim model.Claim, reason, message string) (model.Claim, error) {
	next := claim
	next.WaitReason, next.WaitMessage = reason, message
	if sameWait(&next, &claim) {
		return claim, nil
	}
	if err := r.show(ctx, next); err != nil {
		return claim, fmt.Errorf("update its NodeClaim: %w", err)
	}
	if err := r.advance(ctx, &next); err != nil {
		return claim, err
	}
	return next, nil
}

func sameWait(a, b *model.Claim) bool {
	return a.WaitReason == b.WaitReason && a.WaitMessage == b.WaitMessage
}

// unready says why a node that is, or is about to be, registered is not initialized yet, as reason and message of that
// condition. A node is initialized, and both are empty, once it is Ready, its startup taints and those that go by themselves
// are gone, and it has every resource the claim was launched for.
func unready(node *model.Node, claim *model.Claim) (reason, message string) {
	if !node.Ready {
		return waitNotReady, "node " + node.Name + " is not Ready yet"
	}
	var startup, passing []string
	if !node.Registered() && node.Labels[model.LabelDoNotSync] != "true" {
		for _, taint := range claim.StartupTaints { // they are being put on only now
			startup = append(startup, taint.Key+":"+taint.Effect)
		}
	}
	for _, taint := range node.Taints {
		text := taint.Key + ":" + taint.Effect
		switch {
		case taint.Key == model.TaintUnregistered: // taken off by registration, which comes before or with this
		case hasTaint(claim.StartupTaints, taint.Key, taint.Effect):
			startup = append(startup, text)
		case model.EphemeralTaint(taint.Key, taint.Effect):
			passing = append(passing, text)
		}
	}
	if len(startup) > 0 {
		return waitStartup, "startup taints are on node " + node.Name + " still: " + listed(startup)
	}
	if len(passing) > 0 {
		return waitPassing, "temporary taints are on node " + node.Name + " still: " + listed(passing)
	}
	for _, name := range sortedNames(claim.Requests) {
		if claim.Requests[name] > 0 && node.Allocatable[name] == 0 { // a device plugin that has not reported yet
			return waitResource, fmt.Sprintf("node %s has no allocatable %s yet, for which claim %s was launched", node.Name, name, claim.Name)
		}
	}
	return "", ""
}

// listed returns texts each once, sorted.
func listed(texts []string) string {
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ", ")
}
