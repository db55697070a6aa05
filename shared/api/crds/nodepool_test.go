package crds_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/joiner-sh/joiner/shared/api/wellknown"
)

const minimalPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
`

const staticPool = minimalPool + "  replicas: 3\n"

// template puts a YAML flow map where a pool's template has its spec.
func template(spec string) string { return "spec: {template: {spec: " + spec + "}}" }

func requirements(items string) string { return template("{requirements: " + items + "}") }

func labels(entries string) string {
	return "spec: {template: {metadata: {labels: " + entries + "}}}"
}

func disruption(spec string) string { return "spec: {disruption: " + spec + "}" }

const (
	atTemplate     = "spec.template.spec"
	atRequirements = atTemplate + ".requirements"
	atLabels       = "spec.template.metadata.labels"
	atBudgets      = "spec.disruption.budgets"
)

func TestNodePoolIsStoredWithDefaults(t *testing.T) {
	stored, errs := newServer(t)["NodePool"].admit(t, readOne(t, minimalPool), nil)
	if len(errs) > 0 {
		t.Fatalf("F001: a minimal pool is refused: %v", errs)
	}
	spec, _ := stored["spec"].(object)
	want := object{
		"consolidateAfter": "0s", "consolidationPolicy": "WhenEmptyOrUnderutilized",
		"budgets": []any{object{"nodes": "10%"}},
	}
	if got := spec["disruption"]; !equality.Semantic.DeepEqual(got, any(want)) {
		t.Errorf("F001: disruption = %v, want %v", got, want)
	}
	if got, _, _ := unstructured.NestedString(stored, "spec", "template", "spec", "expireAfter"); got != "720h" {
		t.Errorf("F001: expireAfter = %q, want 720h", got)
	}
}

func TestNodePoolAdmission(t *testing.T) {
	zone := "{key: topology.kubernetes.io/zone, operator: "
	run(t, newServer(t)["NodePool"], minimalPool, false, []admission{
		{name: "F001 budget without nodes gets the default", patch: disruption("{budgets: [{reasons: [Empty]}]}")},
		{name: "F001 disruption without consolidateAfter gets the default", patch: disruption("{consolidationPolicy: WhenEmpty}")},
		{name: "F001 balanced policy", patch: disruption("{consolidationPolicy: Balanced}")},
		{name: "F001 unknown policy", patch: disruption("{consolidationPolicy: Always}"), path: "spec.disruption.consolidationPolicy", message: "Unsupported value"},
		{name: "F001 no spec", patch: "spec: null", path: "spec", message: "Required value"},
		{name: "F001 no template", patch: "spec: {template: null}", path: "spec.template", message: "Required value"},

		{name: "F002 empty requirements", patch: requirements("[]")},
		{name: "F002 no requirements", patch: requirements("null"), path: atRequirements, message: "Required value"},

		{name: "F003 In", patch: requirements("[" + zone + "In, values: [a, b]}]")},
		{name: "F003 NotIn", patch: requirements("[" + zone + "NotIn, values: [a]}]")},
		{name: "F003 NotIn without values", patch: requirements("[" + zone + "NotIn}]")},
		{name: "F003 Exists", patch: requirements("[" + zone + "Exists}]")},
		{name: "F003 DoesNotExist", patch: requirements("[" + zone + "DoesNotExist}]")},
		{name: "F003 Gt", patch: requirements("[" + zone + `Gt, values: ["0"]}]`)},
		{name: "F003 Lt", patch: requirements("[" + zone + `Lt, values: ["9"]}]`)},
		{name: "F003 Gte", patch: requirements("[" + zone + `Gte, values: ["4"]}]`)},
		{name: "F003 Lte", patch: requirements("[" + zone + `Lte, values: ["007"]}]`)},
		{name: "F003 unknown operator", patch: requirements("[" + zone + "Near, values: [a]}]"), path: atRequirements + "[0].operator", message: "Unsupported value"},
		{name: "F003 In without values", patch: requirements("[" + zone + "Exists}, " + zone + "In}]"), path: atRequirements + "[1]", message: "at least one value"},
		{name: "F003 value that no label can have", patch: requirements("[" + zone + `In, values: ["a b"]}]`), path: atRequirements + "[0].values[0]", message: "should match"},
		{name: "F003 value too long", patch: requirements("[" + zone + "In, values: [" + strings.Repeat("v", 64) + "]}]"), path: atRequirements + "[0].values[0]", message: "may not be more than 63"},
		{name: "F003 key that no label can have", patch: requirements("[{key: 'a b', operator: Exists}]"), path: atRequirements + "[0].key", message: "should match"},
		{name: "F003 key with a prefix that no label can have",
			patch: requirements("[{key: Test.com/test, operator: Exists}]"),
			path:  atRequirements + "[0].key", message: "should match"},
		{name: "F003 taint with a prefix that none can have",
			patch: template("{taints: [{key: Test.com/test, effect: NoSchedule}]}"),
			path:  atTemplate + ".taints[0].key", message: "should match"},
		{name: "F003 startup taint with capitals in its name",
			patch: template("{startupTaints: [{key: test.com/Test, effect: NoSchedule}]}")},
		{name: "F003 key too long", patch: requirements("[{key: " + strings.Repeat("k", 317) + ", operator: Exists}]"), path: atRequirements + "[0].key", message: "may not be more than 316"},

		{name: "F004 Gt with two values", patch: requirements("[" + zone + `Gt, values: ["1", "2"]}]`), path: atRequirements + "[0]", message: "exactly one value"},
		{name: "F004 Gt without values", patch: requirements("[" + zone + "Gt}]"), path: atRequirements + "[0]", message: "exactly one value"},
		{name: "F004 Lt negative", patch: requirements("[" + zone + `Lt, values: ["-1"]}]`), path: atRequirements + "[0]", message: "exactly one value"},
		{name: "F004 Gte not a number", patch: requirements("[" + zone + `Gte, values: ["many"]}]`), path: atRequirements + "[0]", message: "exactly one value"},
		{name: "F004 Lte a fraction", patch: requirements("[" + zone + `Lte, values: ["1.5"]}]`), path: atRequirements + "[0]", message: "exactly one value"},
		{name: "F004 Gt beyond 64 bits", patch: requirements("[" + zone + `Gt, values: ["99999999999999999999"]}]`), path: atRequirements + "[0]", message: "int"},

		{name: "F005 minValues of 1", patch: requirements("[" + zone + "Exists, minValues: 1}]")},
		{name: "F005 minValues of 50", patch: requirements("[" + zone + "Exists, minValues: 50}]")},
		{name: "F005 minValues of 51", patch: requirements("[" + zone + "Exists, minValues: 51}]"), path: atRequirements + "[0].minValues", message: "less than or equal to 50"},
		{name: "F005 minValues of 0", patch: requirements("[" + zone + "Exists, minValues: 0}]"), path: atRequirements + "[0].minValues", message: "greater than or equal to 1"},
		{name: "F005 In with as many values as minValues", patch: requirements("[" + zone + "In, values: [a, b], minValues: 2}]")},
		{name: "F005 In with fewer values than minValues", patch: requirements("[" + zone + "In, values: [a, b], minValues: 3}]"), path: atRequirements + "[0]", message: "minValues"},

		{name: "F006 label hostname", patch: labels("{kubernetes.io/hostname: a}"), path: atLabels, message: `"kubernetes.io/hostname" is restricted`},
		{name: "F006 label nodepool", patch: labels("{karpenter.sh/nodepool: a}"), path: atLabels, message: `"karpenter.sh/nodepool" is restricted`},
		{name: "F006 label of karpenter.sh", patch: labels("{karpenter.sh/registered: a}"), path: atLabels, message: `domain "karpenter.sh" is restricted`},
		{name: "F006 label of a domain below karpenter.sh", patch: labels("{my.karpenter.sh/a: a}"), path: atLabels, message: `domain "karpenter.sh" is restricted`},
		{name: "F006 label of karpenter.k8s.aws", patch: labels("{karpenter.k8s.aws/a: a}"), path: atLabels, message: `domain "karpenter.k8s.aws" is restricted`},
		{name: "F006 label capacity-type", patch: labels("{karpenter.sh/capacity-type: spot}")},
		{name: "F006 label of a domain that merely ends alike", patch: labels("{fookarpenter.sh/x: a}")},
		{name: "F006 label of one's own", patch: labels("{team: a, example.com/team: '', kubernetes.io/os: linux}")},
		{name: "F006 label value that no node can carry", patch: labels("{team: 'a b'}"), path: atLabels + ".team", message: "should match"},
		{name: "F006 label value too long", patch: labels("{team: " + strings.Repeat("v", 64) + "}"), path: atLabels + ".team", message: "may not be more than 63"},
		{name: "F006 requirement on hostname", patch: requirements("[{key: kubernetes.io/hostname, operator: Exists}]"), path: atRequirements + "[0].key", message: "restricted"},
		{name: "F006 requirement on nodepool", patch: requirements("[{key: karpenter.sh/nodepool, operator: Exists}]"), path: atRequirements, message: `"karpenter.sh/nodepool" is restricted`},
		{name: "F006 requirement on karpenter.sh", patch: requirements("[{key: karpenter.sh/a, operator: Exists}]"), path: atRequirements + "[0].key", message: `domain "karpenter.sh" is restricted`},
		{name: "F006 requirement on karpenter.k8s.aws", patch: requirements("[{key: sub.karpenter.k8s.aws/a, operator: Exists}]"), path: atRequirements + "[0].key", message: `domain "karpenter.k8s.aws" is restricted`},
		{name: "F006 requirement on capacity-type", patch: requirements("[{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand, reserved]}]")},

		{name: "F007 100 requirements", patch: requirements(repeat(100, "{key: k%d, operator: Exists}"))},
		{name: "F007 101 requirements", patch: requirements(repeat(101, "{key: k%d, operator: Exists}")), path: atRequirements, message: "Too many"},
		{name: "F007 100 labels", patch: labels("{" + strings.Trim(repeat(100, "k%d: v"), "[]") + "}")},
		{name: "F007 101 labels", patch: labels("{" + strings.Trim(repeat(101, "k%d: v"), "[]") + "}"), path: atLabels, message: "Too many"},

		{name: "F008 no class", patch: template("{nodeClassRef: null}"), path: atTemplate + ".nodeClassRef", message: "Required value"},
		{name: "F008 group with a version", patch: template("{nodeClassRef: {group: karpenter.k8s.aws/v1}}"), path: atTemplate + ".nodeClassRef.group", message: "should match"},
		{name: "F008 empty group", patch: template("{nodeClassRef: {group: ''}}"), path: atTemplate + ".nodeClassRef.group", message: "at least 1"},
		{name: "F008 empty kind", patch: template("{nodeClassRef: {kind: ''}}"), path: atTemplate + ".nodeClassRef.kind", message: "at least 1"},
		{name: "F008 empty name", patch: template("{nodeClassRef: {name: ''}}"), path: atTemplate + ".nodeClassRef.name", message: "at least 1"},

		{name: "F010 Never", patch: "spec: {template: {spec: {expireAfter: Never}}, disruption: {consolidateAfter: Never}}"},
		{name: "F010 several units", patch: "spec: {template: {spec: {expireAfter: 1h30m5s, terminationGracePeriod: 90m}}, disruption: {consolidateAfter: 30s}}"},
		{name: "F010 expireAfter in days", patch: template("{expireAfter: 30d}"), path: atTemplate + ".expireAfter", message: "should match"},
		{name: "F010 expireAfter negative", patch: template("{expireAfter: -1h}"), path: atTemplate + ".expireAfter", message: "should match"},
		{name: "F010 expireAfter a fraction", patch: template("{expireAfter: 1.5h}"), path: atTemplate + ".expireAfter", message: "should match"},
		{name: "F010 grace period of Never", patch: template("{terminationGracePeriod: Never}"), path: atTemplate + ".terminationGracePeriod", message: "should match"},
		{name: "F010 consolidateAfter without unit", patch: disruption("{consolidateAfter: '30'}"), path: "spec.disruption.consolidateAfter", message: "should match"},

		{name: "taints", patch: template("{taints: [{key: a.b/c, effect: NoSchedule}], startupTaints: [{key: d, value: e, effect: NoExecute}, {key: f, value: '', effect: PreferNoSchedule}]}")},
		{name: "taint without key", patch: template("{taints: [{key: '', effect: NoSchedule}]}"), path: atTemplate + ".taints[0].key", message: "at least 1"},
		{name: "taint with another effect", patch: template("{startupTaints: [{key: a, effect: Never}]}"), path: atTemplate + ".startupTaints[0].effect", message: "Unsupported value"},
		{name: "taint without effect", patch: template("{startupTaints: [{key: a}]}"), path: atTemplate + ".startupTaints[0].effect", message: "Required value"},
		{name: "taint with a bad key", patch: template("{taints: [{key: 'a b', effect: NoExecute}]}"), path: atTemplate + ".taints[0].key", message: "should match"},
		{name: "taint with a bad value", patch: template("{taints: [{key: a, value: 'a b', effect: NoExecute}]}"), path: atTemplate + ".taints[0].value", message: "should match"},
		{name: "limits", patch: `spec: {limits: {cpu: 1000, memory: 1000Gi, nvidia.com/gpu: "8", nodes: "10"}}`},
		{name: "limits that are no quantity", patch: "spec: {limits: {cpu: many}}", path: "spec.limits.cpu", message: "should match"},
		{name: "weight of 1", patch: "spec: {weight: 1}"},
		{name: "weight of 100", patch: "spec: {weight: 100}"},
		{name: "weight of 0", patch: "spec: {weight: 0}", path: "spec.weight", message: "greater than or equal to 1"},
		{name: "weight of 101", patch: "spec: {weight: 101}", path: "spec.weight", message: "less than or equal to 100"},
	})
}

func TestBudgetAdmission(t *testing.T) {
	budget := func(b string) string { return disruption("{budgets: [" + b + "]}") }
	cases := []admission{
		{name: "F009 schedule with duration", patch: budget(`{nodes: "0", schedule: "0 9 * * mon-fri", duration: 8h}`)},
		{name: "F009 schedule without duration", patch: budget(`{nodes: "0"}, {nodes: "0", schedule: "@daily"}`), path: atBudgets + "[1]", message: "together"},
		{name: "F009 duration without schedule", patch: budget(`{nodes: "0", duration: 8h}`), path: atBudgets + "[0]", message: "together"},
		{name: "F009 duplicate reasons", patch: budget("{reasons: [Empty, Drifted, Empty]}"), path: atBudgets + "[0].reasons[2]", message: "Duplicate value"},
		{name: "F009 all reasons", patch: budget("{reasons: [Empty, Drifted, Underutilized]}")},
		{name: "F009 unknown reason", patch: budget("{reasons: [Expired]}"), path: atBudgets + "[0].reasons[0]", message: "Unsupported value"},
		{name: "F009 50 budgets", patch: disruption("{budgets: " + repeat(50, `{nodes: "%d"}`) + "}")},
		{name: "F009 51 budgets", patch: disruption("{budgets: " + repeat(51, `{nodes: "%d"}`) + "}"), path: atBudgets, message: "Too many"},
	}
	for _, nodes := range []string{"0", "10", "100000", "0%", "9%", "99%", "100%"} {
		cases = append(cases, admission{name: "F009 nodes " + nodes, patch: budget(`{nodes: "` + nodes + `"}`)})
	}
	for _, nodes := range []string{"101%", "-1", "-5%", "1.5", "1000%", "%", "", "ten"} {
		cases = append(cases, admission{name: "F009 nodes " + nodes, patch: budget(`{nodes: "` + nodes + `"}`), path: atBudgets + "[0].nodes", message: "should match"})
	}
	for _, schedule := range []string{
		"@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "* * * * *", "0 9 1,15 * 1-5", "*/5  0 * * *",
	} {
		cases = append(cases, admission{name: "F009 schedule " + schedule, patch: budget(`{schedule: "` + schedule + `", duration: 1h}`)})
	}
	for _, schedule := range []string{"@reboot", "@every 1h", "* * * *", "* * * * * *", ""} {
		cases = append(cases, admission{name: "F009 schedule " + schedule, patch: budget(`{schedule: "` + schedule + `", duration: 1h}`), path: atBudgets + "[0].schedule", message: "should match"})
	}
	for _, duration := range []string{"160h", "30m", "10h5m", "10h0s", "10h5m0s"} {
		cases = append(cases, admission{name: "F009 duration " + duration, patch: budget(`{schedule: "@daily", duration: "` + duration + `"}`)})
	}
	for _, duration := range []string{"30s", "5m10h", "1d", "Never", "1h30s", ""} {
		cases = append(cases, admission{name: "F009 duration " + duration, patch: budget(`{schedule: "@daily", duration: "` + duration + `"}`), path: atBudgets + "[0].duration", message: "should match"})
	}
	run(t, newServer(t)["NodePool"], minimalPool, false, cases)
}

func TestNodePoolUpdate(t *testing.T) {
	run(t, newServer(t)["NodePool"], minimalPool, true, []admission{
		{name: "F008 another class of the same kind", patch: template("{nodeClassRef: {name: other}}")},
		{name: "F008 another kind", patch: template("{nodeClassRef: {kind: Other}}"), path: atTemplate + ".nodeClassRef", message: "kind' cannot change"},
		{name: "F008 another group", patch: template("{nodeClassRef: {group: example.com}}"), path: atTemplate + ".nodeClassRef", message: "group' cannot change"},
		{name: "F011 dynamic becomes static", patch: "spec: {replicas: 1}", path: "spec", message: "static and dynamic"},
		{name: "everything else changes", patch: "spec: {weight: 5, limits: {cpu: 5}, template: {spec: {expireAfter: Never}}}"},
	})
	run(t, newServer(t)["NodePool"], staticPool, true, []admission{
		{name: "F011 static becomes dynamic", patch: "spec: {replicas: null}", path: "spec", message: "static and dynamic"},
		{name: "F012 static pool is scaled", patch: "spec: {replicas: 0}"},
	})
}

func TestStaticPoolAdmission(t *testing.T) {
	run(t, newServer(t)["NodePool"], staticPool, false, []admission{
		{name: "F011 replicas", patch: "{}"},
		{name: "F011 negative replicas", patch: "spec: {replicas: -1}", path: "spec.replicas", message: "greater than or equal to 0"},
		{name: "F011 weight", patch: "spec: {weight: 1}", path: "spec", message: "'weight' cannot be set"},
		{name: "F011 limit of cpu", patch: "spec: {limits: {cpu: 5}}", path: "spec", message: "limits.nodes"},
		{name: "F011 limit of nodes and cpu", patch: "spec: {limits: {cpu: 5, nodes: 5}}", path: "spec", message: "limits.nodes"},
		{name: "F011 limit of nodes", patch: "spec: {limits: {nodes: 5}}"},
		{name: "F011 empty limits", patch: "spec: {limits: {}}"},
	})
}

// Every well-known label may be required, and what the schema restricts is what package wellknown restricts.
func TestRestrictedLabelsAreThoseOfWellKnown(t *testing.T) {
	k := newServer(t)["NodePool"]
	keys := append(wellknown.Labels(), wellknown.LabelHostname, wellknown.LabelRegistered, "karpenter.k8s.aws/instance-pods",
		"karpenter.k8s.aws/instance-gpu", "karpenter.k8s.aws/instance-gpu-counts", "a.karpenter.k8s.aws/instance-cpu",
		"a.karpenter.sh/capacity-type", "karpenter.sh", "xkarpenter.k8s.aws/y", "karpenter-sh/x")
	for _, key := range keys {
		restricted := wellknown.RestrictedReason(key) != "" || key == wellknown.LabelNodePool
		for name, patch := range map[string]string{
			"label": labels("{" + key + ": v}"), "requirement": requirements("[{key: " + key + ", operator: Exists}]"),
		} {
			if _, errs := k.admit(t, merged(t, minimalPool, patch), nil); (len(errs) > 0) != restricted {
				t.Errorf("%s %s: errors %v, want restricted %v", name, key, errs, restricted)
			}
		}
	}
}

func TestDefinitionsSayHowKubectlShowsThem(t *testing.T) {
	tests := map[string]struct {
		columns, wide, shortNames string
	}{
		"NodePool": {columns: "NodeClass Nodes Ready Age", wide: "Weight CPU Memory"},
		"NodeClaim": { // U45: with the price
			columns: "Type Capacity Zone Node Ready Age", wide: "ImageID ID NodePool NodeClass Drifted USD/h",
		},
		"NodeOverlay":  {columns: "Ready Age", wide: "Weight", shortNames: "overlays"},
		"EC2NodeClass": {columns: "Ready Age", wide: "Role", shortNames: "ec2nc ec2ncs"},
		"CapacityBuffer": {
			columns: "Strategy PodTemplate Replicas ConditionsType ConditionsStatus ConditionsReason Age", shortNames: "cb",
		},
	}
	s := newServer(t)
	if got, want := slices.Sorted(maps.Keys(s)), slices.Sorted(maps.Keys(tests)); !slices.Equal(got, want) {
		t.Fatalf("kinds = %v, want %v", got, want)
	}
	for name, want := range tests {
		t.Run("F014 "+name, func(t *testing.T) {
			spec := s[name].Definition.Spec
			scope, category := apiextensionsv1.ClusterScoped, "karpenter"
			if name == "CapacityBuffer" {
				scope, category = apiextensionsv1.NamespaceScoped, "autoscaling"
			}
			if spec.Scope != scope || !slices.Equal(spec.Names.Categories, []string{category}) {
				t.Errorf("scope %s, categories %v; want %s and %s", spec.Scope, spec.Names.Categories, scope, category)
			}
			if got := strings.Join(spec.Names.ShortNames, " "); got != want.shortNames {
				t.Errorf("short names = %q, want %q", got, want.shortNames)
			}
			var columns, wide []string
			for _, c := range spec.Versions[0].AdditionalPrinterColumns {
				if c.Priority == 0 {
					columns = append(columns, c.Name)
				} else {
					wide = append(wide, c.Name)
				}
			}
			if got := fmt.Sprint(columns, wide); got != "["+want.columns+"] ["+want.wide+"]" {
				t.Errorf("columns = %s, want [%s] [%s]", got, want.columns, want.wide)
			}
			if spec.Versions[0].Subresources.Status == nil {
				t.Error("no status subresource")
			}
		})
	}
	scale := s["NodePool"].Definition.Spec.Versions[0].Subresources.Scale
	if scale == nil || scale.SpecReplicasPath != ".spec.replicas" || scale.StatusReplicasPath != ".status.nodes" || scale.LabelSelectorPath != nil {
		t.Errorf("F012: scale subresource = %+v, want .spec.replicas and .status.nodes", scale)
	}
}
