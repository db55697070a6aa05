package pack

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// mixed returns a cluster of pods of many workloads: of different sizes, some pinned to a zone, an architecture or
// on-demand, some for a tainted pool, beside two daemons.
func mixed(pods, types int) *world {
	w := newWorld(types)
	w.pool("general", nil)
	w.pool("batch", func(p *model.Pool) {
		p.Weight = 10
		p.Template.Taints = []model.Taint{{Key: "batch", Effect: model.NoSchedule}}
	})
	w.daemon("proxy", cpu(50))
	w.daemon("logs", cpu(100))
	const perWorkload = 50
	for i := 0; i*perWorkload < pods; i++ {
		w.pods(fmt.Sprintf("w%03d", i), min(perWorkload, pods-i*perWorkload), func(s *model.PodShape) {
			s.Requests = model.Resources{model.CPU: 100 + int64(i*37%40)*100, model.Memory: int64(128+(i*61%64)*128) << 20, model.Pods: 1}
			s.NodeSelector = map[string]string{}
			switch i % 7 {
			case 1:
				s.NodeSelector[model.LabelZone] = testZones[i%3]
			case 2:
				s.NodeSelector[model.LabelArch] = "arm64"
			case 3:
				s.NodeSelector[model.LabelCapacityType] = model.OnDemand
			case 4:
				s.Tolerations = []model.Toleration{{Key: "batch", Operator: "Exists"}}
			}
		})
	}
	return w
}

func BenchmarkPlan(b *testing.B) {
	for _, size := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("pods=%d", size), func(b *testing.B) {
			w := mixed(size, 400)
			b.ReportAllocs()
			var plan model.Plan
			for b.Loop() {
				plan = w.plan()
			}
			if placed(plan) != size {
				b.Fatalf("placed %d of %d pods", placed(plan), size)
			}
			b.ReportMetric(float64(len(plan.Claims)), "claims")
			b.ReportMetric(plan.Price.USD(), "USD/h")
		})
	}
}

// BenchmarkPlanDistinct plans pods of which no two are alike, which nothing can be shared between.
func BenchmarkPlanDistinct(b *testing.B) {
	w := newWorld(400)
	w.pool("general", nil)
	for i := range 10_000 {
		w.pods(fmt.Sprintf("p%05d", i), 1, func(s *model.PodShape) {
			s.Requests = model.Resources{model.CPU: 100 + int64(i*7919%3900), model.Memory: 1<<27 + int64(i*104729%8000)<<20, model.Pods: 1}
		})
	}
	var plan model.Plan
	for b.Loop() {
		plan = w.plan()
	}
	b.ReportMetric(float64(len(plan.Claims)), "claims")
	b.ReportMetric(plan.Price.USD(), "USD/h")
}
