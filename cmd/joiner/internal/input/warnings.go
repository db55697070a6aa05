package input

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Unclaimed says, once, that claims were made up.
func Unclaimed(n int) []string {
	switch n {
	case 0:
		return nil
	case 1:
		return []string{"1 node of a NodePool has no NodeClaim in the input: one is made up from its labels, as if " +
			"launched from the present NodePool, and initialized if the node is Ready; include nodeclaims, too"}
	}
	return []string{fmt.Sprintf("%d nodes of NodePools have no NodeClaim in the input: they are made up from their "+
		"labels, as if launched from the present NodePools, and initialized if the nodes are Ready; include "+
		"nodeclaims, too", n)}
}

// Unpriced names the offerings of nodes that the catalog does not know, once: what is not known is not counted.
func Unpriced(claims []model.Claim, catalogs map[string][]model.InstanceType) []string {
	nodes, offerings := 0, map[string]bool{}
	for i := range claims {
		claim := &claims[i]
		if claim.NodeName == "" || claim.Pool == "" || sold(claim, model.CatalogOf(catalogs, claim.Class, claim.Pool)) {
			continue
		}
		nodes++
		offerings[strings.Join([]string{cmp.Or(claim.InstanceType, "an unknown instance type"),
			cmp.Or(claim.CapacityType, "an unknown capacity type"), "in", cmp.Or(claim.Zone, "an unknown zone")},
			" ")] = true
	}
	if nodes == 0 {
		return nil
	}
	const most = 3
	names := slices.Sorted(maps.Keys(offerings))
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	what := "1 node of NodePools counts"
	if nodes > 1 {
		what = fmt.Sprintf("%d nodes of NodePools count", nodes)
	}
	return []string{fmt.Sprintf("%s nothing in prices: the catalog has no %s", what, text)}
}

// sold reports whether the instance of a claim is among what can be bought, or was.
func sold(claim *model.Claim, types []model.InstanceType) bool {
	i := slices.IndexFunc(types, func(t model.InstanceType) bool { return t.Name == claim.InstanceType })
	return i >= 0 && slices.ContainsFunc(types[i].Offerings,
		func(o model.Offering) bool { return o.Zone == claim.Zone && o.CapacityType == claim.CapacityType })
}
