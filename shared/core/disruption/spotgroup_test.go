package disruption

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// M102: what replaces several spot nodes by spot needs as many cheaper types to fall back on as what replaces one. For
// one node only that many are requested, and for several all of them.
func TestM102GroupsOfSpotNodesNeedTypesToFallBackOn(t *testing.T) {
	types := map[string]*model.InstanceType{}
	catalog := testCatalog()
	for i := range catalog {
		types[catalog[i].Name] = &catalog[i]
	}
	for _, c := range []struct {
		nodes, spotTypes int
		capacityType     string // of the first node
		want             []string
	}{
		{1, 2, model.Spot, []string{"m5.xlarge", "m5.2xlarge"}},
		{3, 2, model.Spot, []string{"m5.xlarge", "m5.2xlarge", "m5.4xlarge"}},
		{3, 3, model.Spot, []string{"m5.xlarge", "m5.2xlarge", "m5.4xlarge"}},
		{1, 4, model.Spot, nil},
		{3, 4, model.Spot, nil},
		{3, 4, model.OnDemand, []string{"m5.xlarge", "m5.2xlarge", "m5.4xlarge"}},
	} {
		w := newWorld().pool("general")
		group := make([]*candidate, c.nodes)
		for i := range group {
			w.node("n", "general", sized("m5.4xlarge", model.Spot))
			claim := &w.in.Claims[len(w.in.Claims)-1]
			if i == 0 {
				claim.CapacityType = c.capacityType
			}
			group[i] = &candidate{poolNode: &poolNode{Node: &w.in.Snapshot.Nodes[i], Claim: claim, Price: 320_000}}
		}
		g := guard{spotTypes: c.spotTypes, types: types, group: group, ceiling: 400_000, claim: model.PlannedClaim{
			InstanceTypes: []string{"m5.xlarge", "m5.2xlarge", "m5.4xlarge"}, Zones: []string{"a", "b"},
			Offering: model.OfferingKey{InstanceType: "m5.xlarge", Zone: "a", CapacityType: model.Spot},
			Price:    80_000,
		}}
		no := g.narrow()
		switch {
		case c.want == nil && (no == nil || no.Code != SpotToSpot):
			t.Errorf("%d nodes, %d types: %+v", c.nodes, c.spotTypes, no)
		case c.want != nil && (no != nil || !slices.Equal(g.claim.InstanceTypes, c.want)):
			t.Errorf("%d nodes, %d types: of types %v; %+v", c.nodes, c.spotTypes, g.claim.InstanceTypes, no)
		}
	}
}
