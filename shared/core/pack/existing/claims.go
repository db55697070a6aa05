package existing

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/model"
)

// fill joins the claims and nodes of the input, in the memory of what was joined before.
func (c *claimIndex) fill(in *input.Input) {
	if c.byProvider == nil {
		c.byProvider, c.byNode = make(map[string]int32, len(in.Claims)), make(map[string]int32, len(in.Claims))
	}
	clear(c.byProvider)
	clear(c.byNode)
	for i := range in.Claims {
		claim := &in.Claims[i]
		if claim.ProviderID != "" {
			c.byProvider[claim.ProviderID] = int32(i)
		}
		if claim.NodeName != "" {
			c.byNode[claim.NodeName] = int32(i)
		}
	}
	c.joined = slices.Grow(c.joined[:0], len(in.Claims))[:len(in.Claims)]
	clear(c.joined)
	c.at = slices.Grow(c.at[:0], len(in.Snapshot.Nodes))[:len(in.Snapshot.Nodes)]
	for i := range in.Snapshot.Nodes {
		c.at[i] = c.of(&in.Snapshot.Nodes[i])
		if n := c.at[i]; n >= 0 {
			c.joined[n] = true
		}
	}
}

// of returns the node's claim, −1 where it has none.
func (c *claimIndex) of(node *model.Node) int32 {
	if node.ProviderID != "" {
		if n, known := c.byProvider[node.ProviderID]; known {
			return n
		}
	}
	if n, known := c.byNode[node.Name]; known {
		return n
	}
	return -1
}

// claimAt returns the claim of a node of the snapshot, nil where it has none.
func (p *Nodes) claimAt(number int) *model.Claim {
	if n := p.claims.at[number]; n >= 0 {
		return &p.In.Claims[n]
	}
	return nil
}
