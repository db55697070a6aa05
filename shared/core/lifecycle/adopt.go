package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Adoptable reports whether an orphan should be adopted rather than ended: its node takes part in the cluster or its
// NodeClaim object is there, and nothing the ledger remembers says that it was meant to end. An orphan that is not may
// still have pods on it, which only the API server can tell.
func Adoptable(orphan *Finding) bool {
	if Condemned(orphan) {
		return false
	}
	for i := range orphan.Nodes {
		if orphan.Nodes[i].Registered() && orphan.Nodes[i].DeletedUnix == 0 {
			return true
		}
	}
	return orphan.Object != nil && orphan.Object.DeletedUnix == 0 && orphan.Claim == nil
}

// Condemned reports whether the ledger remembers that an orphan was to be ended.
func Condemned(orphan *Finding) bool {
	return orphan.Claim != nil && model.EndedByUs(orphan.Claim.FailureCode)
}

// Adopt returns the claim an orphan becomes, from its NodeClaim object, its node and its tags, as far as it has come.
// What only the ledger knew is lost: the pods planned onto it, its price, its startup taints where there is no object.
// names tells which claim names are taken. nowUnix is when it is adopted.
func Adopt(orphan *Finding, names func(name string) bool, nowUnix int64) model.Claim {
	instance := orphan.Instance
	var claim model.Claim
	var object bool
	if o := orphan.Object; o != nil && o.DeletedUnix == 0 && !names(o.Claim.Name) {
		claim, object = o.Claim, true
	} else {
		base := cmp.Or(model.PoolOfTag(instance.Tags[model.LabelNodePool]), "standalone") + "-" + strings.TrimPrefix(instance.ID, "i-")
		claim.Name = base
		for n := 2; names(claim.Name); n++ { // it was adopted and given up before
			claim.Name = fmt.Sprintf("%s-%d", base, n)
		}
	}
	claim.Intent = instance.Tags[tagIntent]
	claim.State, claim.FailureCode, claim.FailureMessage = model.Launched, "", ""
	ofInstance(&claim, instance, nowUnix)
	claim.RegisteredUnix, claim.InitializedUnix, claim.GoneUnix, claim.NodeName, claim.NodeUID = 0, 0, 0, "", ""
	if len(orphan.Nodes) > 0 {
		takeNode(&claim, &orphan.Nodes[0], object, nowUnix)
	}
	claim.Reserved = maps.Clone(claim.Capacity)
	if claim.Reserved == nil {
		claim.Reserved = model.Resources{}
	}
	claim.Reserved[model.Nodes] = 1
	return claim
}

// ofInstance fills in what EC2 says of a claim's instance.
func ofInstance(claim *model.Claim, instance *model.Instance, nowUnix int64) {
	claim.Pool = model.PoolOfTag(instance.Tags[model.LabelNodePool])
	if class := instance.Tags[model.LabelNodeClass]; class != "" {
		claim.Class = class
	}
	claim.InstanceID, claim.ProviderID = instance.ID, instance.ProviderID()
	claim.InstanceType, claim.Zone, claim.CapacityType = instance.Type, instance.Zone, instance.CapacityType
	claim.ImageID, claim.SubnetID = instance.ImageID, instance.SubnetID
	claim.LaunchedUnix = instance.LaunchedUnix
	if claim.LaunchedUnix == 0 {
		claim.LaunchedUnix = nowUnix
	}
	if claim.CreatedUnix == 0 {
		claim.CreatedUnix = claim.LaunchedUnix
	}
}

// takeNode fills in what a node says. Where there is no NodeClaim object the claim stays Launched, so that the object
// is made and the node registered as after a launch.
func takeNode(claim *model.Claim, node *model.Node, object bool, nowUnix int64) {
	if node.Registered() { // pods may run there: it is drained, whatever ends it before it is registered anew
		claim.NodeName, claim.NodeUID = node.Name, node.UID
	}
	if len(node.Capacity) > 0 {
		claim.Capacity, claim.Allocatable = node.Capacity, node.Allocatable
	}
	if !object {
		claim.Labels = maps.Clone(node.Labels)
		for _, own := range []string{model.LabelHostname, model.LabelRegistered, model.LabelInitialized} {
			delete(claim.Labels, own)
		}
		return
	}
	if !node.Registered() || node.DeletedUnix != 0 {
		return
	}
	claim.State, claim.RegisteredUnix = model.Registered, nowUnix
	if node.Initialized() {
		claim.State, claim.InitializedUnix = model.Initialized, nowUnix
	}
}
