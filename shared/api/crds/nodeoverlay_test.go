package crds_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/api/v1alpha1"
)

const minimalOverlay = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: discount}
spec: {requirements: [{key: karpenter.sh/capacity-type, operator: Exists}]}
`

func selects(list string) string { return "spec: {requirements: " + list + "}" }

// M17, U8: the definition and the check in Go refuse the same, as far as both see it. Cases follow those of
// Karpenter's own validation.
func TestF020NodeOverlayAdmission(t *testing.T) {
	const first, zone = "spec.requirements[0]", "topology.kubernetes.io/zone"
	cases := []admission{
		{name: "F020 nothing but requirements", patch: "{}"},
		{name: "F020 empty requirements", patch: selects("[]")},
		{name: "F020 no requirements", patch: "spec: {requirements: null}", path: "spec.requirements",
			message: "Required"},
		{name: "F020 price and adjustment", patch: `spec: {price: "0.432", priceAdjustment: "+10%"}`, path: "spec",
			message: "exclude each other"},
		{name: "F020 capacity of cpu", patch: "spec: {capacity: {cpu: 1}}", path: "spec.capacity",
			message: "cannot be changed"},
		{name: "F020 capacity of memory", patch: "spec: {capacity: {memory: 34Gi}}", path: "spec.capacity",
			message: "cannot be changed"},
		{name: "F020 capacity of ephemeral-storage", patch: "spec: {capacity: {ephemeral-storage: 34Gi}}",
			path: "spec.capacity", message: "cannot be changed"},
		{name: "F020 capacity of pods", patch: "spec: {capacity: {pods: 324}}", path: "spec.capacity",
			message: "cannot be changed"},
		{name: "F020 capacity of an extended resource",
			patch: "spec: {capacity: {smarter-devices/fuse: 1, hugepages-2Mi: 512Mi}}"},
		{name: "F020 weight 0", patch: "spec: {weight: 0}", path: "spec.weight", message: "greater than or equal to 1"},
		{name: "F020 weight 1", patch: "spec: {weight: 1}"},
		{name: "F020 weight 10000", patch: "spec: {weight: 10000}"},
		{name: "F020 weight 10001", patch: "spec: {weight: 10001}", path: "spec.weight",
			message: "less than or equal to 10000"},

		{name: "In without values", patch: selects("[{key: Test, operator: In}]"), path: first, message: "'In' needs"},
		{name: "NotIn without values", patch: selects("[{key: Test, operator: NotIn}]"), path: "spec.requirements",
			message: "'NotIn' needs"},
		{name: "keys",
			patch: selects("[{key: Test, operator: Exists}, {key: test.com/Test, operator: Exists}, " +
				"{key: test.com.com/test, operator: Exists}, {key: key-only, operator: Exists}]")},
		{name: "the NodePool", patch: selects("[{key: karpenter.sh/nodepool, operator: In, values: [a]}]")},
		{name: "domains of Kubernetes",
			patch: selects("[{key: kubernetes.io/test, operator: In, values: [a]}, " +
				"{key: sub.k8s.io/test, operator: In, values: [a]}]")},
		{name: "another label of Karpenter's domain",
			patch: selects("[{key: karpenter.sh/test, operator: In, values: [a]}]"), path: first + ".key",
			message: "restricted"},
		{name: "a domain below Karpenter's", patch: selects("[{key: a.karpenter.sh/test, operator: In, values: [a]}]"),
			path: first + ".key", message: "restricted"},
		{name: "hostname", patch: selects("[{key: kubernetes.io/hostname, operator: In, values: [a]}]"),
			path: first + ".key", message: "restricted"},
		{name: "unknown operator", patch: selects("[{key: " + zone + ", operator: unknown, values: [a]}]"),
			path: first + ".operator", message: "Unsupported value"},
		{name: "excluding values",
			patch: selects("[{key: " + zone + ", operator: In, values: [a, b]}, {key: " +
				zone + ", operator: NotIn, values: [a, c]}]")},
		{name: "101 requirements", patch: selects(repeat(101, "{key: a%d, operator: Exists}")),
			path: "spec.requirements", message: "Too many"},
	}
	for _, key := range []string{"test.com.com}", "Test.com/test", "test/test/test", "test/", "/test"} {
		cases = append(cases, admission{name: "key " + key, patch: selects(`[{key: "` + key + `", operator: Exists}]`),
			path: first + ".key", message: "should match"})
	}
	for _, operator := range []string{"Gt", "Lt", "Gte", "Lte"} {
		for _, values := range []string{"[]", `["1", "2"]`, `["a"]`, `["-1"]`} {
			cases = append(cases, admission{name: operator + " " + values, path: first, message: "exactly one value",
				patch: selects("[{key: " + zone + ", operator: " + operator + ", values: " + values + "}]")})
		}
		cases = append(cases, admission{name: operator + " 1",
			patch: selects("[{key: " + zone + ", operator: " + operator + `, values: ["1"]}]`)})
	}
	for _, text := range []string{"+42", ".5", "42.", "42%", "3,14", "1e10", "0x42", "forty-two", "42a", "42 ", " 42",
		"42.0.0", "-", ".", "-.42", "-100.0%", "-129"} {
		cases = append(cases, admission{name: "F020 price " + text, patch: `spec: {price: "` + text + `"}`,
			path: "spec.price", message: "should match"})
	}
	for _, text := range []string{"43", "34.43", "0"} {
		cases = append(cases, admission{name: "F020 price " + text, patch: `spec: {price: "` + text + `"}`})
	}
	for _, text := range []string{"1%", "1", "1.3", "-101%", "-100.0%", "-101.1%", "+", "%", "+1,5"} {
		cases = append(cases, admission{name: "F020 priceAdjustment " + text,
			patch: `spec: {priceAdjustment: "` + text + `"}`, path: "spec.priceAdjustment", message: "should match"})
	}
	for _, text := range []string{"+1%", "-1%", "-100%", "-99.9%", "+100.102%", "+298%", "+43", "-43", "+34.43",
		"-34.43", "+.5"} {
		cases = append(cases, admission{name: "F020 priceAdjustment " + text,
			patch: `spec: {priceAdjustment: "` + text + `"}`})
	}
	run(t, newServer(t)["NodeOverlay"], minimalOverlay, false, cases)
	for _, c := range cases {
		text, err := yaml.Marshal(merged(t, minimalOverlay, c.patch))
		if err != nil {
			t.Fatal(err)
		}
		overlay := &v1alpha1.NodeOverlay{}
		if err := yaml.UnmarshalStrict(text, overlay); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		absent := overlay.Spec.Requirements == nil // which Go cannot tell from none
		if problems := v1alpha1.Validate(overlay); !absent && len(problems) > 0 != (c.path != "") {
			t.Errorf("%s: %q", c.name, problems)
		}
	}
}
