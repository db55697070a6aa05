package world

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// An object with our finalizer that somebody deletes stays, marked, until that is taken off.

// HoldClaims says whether NodeClaim objects are made, and held, with our finalizer, and the garbage collector takes the
// nodes of those that are gone.
func (c *Cluster) HoldClaims(hold bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds = hold
}

// Remove deletes a Node or NodeClaim object as a client does, on condition of its UID: NotFound where it is gone, Conflict
// where the one of that name is another, Invalid without a UID or for another kind.
func (c *Cluster) Remove(_ context.Context, kind string, object model.Object) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if object.UID == "" || kind != KindNode && kind != KindNodeClaim {
		return fault.New(fault.Invalid, "", "%s %q of UID %q is not removed", kind, object.Name, object.UID)
	}
	request := map[string]string{KindNode: "delete node", KindNodeClaim: "delete claim"}[kind]
	if err := c.asked(request); err != nil {
		return err
	}
	if err := c.evaluatedObject(kind, object); err != nil {
		return err
	}
	c.finish(kind, object.Name)
	return nil
}

// evaluatedObject is evaluated for a Node or NodeClaim.
func (c *Cluster) evaluatedObject(kind string, object model.Object) error {
	if kind == KindNode {
		node := c.nodes.get(object.Name)
		return evaluated(kind, object.Name, object.UID, node == nil, func() string { return node.UID })
	}
	claim := c.claims.get(object.Name)
	return evaluated(kind, object.Name, object.UID, claim == nil, func() string { return claim.UID })
}

// finish deletes a Node or NodeClaim that is there: it is gone at once where no finalizer holds it, and marked otherwise.
func (c *Cluster) finish(kind, name string) {
	now := c.now().Unix()
	switch kind {
	case KindNode:
		switch node := c.nodes.get(name); {
		case node == nil || node.DeletedUnix != 0:
		case !node.Finalizer && !c.kept[node.UID]:
			drop(c, &c.nodes, kind, name, node.UID)
		default:
			c.changeNode(name, "delete", func(node *model.Node) { node.DeletedUnix = now })
		}
	case KindNodeClaim:
		switch claim := c.claims.get(name); {
		case claim == nil || claim.DeletedUnix != 0:
		case !claim.Finalizer:
			drop(c, &c.claims, kind, name, claim.UID)
		default:
			next := *claim
			next.DeletedUnix = now
			put(c, &c.claims, kind, name, claim.UID, "delete", &next)
		}
	}
}

// Delete deletes an object as a person with kubectl does; where there is none of that name nothing happens. Kinds are Node,
// NodeClaim and NodePool.
func (c *Cluster) Delete(kind, name string) {
	if kind == KindPool {
		c.DeletePool(name)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish(kind, name)
}

// KeepNode says whether a finalizer that is not ours keeps a node of a cluster, whoever deletes it.
func KeepNode(c *Cluster, name string, keep bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	node := c.nodes.get(name)
	if node == nil {
		return
	}
	if c.kept[node.UID] = keep; !keep && node.DeletedUnix != 0 && !node.Finalizer {
		drop(c, &c.nodes, KindNode, name, node.UID)
	}
}

// Free takes our finalizer off an object, on condition of its UID. One that is being deleted is gone then, but for a
// node that KeepNode keeps, of which it says so.
func (c *Cluster) Free(_ context.Context, kind string, object model.Object) (kept bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if object.UID == "" || kind != KindNode && kind != KindNodeClaim {
		return false, fault.New(fault.Invalid, "", "%s %q of UID %q is not freed", kind, object.Name, object.UID)
	}
	if err := c.asked("free"); err != nil {
		return false, err
	}
	if err := c.evaluatedObject(kind, object); err != nil {
		return false, err
	}
	if kind == KindNode {
		node := c.nodes.get(object.Name)
		kept := c.kept[node.UID] && node.DeletedUnix != 0
		if node.Finalizer {
			c.changeNode(object.Name, "update", func(node *model.Node) { node.Finalizer = false })
			if node.DeletedUnix != 0 && !kept {
				drop(c, &c.nodes, kind, object.Name, object.UID)
			}
		}
		return kept, nil
	}
	if claim := c.claims.get(object.Name); claim.Finalizer {
		next := *claim
		next.Finalizer = false
		put(c, &c.claims, kind, object.Name, object.UID, "update", &next)
		if next.DeletedUnix != 0 {
			drop(c, &c.claims, kind, object.Name, object.UID)
		}
	}
	return false, nil
}

// ShowEnd has a NodeClaim show how far its claim's end has come, and its deadline where it has none or a later one.
func (c *Cluster) ShowEnd(_ context.Context, claim model.Claim) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("show end"); err != nil {
		return err
	}
	object := c.claims.get(claim.Name)
	if object == nil || object.UID != claim.ObjectUID {
		return fault.New(fault.NotFound, "", "NodeClaim %s of UID %s is gone", claim.Name, claim.ObjectUID)
	}
	next := *object
	next.Claim.State, next.Claim.Drain = claim.State, claim.Drain
	next.Claim.FailureCode, next.Claim.FailureMessage = claim.FailureCode, claim.FailureMessage
	if d := claim.Drain; d != nil && d.DeadlineUnix != 0 && (next.DeadlineUnix == 0 || d.DeadlineUnix < next.DeadlineUnix) {
		next.DeadlineUnix = d.DeadlineUnix
	}
	if !sameEnd(object, &next) {
		put(c, &c.claims, KindNodeClaim, claim.Name, next.UID, "status", &next)
	}
	return nil
}

// sameEnd reports whether two states of an object show the same end.
func sameEnd(a, b *NodeClaim) bool {
	stage := func(d *model.Drain) [4]bool {
		if d == nil {
			return [4]bool{}
		}
		return [4]bool{true, d.EmptyUnix != 0, d.DetachedUnix != 0, d.EndUnix != 0}
	}
	return a.Claim.State == b.Claim.State && stage(a.Claim.Drain) == stage(b.Claim.Drain) && a.DeadlineUnix == b.DeadlineUnix &&
		a.Claim.FailureCode == b.Claim.FailureCode && a.Claim.FailureMessage == b.Claim.FailureMessage
}

// SetDeadline puts the annotation karpenter.sh/nodeclaim-termination-timestamp on a NodeClaim, as people do.
func (c *Cluster) SetDeadline(name string, unix int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if claim := c.claims.get(name); claim != nil {
		next := *claim
		next.DeadlineUnix = unix
		put(c, &c.claims, KindNodeClaim, name, next.UID, "update", &next)
	}
}

// orphaned deletes what the garbage collector would: NodeClaims whose NodePool is gone, and nodes whose NodeClaim is. The
// caller holds mu.
func (c *Cluster) orphaned() {
	pools, claims := map[string]bool{}, map[string]bool{}
	for _, key := range c.pools.keys {
		pools[c.pools.get(key).UID] = true
	}
	for _, key := range append([]string{}, c.claims.keys...) {
		if object := c.claims.get(key); object.Claim.PoolUID != "" && !pools[object.Claim.PoolUID] {
			c.finish(KindNodeClaim, key)
		}
	}
	if !c.holds {
		return
	}
	for _, key := range c.claims.keys {
		claims[c.claims.get(key).UID] = true
	}
	for _, key := range append([]string{}, c.nodes.keys...) {
		node := c.nodes.get(key)
		if owner := c.owners[node.UID]; owner != "" && !claims[owner] {
			c.finish(KindNode, key)
		}
	}
}

// Hold has somebody put our finalizer on a NodeClaim object.
func (c *Cluster) Hold(claim string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.claims.get(claim); before != nil {
		next := *before
		next.Finalizer = true
		put(c, &c.claims, KindNodeClaim, claim, next.UID, "update", &next)
	}
}
