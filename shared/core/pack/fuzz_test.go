package pack

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// FuzzPlan plans pods, daemons, pools and nodes nobody in their right mind would write. It must answer for every pod.
func FuzzPlan(f *testing.F) {
	f.Add(int64(1000), int64(1<<30), "kubernetes.io/arch", "In", "arm64", "team", "x", int64(4000), uint8(3))
	f.Add(int64(-1), int64(1<<62), "a/b", "Gt", "9223372036854775807", "", "", int64(-5), uint8(0))
	f.Add(int64(1<<62), int64(1<<62), "karpenter.sh/capacity-type", "NotIn", "", "kubernetes.io/hostname", "node", int64(1<<62), uint8(255))
	f.Add(int64(0), int64(0), "x", "Near", "y", "karpenter.sh/nodepool", "general", int64(0), uint8(7))
	catalog := testCatalog(24)
	f.Fuzz(func(t *testing.T, cpuMilli, memory int64, key, operator, value, label, labelValue string, amount int64, bits uint8) {
		w := &world{Input{Snapshot: &model.Snapshot{}, Catalogs: map[string][]model.InstanceType{"default": catalog}, NowUnix: testNow}}
		requirement := model.Requirement{Key: key, Operator: model.Operator(operator), Values: []string{value}, MinValues: int(bits) % 4}
		w.pool("general", nil)
		w.pool("odd", func(p *model.Pool) {
			p.Weight = int32(bits)
			p.Template.Requirements = []model.Requirement{requirement}
			p.Template.Labels = map[string]string{label: labelValue}
			p.Template.Taints = []model.Taint{{Key: label, Value: value, Effect: operator}}
			p.Limits = model.Resources{model.CPU: amount, label: amount}
		})
		w.in.Usage = map[string]model.Resources{"odd": {model.CPU: cpuMilli, label: memory}}
		odd := func(s *model.PodShape) {
			s.Requests = model.Resources{model.CPU: cpuMilli, model.Memory: memory, label: amount}
			s.NodeSelector = map[string]string{label: labelValue}
			s.RequiredNodeAffinity = []model.NodeTerm{{Requirements: []model.Requirement{requirement}}, {}, {Requirements: []model.Requirement{{Key: label, Operator: model.Exists}}}}
			s.Tolerations = []model.Toleration{{Key: key, Operator: operator, Value: value, Effect: label}}
		}
		w.pods("odd", 3, odd)
		w.pods("sane", 2, nil)
		w.daemon("odd", odd)
		w.node("n", func(n *model.Node) {
			n.Allocatable = model.Resources{model.CPU: amount, model.Memory: memory, model.Pods: 10}
			n.Labels[label] = labelValue
		})
		w.running("r", "n", odd)
		w.in.Claims = []model.Claim{
			{Name: "c", Pool: "odd", Class: "default", State: model.Intended, Requirements: []model.Requirement{requirement}, InstanceTypes: []string{"c5.large", value}},
			{Name: "d", Pool: label, Class: key, State: model.Launched, InstanceType: value, Allocatable: model.Resources{label: amount}},
		}
		c := checker{in: w.in}
		c.everyPodOnce(w.plan())
		for _, problem := range c.found {
			t.Error(problem)
		}
	})
}
