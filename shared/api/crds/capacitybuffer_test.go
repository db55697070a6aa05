package crds_test

import (
	"os"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
)

const minimalBuffer = `
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare, namespace: shop}
spec: {podTemplateRef: {name: web}, replicas: 3}
`

func bufferKind(t *testing.T) *kind {
	t.Helper()
	manifest, err := os.ReadFile("autoscaling.x-k8s.io_capacitybuffers.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k, err := newKind(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// The definition and the check in Go refuse the same, as far as both see it.
func TestF021CapacityBufferAdmission(t *testing.T) {
	const template, workload = "podTemplateRef: {name: web}", "podTemplateRef: null, scalableRef: {kind: Deployment, name: web}"
	cases := []admission{
		{name: "F021 a template and replicas", patch: "{}"},
		{name: "F021 a template and limits", patch: "spec: {" + template + ", replicas: null, limits: {cpu: 4}}"},
		{name: "F021 a template alone", patch: "spec: {replicas: null}", path: "spec", message: "'replicas' or 'limits'"},
		{name: "F021 a template and a percentage", patch: "spec: {replicas: null, percentage: 10}", path: "spec", message: "'replicas' or 'limits'"},
		{name: "F021 both", patch: "spec: {scalableRef: {kind: Deployment, name: web}}", path: "spec", message: "exactly one of"},
		{name: "F021 neither", patch: "spec: {podTemplateRef: null}", path: "spec", message: "exactly one of"},
		{name: "F021 no name", patch: "spec: {podTemplateRef: {name: ''}}", path: "spec.podTemplateRef.name", message: "at least 1"},
		{name: "F021 a workload and a percentage", patch: "spec: {" + workload + ", replicas: null, percentage: 20}"},
		{name: "F021 a workload without kind", patch: "spec: {podTemplateRef: null, scalableRef: {kind: '', name: web}}", path: "spec.scalableRef.kind", message: "at least 1"},
		{name: "F021 replicas below 0", patch: "spec: {replicas: -1}", path: "spec.replicas", message: "greater than or equal to 0"},
		{name: "F021 percentage below 0", patch: "spec: {percentage: -1}", path: "spec.percentage", message: "greater than or equal to 0"},
		{name: "F021 any strategy", patch: "spec: {provisioningStrategy: example.com/mine}"},
	}
	run(t, bufferKind(t), minimalBuffer, false, cases)
	for _, c := range cases {
		text, err := yaml.Marshal(merged(t, minimalBuffer, c.patch))
		if err != nil {
			t.Fatal(err)
		}
		buffer := &autoscalingv1beta1.CapacityBuffer{}
		if err := yaml.UnmarshalStrict(text, buffer); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if problems := autoscalingv1beta1.Validate(buffer); len(problems) > 0 != (c.path != "") {
			t.Errorf("%s: %q", c.name, problems)
		}
	}
}

func TestF021CapacityBufferIsStoredWithDefaults(t *testing.T) {
	stored, errs := bufferKind(t).admit(t, readOne(t, minimalBuffer), nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	spec, _ := stored["spec"].(object)
	if spec["provisioningStrategy"] != autoscalingv1beta1.ActiveCapacity {
		t.Errorf("%v", spec)
	}
}

func TestF021CapacityBufferIsInstalledWithTheOthers(t *testing.T) {
	if _, there := newServer(t)["CapacityBuffer"]; !there {
		t.Error("it is not among Manifests")
	}
}
