package offering

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// A catalog of 800 types, with expressions and without.
func BenchmarkCatalog(b *testing.B) {
	facts := make([]model.InstanceTypeInfo, 800)
	for i := range facts {
		facts[i] = large()
		facts[i].Name = fmt.Sprintf("m%d.large", i)
	}
	for name, kubelet := range map[string]model.Kubelet{
		"plain":       {},
		"expressions": {MaxPodsExpr: "min(max_pods, vcpus * 12)", KubeReservedExpr: map[string]string{"cpu": "vcpus * 10", "memory": "max_pods * 11 + 255"}},
	} {
		b.Run(name, func(b *testing.B) {
			c := class(func(c *model.Class) { c.Kubelet = kubelet })
			for b.Loop() {
				Catalog(facts, c, Settings{NodeClassCEL: true})
			}
		})
	}
}
