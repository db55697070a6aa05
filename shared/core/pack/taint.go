package pack

import (
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/model"
)

// Tolerates reports whether any toleration covers the taint.
func Tolerates(tolerations []model.Toleration, taint model.Taint) bool {
	return terms.Tolerates(tolerations, taint)
}

// WithoutDisruptionTaint returns a node's taints without the one of nodes that are being disrupted.
func WithoutDisruptionTaint(taints []model.Taint) []model.Taint {
	return terms.WithoutDisruptionTaint(taints)
}

// TaintText is a taint as kubectl writes it: key=value:effect, or key:effect.
func TaintText(t model.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + t.Effect
	}
	return t.Key + "=" + t.Value + ":" + t.Effect
}
