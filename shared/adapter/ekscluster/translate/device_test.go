package translate

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/model"
)

func unstructuredOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return out
}

// What kube-scheduler allocated, and for whom, is as the object says it.
func TestF095ResourceClaimsAreRead(t *testing.T) {
	got := ResourceClaim(unstructuredOf(t, `
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  namespace: ml
  name: train-0-gpu-x7
  uid: u
  deletionTimestamp: "2026-11-20T12:00:00Z"
  annotations: {resource.kubernetes.io/pod-claim-name: gpu}
  ownerReferences: [{apiVersion: v1, kind: Pod, name: train-0, uid: p, controller: true}]
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: ExactCount, count: 2}}]
status:
  allocation:
    devices: {results: [{request: gpu, driver: gpu.nvidia.com, pool: n1, device: gpu-0}]}
    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}
  reservedFor: [{resource: pods, name: train-0, uid: p}, {apiGroup: example.com, resource: jobs, name: j, uid: j}]
`))
	want := model.ResourceClaim{Namespace: "ml", Name: "train-0-gpu-x7", UID: "u", PodUID: "p", PodClaim: "gpu",
		DeletedUnix: 1795176000,
		Spec: `{"devices":{"requests":[{"exactly":{"allocationMode":"ExactCount","count":2,` +
			`"deviceClassName":"gpu.nvidia.com"},"name":"gpu"}]}}`,
		Allocation: `{"devices":{"results":[{"device":"gpu-0",` +
			`"driver":"gpu.nvidia.com","pool":"n1","request":"gpu"}]},` +
			`"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[` +
			`{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}`,
		Affinity: []model.NodeTerm{{Fields: []model.Requirement{{Key: "metadata.name", Operator: model.In,
			Values: []string{"n1"}}}}},
		ReservedFor: []string{"p"}, Others: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A builder takes all four kinds, as manifests have them, and sorts them.
func TestF095ObjectsOfDynamicResourceAllocationAreTaken(t *testing.T) {
	var b Builder
	for _, text := range []string{
		`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: z},
            spec: {driver: d, nodeName: n1, pool: {name: n1, resourceSliceCount: 1}, devices: [{name: a}]}}`,
		`{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: a},
            spec: {driver: net, allNodes: true, pool: {name: n1, resourceSliceCount: 1}}}`,
		`{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: c},
            spec: {selectors: [{cel: {expression: "true"}}]}}`,
		`{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: t, namespace: ml},
            spec: {metadata: {labels: {a: b}}, spec: {devices: {}}}}`,
		`{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: r, namespace: ml},
            spec: {devices: {}}}`,
		`{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ml},
            spec: {containers: [], resourceClaims: [{name: x, resourceClaimName: r},
                {name: w, resourceClaimTemplateName: t}]}}`,
	} {
		if known, err := b.AddUnstructured(unstructuredOf(t, text)); err != nil || !known {
			t.Errorf("%s: known %v, %v", text, known, err)
		}
	}
	s := b.Snapshot("c", 1)
	for name, c := range map[string]struct{ got, want any }{
		"slices": {s.ResourceSlices, []model.ResourceSlice{{Name: "a", Driver: "net"},
			{Name: "z", Driver: "d", Node: "n1",
				Spec: `{"devices":[{"name":"a"}],"driver":"d",` +
					`"nodeName":"n1","pool":{"name":"n1","resourceSliceCount":1}}`}}},
		"classes": {s.DeviceClasses, []model.DeviceClass{{Name: "c",
			Spec: `{"selectors":[{"cel":{"expression":"true"}}]}`}}},
		"templates": {s.ResourceClaimTemplates, []model.ResourceClaimTemplate{{Namespace: "ml", Name: "t",
			Spec: `{"devices":{}}`}}},
		"claims": {s.ResourceClaims, []model.ResourceClaim{{Namespace: "ml", Name: "r", Spec: `{"devices":{}}`}}},
		"pod": {s.Shapes[0].DeviceClaims, []model.PodClaim{{Name: "x", Claim: "r"}, {Name: "w",
			Template: "t"}}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			got, _ := json.Marshal(c.got)
			want, _ := json.Marshal(c.want)
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// M76: where the status of a pod says that an entry of spec.resourceClaims needs no claim, the pod has none.
func TestF095EntriesThatNeedNoClaimAreNone(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr("one")},
		{Name: "nic", ResourceClaimTemplateName: ptr("two")}}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu"},
		{Name: "nic", ResourceClaimName: ptr("made")}}
	got := shape(pod)
	if want := []model.PodClaim{{Name: "nic", Template: "two"}}; !reflect.DeepEqual(got.DeviceClaims, want) {
		t.Errorf("got %+v, want %+v", got.DeviceClaims, want)
	}
	pod.Status.ResourceClaimStatuses[1].ResourceClaimName = nil
	if got = shape(pod); got.DynamicResource || got.DeviceClaims != nil {
		t.Errorf("none of its entries needs a claim, and it is taken to have %+v", got.DeviceClaims)
	}
}
