package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// goodPool has nothing that may not be meant.
const goodPool = `
{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: good}, spec: {limits: {cpu: "100"},
	disruption: {consolidateAfter: 5m}, template: {spec: {
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: nodes}, expireAfter: 720h, requirements: [
  {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}, {key: kubernetes.io/arch, operator: In,
	values: [arm64]},
  {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}]}}}}
---
`

type linted struct {
	Objects, Errors, Warnings int
	Findings                  []struct{ Level, Object, At, Field, Value, Message, Remedy string }
}

// U6, U36, M6, M61: lint says what the webhook, the conditions and the planner say, with object, field and remedy.
func TestU6LintSaysWhatTheWebhookSays(t *testing.T) {
	class := "{group: karpenter.k8s.aws, kind: EC2NodeClass, name: nodes}"
	pool := func(ref, more string) string {
		return "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {template: {spec: " +
			"{requirements: [], nodeClassRef: " +
			ref + "}}" + more + "}}\n---\n"
	}
	for _, c := range []struct {
		name, text           string
		code                 int
		level, field, remedy string
	}{
		{"a good one", goodPool, 0, "", "", ""},
		{"a budget that is none", pool(class,
			`, disruption: {budgets: [{nodes: "1", schedule: "99 * * * *", duration: 1h}]}`),
			1, "error", "spec.disruption.budgets[0].schedule", "Write the five fields of cron"},
		{"a misspelt field", pool(class, ", wieght: 3"), 1, "error", "spec.wieght", ""},
		{"no limits", pool(class, ""), 0, "warning", "spec.limits", "Limit cpu, memory, nodes"},
		{"a class of EKS Auto Mode", pool("{group: eks.amazonaws.com, kind: NodeClass, name: default}", ""), 0,
			"info", "nodeClassRef", ""},
		{"a class nearly ours", pool("{group: karpenter.k8s.aws, kind: NodeClass, name: default}", ""), 0,
			"warning", "nodeClassRef",
			"Write group: karpenter.k8s.aws and kind: EC2NodeClass"},
		{"an overlay without a price",
			"{apiVersion: karpenter.sh/v1alpha1, kind: NodeOverlay, metadata: {name: o}, spec: {price: x, " +
				"requirements: [{key: a, operator: Exists}]}}", 1, "error", "spec.price", "Write digits"},
		{"a buffer of nothing",
			"{apiVersion: autoscaling.x-k8s.io/v1beta1, kind: CapacityBuffer, metadata: {name: b}, spec: " +
				"{podTemplateRef: {name: none}, replicas: 1}}", 1, "error", "spec.podTemplateRef.name", ""},
		{"an annotation of a workload",
			"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {}, template: " +
				"{metadata: {annotations: {joiner.sh/nothing: a}}, spec: {containers: [{name: a}]}}}}", 0, "warning",
			"metadata.annotations[joiner.sh/nothing]", "Remove it."},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := joiner(c.text, "lint", "-f", "-", "-o", "json")
			var got linted
			if err := json.Unmarshal([]byte(out), &got); err != nil || code != c.code || errs != "" {
				t.Fatalf("exit status %d, want %d, %v: %s%s", code, c.code, err, out, errs)
			}
			for _, f := range got.Findings {
				if f.Level == c.level && f.Field == c.field && strings.Contains(f.Remedy, c.remedy) &&
					f.Message != "" && f.Object != "" {
					return
				}
			}
			if c.level != "" || got.Errors+got.Warnings > 0 {
				t.Errorf("want %s %s, got %s", c.level, c.field, out)
			}
		})
	}
}

func TestLintForPeople(t *testing.T) {
	noKubeconfig(t)
	transcript(t,
		typed{line: "lint -f -", in: goodPool, out: "1 object, 0 errors, 0 warnings.\n"},
		typed{line: "lint -f - --strict", in: goodPool, out: "1 object, 0 errors, 0 warnings.\n"},
		typed{line: "lint -f - --strict", in: strings.Replace(goodPool, `{cpu: "100"}`, "{}", 1), code: 1,
			out: "warning: NodePool good: spec.limits: there are none"},
		typed{line: "lint -f -", code: 2, errs: "the input has no objects"},
		typed{line: "lint", code: 2, errs: "name what to read"},
		typed{line: "lint -f nope", code: 2, errs: "-f nope: no such file or directory"},
		typed{line: "lint -f -",
			in: "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {template: {spec: " +
				"{requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: nodse}}}}}" +
				"\n---\n{apiVersion: " +
				"karpenter.k8s.aws/v1, " +
				"kind: EC2NodeClass, metadata: {name: nodes}, spec: {role: r, amiSelectorTerms: [{alias: " +
				"al2023@v20250101}], " +
				"subnetSelectorTerms: [{tags: {a: b}}], securityGroupSelectorTerms: [{tags: {a: b}}]}}",
			out: "Write nodes if that is meant, or apply it too."},
	)
}

// U36: plan says which NodePools it leaves out because their class is EKS Auto Mode's.
func TestU36PlanWarnsOfNodePoolsOfAutoMode(t *testing.T) {
	pool := func(group, kind string) string {
		return "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {template: {spec: {" +
			"nodeClassRef: {group: " + group + ", kind: " + kind + ", name: default}}}}}\n"
	}
	_, _, errs := joiner(pool("eks.amazonaws.com", "NodeClass"), "plan", "provision", "-f", "-")
	if !strings.Contains(errs, "NodePool a is left out: spec.template.spec.nodeClassRef names "+
		"eks.amazonaws.com/NodeClass default") || !strings.Contains(errs, "karpenter.k8s.aws/EC2NodeClass") {
		t.Errorf("it warns: %s", errs)
	}
	_, _, errs = joiner(pool("karpenter.k8s.aws", "EC2NodeClass"), "plan", "provision", "-f", "-")
	if strings.Contains(errs, "is left out") {
		t.Errorf("of its own class it warns: %s", errs)
	}
}

// M14, U8: TestLintSaysOfEachFieldWhatIsSaidOnApply holds lint to the table of docs/reference/fields.md: what the API
// server or the webhook refuses is an error of lint, too, and what is honored is none.
func TestLintSaysOfEachFieldWhatIsSaidOnApply(t *testing.T) {
	const of, images = "NodePool", "amiSelectorTerms: [{alias: al2023@v20260101}]"
	for name, c := range map[string]struct{ kind, spec, field string }{
		"a policy that is none": {of, "disruption: {consolidateAfter: 5m, consolidationPolicy: Always}",
			"spec.disruption.consolidationPolicy"},
		"a weight": {of, "weight: 101", "spec.weight"},
		"a reason": {of, `disruption: {budgets: [{nodes: "1", reasons: [Expired]}]}`,
			"spec.disruption.budgets[0].reasons[0]"},
		"replicas":   {of, "replicas: -1", "spec.replicas"},
		"a good one": {of, "weight: 7", ""},
		"a family": {"EC2NodeClass", "role: a, amiFamily: Ubuntu, amiSelectorTerms: [{id: ami-1}]",
			"spec.amiFamily"},
		"two roles":   {"EC2NodeClass", "role: a, instanceProfile: b, " + images, "spec"},
		"a good role": {"EC2NodeClass", "role: a, " + images, ""},
	} {
		text := "{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {name: a}, spec: {" + c.spec +
			", subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}}"
		if c.kind == of {
			text = "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: a}, spec: {" + c.spec +
				", template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, " +
				"kind: EC2NodeClass, name: a}}}}}"
		}
		code, out, errs := joiner(text, "lint", "-f", "-", "-o", "json")
		var got linted
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			t.Errorf("%s: exit status %d, %v: %s%s", name, code, err, out, errs)
			continue
		}
		said := got.Errors == 0
		for _, f := range got.Findings {
			said = said || f.Level == "error" && f.Field == c.field && f.Message != "" && f.Object == c.kind+" a"
		}
		if code != map[bool]int{true: 1}[c.field != ""] || !said || (got.Errors == 0) != (c.field == "") {
			t.Errorf("%s: exit status %d, %+v", name, code, got.Findings)
		}
	}
}
