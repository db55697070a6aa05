package world

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// definitions are how the CustomResourceDefinitions of NodePools, NodeClaims and EC2NodeClasses are.
type definitions struct {
	deleted     bool
	createdUnix int64
}

// DeleteDefinitions deletes the definitions, as a person does who uninstalls what made them: every object of them is deleted, and a
// definition stays, being deleted, while a finalizer holds one of its objects.
func (c *Cluster) DeleteDefinitions() {
	c.mu.Lock()
	c.defined.deleted = true
	c.log.Note(DefinitionsWritten{})
	var pools, claims, classes []string
	pools = append(pools, c.pools.keys...)
	claims = append(claims, c.claims.keys...)
	classes = append(classes, c.classes.keys...)
	for _, name := range claims {
		c.finish(KindNodeClaim, name)
	}
	c.mu.Unlock()
	for _, name := range pools {
		c.DeletePool(name)
	}
	for _, name := range classes {
		c.DeleteClass(name)
	}
}

// DefineAnew applies the definitions anew and reports whether they stand: not while objects of those that were deleted are held.
func (c *Cluster) DefineAnew() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.defined.deleted && len(c.claims.keys)+len(c.classes.keys) > 0 {
		return false
	}
	if c.defined.deleted {
		c.defined = definitions{createdUnix: c.now().Unix()}
		c.log.Note(DefinitionsWritten{Established: true})
	}
	return true
}

// Definitions returns how the definitions are.
func (c *Cluster) Definitions(context.Context) (model.Definitions, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("definitions"); err != nil {
		return model.Definitions{}, err
	}
	of := func(name string, objects int) model.Definition {
		d := model.Definition{Name: name, Established: !c.defined.deleted, Going: c.defined.deleted && objects > 0}
		if d.Established || d.Going {
			d.CreatedUnix = c.defined.createdUnix
		}
		return d
	}
	pools := of("nodepools.karpenter.sh", len(c.pools.keys))
	if pools.Established {
		pools.CreatedUnix = max(pools.CreatedUnix, c.poolsDefinedUnix)
	}
	return model.Definitions{
		Pools: pools, Claims: of("nodeclaims.karpenter.sh", len(c.claims.keys)),
		Classes: of("ec2nodeclasses.karpenter.k8s.aws", len(c.classes.keys)),
	}, nil
}

// PoolUID returns the UID of a NodePool.
func (c *Cluster) PoolUID(_ context.Context, name string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("pool"); err != nil {
		return "", err
	}
	pool := c.pools.get(name)
	if pool == nil || pool.DeletedUnix != 0 {
		return "", fault.New(fault.NotFound, "", "NodePool %s is gone", name)
	}
	return pool.UID, nil
}

// creates is the API server's answer to a new NodeClaim as far as its definition goes. The caller holds mu.
func (c *Cluster) creates() error {
	switch {
	case !c.defined.deleted:
		return nil
	case len(c.claims.keys) > 0:
		return fault.New(fault.Invalid, "MethodNotAllowed", "create not allowed while custom resource definition is terminating")
	}
	return fault.New(fault.NotFound, "", "NodeClaims are not defined")
}

// RecreatePools deletes the definition of NodePools and applies it anew at once: every NodePool is gone, and nothing else yet.
func (c *Cluster) RecreatePools() {
	c.mu.Lock()
	pools := append([]string{}, c.pools.keys...)
	c.poolsDefinedUnix = c.now().Unix()
	c.mu.Unlock()
	for _, name := range pools {
		c.DeletePool(name)
	}
}
