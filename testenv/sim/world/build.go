package world

import "github.com/joiner-sh/joiner/shared/model"

// Class returns an EC2NodeClass of AL2023 instances in the world's network.
func Class(name string) model.Class {
	network := []model.SelectorTerm{{Tags: map[string]string{discovery: Name}}}
	return model.Class{
		Name: name, Family: "AL2023", Role: "nodes", Subnets: network, SecurityGroups: network,
		Images: []model.SelectorTerm{{Alias: "al2023@latest"}},
	}
}

// Pool returns a NodePool that takes any instance of a class.
func Pool(name, class string, requirements ...model.Requirement) model.Pool {
	return model.Pool{Name: name, Template: model.Template{
		ClassGroup: "karpenter.k8s.aws", ClassKind: "EC2NodeClass", ClassName: class, Requirements: requirements,
	}}
}

// Shape returns a pod shape that asks for CPU and memory.
func Shape(cpuMilli, memoryBytes int64) model.PodShape {
	return model.PodShape{Namespace: "default", OwnerKind: "ReplicaSet", OwnerName: "app", Requests: model.Resources{
		model.CPU: cpuMilli, model.Memory: memoryBytes, model.Pods: 1,
	}}
}

// Need returns a requirement that a label has one of the values.
func Need(key string, values ...string) model.Requirement {
	return model.Requirement{Key: key, Operator: model.In, Values: values}
}
