package e2e

import (
	"fmt"
	"slices"
	"strings"
)

// class is an EC2NodeClass that resolves in the stack's account.
func class(name string) string {
	return classWith(name, "joiner-demo")
}

// classWith selects subnets by the value of the discovery tag.
func classWith(name, subnets string) string {
	return fmt.Sprintf(`apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: %s}
spec:
  role: joiner-joiner-demo-us-west-2-node
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: %s}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: joiner-demo}}]
`, name, subnets)
}

// pool is a NodePool of a class; spec is added to its template's spec, extra to its own, both as YAML lines. Nothing of it is
// given back voluntarily unless extra says so.
func pool(name, className, requirements string, template, extra []string) string {
	if !slices.ContainsFunc(extra, func(line string) bool { return strings.HasPrefix(line, "disruption:") }) {
		extra = append([]string{"disruption: {consolidateAfter: Never, budgets: [{nodes: \"0\"}]}"}, extra...)
	}
	indent := func(lines []string, by string) string {
		var out strings.Builder
		for _, line := range lines {
			out.WriteString(by + line + "\n")
		}
		return out.String()
	}
	return fmt.Sprintf(`apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: %s}
spec:
%s  template:
    spec:
      requirements: [%s]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %s}
%s`, name, indent(extra, "  "), requirements, className, indent(template, "      "))
}

const general = `{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}, {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}, {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}`

// deployment is one of n pods that ask for cpu; spec is added to the pods' spec as YAML lines.
func deployment(namespace, name string, n int, cpu string, spec ...string) string {
	var more strings.Builder
	for _, line := range spec {
		more.WriteString("      " + line + "\n")
	}
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      terminationGracePeriodSeconds: 0
%[5]s      containers:
        - name: main
          image: example.com/pause
          resources: {requests: {cpu: %[4]s, memory: 256Mi}}
`, namespace, name, n, cpu, more.String())
}

func namespace(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", name)
}
