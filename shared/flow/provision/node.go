package provision

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

func newPatch(node *model.Node) model.NodePatch {
	return model.NodePatch{Name: node.Name, UID: node.UID, Labels: map[string]string{}}
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
	patch.Owner, patch.Finalizer = &model.Object{Name: claim.Name, UID: claim.ObjectUID}, true
}

// bare reports whether a node lacks our finalizer or says another class than its claim's: it joined before there was
// one, or somebody took it off.
func bare(node *model.Node, claim *model.Claim) bool {
	return node.DeletedUnix == 0 && (!node.Finalizer || claim.Class != "" &&
		node.Labels[model.LabelNodeClass] != claim.Class)
}

// hydrate fills in what a registered node lacks.
func hydrate(node *model.Node, claim *model.Claim, patch *model.NodePatch) {
	if !bare(node, claim) {
		return
	}
	patch.Finalizer = true
	if claim.Class != "" {
		patch.Labels[model.LabelNodeClass] = claim.Class
	}
}

// unborn reports whether there is something to be done for a claim's node: it has joined or become ready, was deleted
// and has joined again, or lacks what it should have got.
func unborn(claim model.Claim, nodes []*model.Node) bool {
	switch claim.State {
	case model.Launched, model.Registered:
		return len(nodes) > 0
	case model.Initialized:
		return len(nodes) == 1 && (nodes[0].UID != claim.NodeUID || !nodes[0].Initialized() || !tagged(&claim) ||
			bare(nodes[0], &claim))
	}
	return false
}

// writes reports whether a patch changes anything.
func writes(patch *model.NodePatch) bool { return len(patch.Labels) > 0 || patch.Finalizer }

func sameWait(a, b *model.Claim) bool {
	return a.WaitReason == b.WaitReason && a.WaitMessage == b.WaitMessage
}

// tagged reports whether nothing is to be tagged on a claim's instance.
func tagged(claim *model.Claim) bool {
	return claim.InstanceID == "" || claim.Annotations[model.AnnotationTagged] == "true"
}

// publishWait is for how long drivers are waited for after a node was made, in seconds: from then on it is a node
// without their devices.
const publishWait = model.PublishSeconds

// undevised says which drivers, of the devices that the claim was launched for, have published none on its node yet; ""
// where all have, or are no longer waited for.
func undevised(node *model.Node, claim *model.Claim, snapshot *model.Snapshot, nowUnix int64) string {
	if len(claim.DeviceDrivers) == 0 || node.CreatedUnix+publishWait <= nowUnix {
		return ""
	}
	missing := slices.Clone(claim.DeviceDrivers)
	for i := range snapshot.ResourceSlices {
		if s := &snapshot.ResourceSlices[i]; s.Node == node.Name {
			missing = slices.DeleteFunc(missing, func(driver string) bool { return driver == s.Driver })
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("node %s has no ResourceSlice of driver %s yet, for whose devices claim %s was launched",
		node.Name, strings.Join(missing, ", "), claim.Name)
}

// unready says why a node that is, or is about to be, registered is not initialized yet, as reason and message of that
// condition. A node is initialized, and both are empty, once it is Ready, its startup taints and those that go by
// themselves are gone, and it has every resource the claim was launched for.
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
	for _, name := range slices.Sorted(maps.Keys(claim.Requests)) {
		if claim.Requests[name] > 0 && node.Allocatable[name] == 0 { // a device plugin that has not reported yet
			return waitResource, fmt.Sprintf("node %s has no allocatable %s yet, for which claim %s was launched",
				node.Name, name, claim.Name)
		}
	}
	return "", ""
}

// listed returns texts each once, sorted.
func listed(texts []string) string {
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ", ")
}
