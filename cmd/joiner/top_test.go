package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// U34: a cluster in the terminal: nodes with type, price, load, and pods that are pending with what they wait for.
func TestU34TopShowsNodesPoolsAndPendingPods(t *testing.T) {
	at := []string{"top", "-f", "testdata/night", "--at", "2026-03-01T02:00:00Z"}
	code, out, errs := joiner("", at...)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	for _, want := range []string{"NODEPOOL", "NODE ", "ip-10-0-0-1", "$/HOUR", "░", "6h", "0.2016"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	code, out, errs = joiner("", append(at, "-o", "json")...)
	var v struct {
		Nodes                []struct{ PriceMicroUSDPerHour, Pods, AllocatableMilliCPU int64 }
		NodePools            []struct{ Nodes, Pods int64 }
		PriceMicroUSDPerHour int64
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 {
		t.Fatalf("exit status %d, %v: %s", code, err, errs)
	}
	var price, pods, inPools int64
	for _, n := range v.Nodes {
		price, pods = price+n.PriceMicroUSDPerHour, pods+n.Pods
	}
	for _, p := range v.NodePools {
		inPools += p.Pods
	}
	if len(v.Nodes) == 0 || price != v.PriceMicroUSDPerHour || pods != inPools {
		t.Errorf("%d nodes cost %d, in all %d; %d pods, %d in NodePools", len(v.Nodes), price,
			v.PriceMicroUSDPerHour, pods, inPools)
	}
	transcript(t,
		typed{line: "top -f testdata/shop", out: "\nPENDING\n"},
		typed{line: "top -f testdata/shop", out: "spec.tolerations do not cover the pool"},
		typed{line: "top -w -f -", code: 2, errs: "--watch: standard input can be read only once"},
		typed{line: "top -w -f testdata/shop --every 1ms", code: 2, errs: "--every: give a second at least"},
	)
	t.Setenv("COLUMNS", "80")
	_, out, _ = joiner("", at...)
	for _, line := range strings.Split(out, "\n") {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("in 80 columns a line of %d: %s", n, line)
		}
	}
}

// U65: what can be bought, in the region and by a NodePool.
func TestU65TypesListWhatCanBeBought(t *testing.T) {
	noKubeconfig(t)
	transcript(t,
		typed{line: "types m7g.large", out: "m7g.large  arm64"},
		typed{line: "types m7g.large -o name", out: "m7g.large\n"},
		typed{line: "types m7*.large --no-headers --sort-by .onDemandMicroUSDPerHour -o name", out: "m7g.large"},
		typed{line: "types -o jsonpath={[0].labels.kubernetes\\.io/arch[0]} m7g.large", out: "arm64\n"},
		typed{line: "types none.large", code: 1, errs: "no instance type of the name none.large is in the catalog"},
		typed{line: "types [", code: 2, errs: `"[": not a name of instance types`},
		typed{line: "types --nodepool default", code: 2, errs: "name what to read"},
		typed{line: "types --nodepool none -f testdata/shop", code: 1,
			errs: `--nodepool: the input has no NodePool "none"`},
		typed{line: "types --nodepool spot -f testdata/shop c6g.large", out: "c6g.large"},
		typed{line: "types --nodepool default -f - -o name", in: strings.Replace(poolAndClass, "EXTRA",
			"{key: node.kubernetes.io/instance-type, operator: In, values: [c7g.large, m7g.large]}", 1),
			out: "c7g.large\nm7g.large\n"},
	)
}

const poolAndClass = `
{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {template: {spec: {
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: nodes}, requirements: [EXTRA]}}}}
---
{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {name: nodes}, spec: {role: nodes,
  amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{tags: {a: b}}],
	securityGroupSelectorTerms: [{tags: {a: b}}]}}
`
