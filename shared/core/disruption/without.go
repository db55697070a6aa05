package disruption

import "github.com/joiner-sh/joiner/shared/model"

// nodesOf returns what reports whether a name is that of one of the nodes.
func nodesOf(nodes []*poolNode) func(string) bool { return among(nodes, (*poolNode).name) }

// claimsOf returns what reports whether a name is that of a claim of one of the nodes.
func claimsOf(nodes []*poolNode) func(string) bool {
	return among(nodes, func(node *poolNode) string {
		if node.Claim == nil {
			return ""
		}
		return node.Claim.Name
	})
}

func among(nodes []*poolNode, nameOf func(*poolNode) string) func(string) bool {
	if len(nodes) == 1 { // as mostly
		one := nameOf(nodes[0])
		return func(name string) bool { return name == one && name != "" }
	}
	names := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		names[nameOf(node)] = true
	}
	return func(name string) bool { return names[name] && name != "" }
}

// withoutNodes returns the nodes that are none of some.
func withoutNodes(nodes []model.Node, without []*poolNode) []model.Node {
	return appendNodes(make([]model.Node, 0, len(nodes)), nodes, without)
}

func appendNodes(out, nodes []model.Node, without []*poolNode) []model.Node {
	gone := nodesOf(without)
	for i := range nodes {
		if !gone(nodes[i].Name) {
			out = append(out, nodes[i])
		}
	}
	return out
}

// withoutClaims returns the claims that are none of the nodes', with room for as many replacements as most commands
// have.
func withoutClaims(claims []model.Claim, without []*poolNode) []model.Claim {
	return appendClaims(make([]model.Claim, 0, len(claims)+16), claims, without)
}

func appendClaims(out, claims []model.Claim, without []*poolNode) []model.Claim {
	gone := claimsOf(without)
	for i := range claims {
		if !gone(claims[i].Name) {
			out = append(out, claims[i])
		}
	}
	return out
}
