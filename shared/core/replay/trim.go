package replay

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// Trim returns the question as it is kept: with what planning reads of claims and no more. Of a claim whose node is there and complete
// that is little, and of the pods planned onto claims only those that ask for capacity, as the indexes into the snapshot's pods say.
func Trim(q *model.PlannerInput, seen *model.Snapshot, asking []int) *model.PlannerInput {
	waits := make(map[string]bool, len(asking))
	for _, i := range asking {
		waits[seen.Pods[i].UID] = true
	}
	out := *q
	out.Claims = make([]model.Claim, 0, len(q.Claims))
	complete := completed(q.Claims, seen)
	for i := range q.Claims {
		claim := asPlanned(&q.Claims[i], complete[q.Claims[i].Name])
		claim.Pods = selectRefs(q.Claims[i].Pods, func(ref model.PodRef) bool { return waits[ref.UID] })
		out.Claims = append(out.Claims, claim)
	}
	return &out
}

// TrimDisruption is Trim for the disruption function's question. Pods that run elsewhere than they were planned stay: where they are moved again they have
// their place there.
func TrimDisruption(q *model.DisruptionInput, shown *model.Snapshot) *model.DisruptionInput {
	out := *q
	out.Claims = make([]model.Claim, 0, len(q.Claims))
	on := nodesOf(shown, q.Claims)
	complete := completed(q.Claims, shown)
	for i := range q.Claims {
		c := &q.Claims[i]
		claim := asPlanned(c, complete[c.Name])
		claim.Pool, claim.Class, claim.NodeUID = c.Pool, c.Class, c.NodeUID
		claim.InstanceType, claim.Zone, claim.ZoneID, claim.CapacityType = c.InstanceType, c.Zone, c.ZoneID, c.CapacityType
		claim.Reservation, claim.Price, claim.Command, claim.Drift, claim.DriftUnix = c.Reservation, c.Price, c.Command, c.Drift, c.DriftUnix
		claim.GraceSeconds, claim.ExpireSeconds = c.GraceSeconds, c.ExpireSeconds
		claim.CreatedUnix, claim.LaunchedUnix, claim.RegisteredUnix, claim.InitializedUnix = c.CreatedUnix, c.LaunchedUnix, c.RegisteredUnix, c.InitializedUnix
		if c.Drain != nil {
			claim.Drain = &model.Drain{SinceUnix: c.Drain.SinceUnix, DeadlineUnix: c.Drain.DeadlineUnix}
		}
		claim.Pods = selectRefs(c.Pods, func(ref model.PodRef) bool {
			node, there := on[ref.UID]
			return there && (node == "" || node != c.NodeName)
		})
		out.Claims = append(out.Claims, claim)
	}
	return &out
}

// asPlanned returns what core/pack reads of a claim. Of one whose node is complete it reads which node it is, and which labels its
// requirements tell apart.
func asPlanned(c *model.Claim, complete bool) model.Claim {
	claim := model.Claim{Name: c.Name, State: c.State, ProviderID: c.ProviderID, NodeName: c.NodeName}
	if complete {
		for i := range c.Requirements {
			claim.Requirements = append(claim.Requirements, model.Requirement{Key: c.Requirements[i].Key, Operator: model.Exists})
		}
		return claim
	}
	claim.Pool, claim.Class, claim.Requirements, claim.InstanceTypes = c.Pool, c.Class, c.Requirements, c.InstanceTypes
	claim.Labels, claim.Taints, claim.StartupTaints, claim.Allocatable = c.Labels, c.Taints, c.StartupTaints, c.Allocatable
	claim.InstanceType, claim.Zone, claim.ZoneID, claim.CapacityType = c.InstanceType, c.Zone, c.ZoneID, c.CapacityType
	return claim
}

// completed returns the names of the claims all of whose nodes are there and initialized.
func completed(claims []model.Claim, snapshot *model.Snapshot) map[string]bool {
	named := make(map[string]string, 2*len(claims))
	for i := range claims {
		if c := &claims[i]; c.ProviderID != "" {
			named["id "+c.ProviderID] = c.Name
		}
		if c := &claims[i]; c.NodeName != "" {
			named["node "+c.NodeName] = c.Name
		}
	}
	complete, not := make(map[string]bool, len(claims)), map[string]bool{}
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		for _, name := range []string{named["id "+node.ProviderID], named["node "+node.Name]} {
			if name != "" {
				complete[name] = true
				not[name] = not[name] || !node.Initialized()
			}
		}
	}
	for name, incomplete := range not { // each on its own: the order does not matter
		if incomplete {
			delete(complete, name)
		}
	}
	return complete
}

// nodesOf returns by UID the nodes of those pods that claims were planned for; "" of one that has none.
func nodesOf(snapshot *model.Snapshot, claims []model.Claim) map[string]string {
	out := map[string]string{}
	if !slices.ContainsFunc(claims, func(c model.Claim) bool { return len(c.Pods) > 0 }) {
		return out
	}
	for i := range snapshot.Pods {
		out[snapshot.Pods[i].UID] = snapshot.Pods[i].NodeName
	}
	return out
}

func selectRefs(refs []model.PodRef, wanted func(model.PodRef) bool) []model.PodRef {
	var out []model.PodRef
	for _, ref := range refs {
		if wanted(ref) {
			out = append(out, ref)
		}
	}
	return out
}
