package read

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
)

// LedgerClaims returns the claims as a ledger of this cluster would have them, by name: those of the NodeClaims, joined with their nodes,
// and one made up for each node of a NodePool that no NodeClaim names, of what the node says. madeUp counts the latter; where such
// a node is Ready and nothing says how far it has come, neither label nor taint, it gets the labels of one that is initialized. A
// NodeClaim that is being deleted is one whose end has begun. Prices are not in it.
func (c *Cluster) LedgerClaims() (claims []model.Claim, madeUp int) {
	l := ledger{pools: map[string]*model.Pool{}, nodes: map[string]*model.Node{}}
	for i := range c.Snapshot.Pools {
		l.pools[c.Snapshot.Pools[i].Name] = &c.Snapshot.Pools[i]
	}
	for i := range c.Snapshot.Nodes {
		node := &c.Snapshot.Nodes[i]
		l.nodes[node.Name] = node
		if node.ProviderID != "" {
			l.nodes[node.ProviderID] = node
		}
	}
	spoken, names := map[string]bool{}, map[string]bool{}
	for _, claim := range c.Claims {
		_, deleting := c.deleting[claim.Name]
		claim = l.claim(claim, deleting)
		spoken[claim.NodeName], names[claim.Name] = true, true
		claims = append(claims, claim)
	}
	for i := range c.Snapshot.Nodes {
		node := &c.Snapshot.Nodes[i]
		if node.Pool() == "" || spoken[node.Name] {
			continue
		}
		presume(node)
		claim := l.madeUp(node)
		for names[claim.Name] {
			claim.Name += "-node"
		}
		names[claim.Name] = true
		claims = append(claims, claim)
		madeUp++
	}
	slices.SortFunc(claims, func(a, b model.Claim) int { return strings.Compare(a.Name, b.Name) })
	return claims, madeUp
}

// ledger knows pools by name, and nodes by name and by provider ID.
type ledger struct {
	pools map[string]*model.Pool
	nodes map[string]*model.Node
}

// claim joins what a NodeClaim shows with its node.
func (l *ledger) claim(claim model.Claim, deleting bool) model.Claim {
	node := l.nodes[claim.ProviderID]
	if claim.ProviderID == "" || node == nil {
		node = l.nodes[claim.NodeName]
	}
	if node == nil || claim.ProviderID == "" && claim.NodeName == "" {
		claim.NodeName = "" // it has not joined, or is gone
		node = nil
	}
	claim.Version = 1
	claim.InstanceID = lifecycle.InstanceID(claim.ProviderID)
	if node != nil {
		join(&claim, node)
	}
	if pool := l.pools[claim.Pool]; pool != nil {
		claim.PoolUID = pool.UID
	}
	switch {
	case deleting && node == nil:
		claim.State = model.Terminating
	case deleting:
		claim.State = model.Draining
	}
	return claim
}

// join fills in what a node says and its claim does not.
func join(claim *model.Claim, node *model.Node) {
	claim.NodeName, claim.NodeUID = node.Name, node.UID
	claim.Pool = cmp.Or(claim.Pool, node.Pool())
	claim.ProviderID = cmp.Or(claim.ProviderID, node.ProviderID)
	claim.InstanceID = cmp.Or(claim.InstanceID, lifecycle.InstanceID(node.ProviderID))
	claim.InstanceType = cmp.Or(claim.InstanceType, node.Labels[model.LabelInstanceType])
	claim.Zone = cmp.Or(claim.Zone, node.Labels[model.LabelZone])
	claim.ZoneID = cmp.Or(claim.ZoneID, node.Labels[model.LabelZoneID])
	claim.CapacityType = cmp.Or(claim.CapacityType, node.Labels[model.LabelCapacityType])
	claim.Reservation = cmp.Or(claim.Reservation, node.Labels[model.LabelReservationID])
	labels := maps.Clone(node.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, claim.Labels)
	claim.Labels = labels
	if len(claim.Capacity) == 0 {
		claim.Capacity, claim.Allocatable = node.Capacity, node.Allocatable
	}
	switch {
	case node.Initialized():
		claim.State = model.Initialized
	case node.Registered() && claim.State != model.Initialized:
		claim.State = model.Registered
	case claim.State == model.Intended:
		claim.State = model.Launched
	}
	claim.CreatedUnix = cmp.Or(claim.CreatedUnix, node.CreatedUnix)
	if claim.State == model.Initialized {
		claim.InitializedUnix = cmp.Or(claim.InitializedUnix, node.ReadyUnix, node.CreatedUnix)
	}
}

// presume labels a node as initialized where it is Ready and says nothing of how far it has come. A node that Joiner or Karpenter
// launched says so; one that somebody wrote by hand, or a tool, need not.
func presume(node *model.Node) {
	_, registered := node.Labels[model.LabelRegistered]
	_, initialized := node.Labels[model.LabelInitialized]
	unregistered := slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintUnregistered })
	if !node.Ready || registered || initialized || unregistered {
		return
	}
	node.Labels = maps.Clone(node.Labels)
	node.Labels[model.LabelRegistered], node.Labels[model.LabelInitialized] = "true", "true"
}

// madeUp is a claim of a node whose NodeClaim is not there: what its pool says now is what it was launched from.
func (l *ledger) madeUp(node *model.Node) model.Claim {
	claim := model.Claim{Name: node.Name, Pool: node.Pool(), State: model.Launched, Version: 1, Annotations: node.Annotations, Taints: node.Taints}
	claim.Class = node.Labels[model.LabelNodeClass]
	if pool := l.pools[claim.Pool]; pool != nil {
		claim.PoolUID, claim.Class = pool.UID, cmp.Or(claim.Class, pool.Template.ClassName)
		claim.GraceSeconds, claim.ExpireSeconds = pool.Template.GraceSeconds, pool.Template.ExpireAfterSeconds
	}
	join(&claim, node)
	if node.DeletedUnix != 0 {
		claim.State = model.Draining
	}
	return claim
}

// markLeaving finds the nodes whose NodeClaim is being deleted, and has the snapshot show that they are to end. A cluster shows it moments
// later itself, by the node's taint.
func (c *Cluster) markLeaving() {
	ends := make(map[string]int64, len(c.deleting)) // by provider ID and by name of the node
	for i := range c.Claims {
		claim := &c.Claims[i]
		at, deleted := c.deleting[claim.Name]
		for _, key := range []string{claim.ProviderID, claim.NodeName} {
			if deleted && key != "" {
				ends[key] = at
			}
		}
	}
	if len(ends) == 0 {
		return
	}
	c.Leaving = pack.Leaving{}
	for i := range c.Snapshot.Nodes {
		node := &c.Snapshot.Nodes[i]
		at, leaves := ends[node.ProviderID]
		if node.ProviderID == "" || !leaves {
			at, leaves = ends[node.Name]
		}
		if leaves {
			c.Leaving[node.Name] = at
		}
	}
	c.Snapshot = replay.Seen(c.Snapshot, c.Leaving)
}

// deadline returns by when no pod is left on the node of a NodeClaim that is being deleted: when its annotation says, else its grace
// after the deletion; 0 where neither is there.
func deadline(object *apiv1.NodeClaim, claim *model.Claim) int64 {
	return cmp.Or(translate.Deadline(object.Annotations), claim.Deadline(max(0, object.DeletionTimestamp.Unix())))
}
