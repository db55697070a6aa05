package read

import (
	"cmp"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
)

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
