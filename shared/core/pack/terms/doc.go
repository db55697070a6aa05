// Package terms reads what a pod says of its node: node selectors and node affinity as terms of requirements, and
// tolerations.
//
// Terms are alternatives, any one of which must hold. Kubernetes calls them nodeSelectorTerms, and they are what a
// formula in disjunctive normal form is made of. Here each has the node selector in it, contradictory ones are left
// out, and the order means nothing, so that equal demands have equal keys ([KeyOf]). Taints are kube-scheduler's: its
// TaintToleration plugin.
//
//	list, no := terms.Required(shape)
//	if no != nil {
//		return no // spec.nodeSelector: ...
//	}
//	hard, soft := terms.Untolerated(shape.Tolerations, node.Taints)
package terms
