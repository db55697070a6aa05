package v1

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/api/hash"
)

// NodePoolHashVersion says by which rules [NodePool.Hash] is computed. It changes when a hashed field joins, leaves or
// gets another default: hashes of different versions cannot be compared. Karpenter's own (v3 and before)
// are such others: the same pool has another value there.
const NodePoolHashVersion = "joiner-v1"

// Hash returns the drift hash of the pool: it changes when a claim made from the template now would differ from one made
// before. Requirements are left out, because they are compared with a node's labels directly, and so is everything
// outside the template, because it does not make a node.
func (p *NodePool) Hash() string {
	template := p.Spec.Template
	return hash.Of(struct {
		Labels, Annotations                 map[string]string
		Taints, StartupTaints               []hashedTaint
		NodeClassRef                        NodeClassReference
		TerminationGracePeriod, ExpireAfter string
	}{
		Labels:                 template.Metadata.Labels,
		Annotations:            template.Metadata.Annotations,
		Taints:                 hashedTaints(template.Spec.Taints),
		StartupTaints:          hashedTaints(template.Spec.StartupTaints),
		NodeClassRef:           template.Spec.NodeClassRef,
		TerminationGracePeriod: hashedGrace(template.Spec.TerminationGracePeriod),
		ExpireAfter:            hashedNillable(template.Spec.ExpireAfter),
	})
}

// hashedTaint is a taint without the time it was added, which says nothing about a node to be made.
type hashedTaint struct{ Key, Value, Effect string }

func hashedTaints(taints []corev1.Taint) []hashedTaint {
	hashed := make([]hashedTaint, 0, len(taints))
	for _, t := range taints {
		hashed = append(hashed, hashedTaint{t.Key, t.Value, string(t.Effect)})
	}
	return hashed
}

// hashedGrace is the length of d and not its text: 60m and 1h are the same. Unset is empty, and differs from 0s.
func hashedGrace(d *Duration) string {
	if d == nil {
		return ""
	}
	return strconv.FormatInt(int64(d.Duration), 10)
}

func hashedNillable(d NillableDuration) string {
	if d.IsNever() {
		return ""
	}
	return strconv.FormatInt(int64(*d.Duration), 10)
}
