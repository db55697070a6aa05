package testcluster

import (
	"fmt"

	"github.com/joiner-sh/joiner/shared/model"
)

// app is a workload: how many pods it has for each hundred nodes of the cluster, and what one asks for.
type app struct {
	namespace, name string
	per100          int
	cpu, gib        float64
	pool            string // asked for by node selector; "" = wherever it fits
	gpus            int64
	spread          bool   // over zones
	arch            string // "" = any
	guarded         bool   // is not to be disrupted
}

var apps = []app{
	{namespace: "shop", name: "web", per100: 420, cpu: 0.55, gib: 1.1, spread: true},
	{namespace: "shop", name: "checkout", per100: 180, cpu: 0.83, gib: 1.65, spread: true},
	{namespace: "shop", name: "search", per100: 150, cpu: 1.1, gib: 3.3},
	{namespace: "shop", name: "images", per100: 120, cpu: 1.1, gib: 1.1},
	{namespace: "payments", name: "ledger", per100: 72, cpu: 1.1, gib: 4.4, guarded: true, pool: "steady"},
	{namespace: "payments", name: "fraud", per100: 90, cpu: 1.65, gib: 3.3, pool: "steady"},
	{namespace: "data", name: "kafka-connect", per100: 60, cpu: 1.1, gib: 6.6, pool: "steady"},
	{namespace: "data", name: "spark-executor", per100: 180, cpu: 1.93, gib: 7.7, pool: "batch"},
	{namespace: "data", name: "etl-nightly", per100: 120, cpu: 0.99, gib: 1.65, pool: "batch"},
	{namespace: "ml", name: "embedder", per100: 18, cpu: 3.3, gib: 13.2, pool: "gpu", gpus: 1},
	{namespace: "platform", name: "ingress", per100: 36, cpu: 0.55, gib: 0.55, spread: true},
	{namespace: "platform", name: "metrics", per100: 30, cpu: 0.66, gib: 3.3},
	{namespace: "ci", name: "runner", per100: 120, cpu: 1.65, gib: 3.3, pool: "batch"},
}

// odd are workloads that nothing can hold.
var odd = []app{
	{namespace: "ml", name: "trainer-huge", cpu: 500, gib: 900},
	{namespace: "lab", name: "riscv-build", cpu: 1, gib: 2, arch: "riscv64"},
	{namespace: "ml", name: "notebook", cpu: 4, gib: 16, pool: "steady", gpus: 1},
}

const gib = 1 << 30

func (a *app) shape() model.PodShape {
	s := model.PodShape{
		Namespace: a.namespace, Labels: map[string]string{"app": a.name}, OwnerKind: "ReplicaSet", OwnerName: a.name,
		Requests:     model.Resources{model.CPU: int64(a.cpu * 1000), model.Memory: int64(a.gib * gib), model.Pods: 1},
		NodeSelector: map[string]string{},
	}
	if a.pool != "" {
		s.NodeSelector[model.LabelNodePool] = a.pool
	}
	if a.arch != "" {
		s.NodeSelector[model.LabelArch] = a.arch
	}
	if a.gpus > 0 {
		s.Requests["nvidia.com/gpu"] = a.gpus
		s.Tolerations = []model.Toleration{{Key: "nvidia.com/gpu", Operator: "Exists"}}
	}
	if a.spread {
		s.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 5, Anyway: true, Selector: &model.Selector{MatchLabels: s.Labels}}}
	}
	if a.guarded {
		s.DoNotDisrupt = "true"
	}
	return s
}

// pools are the NodePools of the cluster.
func pools() []model.Pool {
	in := func(key string, values ...string) model.Requirement {
		return model.Requirement{Key: key, Operator: model.In, Values: values}
	}
	size := model.Requirement{Key: "karpenter.k8s.aws/instance-cpu", Operator: model.Lt, Values: []string{"33"}}
	least := model.Requirement{Key: "karpenter.k8s.aws/instance-cpu", Operator: model.Gt, Values: []string{"7"}}
	category := func(values ...string) model.Requirement { return in("karpenter.k8s.aws/instance-category", values...) }
	var zero int64
	pool := func(name string, weight int32, taints []model.Taint, requirements ...model.Requirement) model.Pool {
		return model.Pool{
			Name: name, UID: "pool-" + name, Generation: 1, Weight: weight,
			Template:   model.Template{ClassGroup: "karpenter.k8s.aws", ClassKind: "EC2NodeClass", ClassName: "default", Requirements: append(requirements, least), Taints: taints},
			Disruption: model.Disruption{Policy: "WhenEmptyOrUnderutilized", ConsolidateAfterSeconds: &zero, Budgets: []model.Budget{{Nodes: "10%"}}},
		}
	}
	gpu := []model.Taint{{Key: "nvidia.com/gpu", Effect: model.NoSchedule}}
	return []model.Pool{
		pool("batch", 0, []model.Taint{}, size, category("c", "m"), in(model.LabelCapacityType, "spot"), in(model.LabelArch, "arm64")),
		pool("default", 10, nil, size, category("c", "m", "r"), in(model.LabelCapacityType, "spot", "on-demand")),
		pool("gpu", 0, gpu, category("g")),
		pool("steady", 0, nil, size, category("m", "r"), in(model.LabelCapacityType, "on-demand")),
	}
}

func podName(a *app, n int) string { return fmt.Sprintf("%s-%05x", a.name, (n*7919+104729)&0xfffff) }
