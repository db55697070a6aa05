package translate

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/bench/speccases"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

func asJSON(t testing.TB, text string) []byte {
	t.Helper()
	out, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzPod: whatever a pod says, its shape asks for nothing below zero and always for its own place.
func FuzzPod(f *testing.F) {
	f.Add(asJSON(f, fullPod))
	f.Add([]byte(`{"spec":{"containers":[{"resources":{"requests":{"cpu":"-9e18"},"limits":{"memory":"1e30"}}}]}}`))
	f.Add([]byte(`{"spec":{"resources":{"limits":{"hugepages-2Mi":"-1"}},"overhead":{"cpu":"9e18"},"initContainers":[{"restartPolicy":"Always"}]}}`))
	kept, err := speccases.Kept()
	if err != nil {
		f.Fatal(err)
	}
	for _, pod := range kept.Pods {
		f.Add([]byte(pod))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var object map[string]any
		if json.Unmarshal(data, &object) != nil {
			return
		}
		if at, _ := hugeQuantity("", object); at != "" {
			return
		}
		var pod corev1.Pod
		if json.Unmarshal(data, &pod) != nil {
			return
		}
		bounds.Check(t, len(data), func() {
			_, shape := Pod(&pod)
			for name, amount := range shape.Requests {
				if amount < 0 {
					t.Errorf("%s is %d", name, amount)
				}
			}
			if shape.Requests[model.Pods] != 1 {
				t.Errorf("pods is %d", shape.Requests[model.Pods])
			}
		})
	})
}

// FuzzBuilder: a dump of any objects becomes a snapshot that is the same in whatever order they come and survives being
// written and read, or an error that names the object.
func FuzzBuilder(f *testing.F) {
	seeds := []string{
		"apiVersion: v1\nkind: Pod\n" + fullPod[1:],
		classes + "apiVersion: v1\nkind: Pod\nmetadata: {namespace: b, name: a}\nspec: {runtimeClassName: vm, priorityClassName: high}",
		daemonSet[1:] + daemonPod("x", "3", "2026-11-20T12:00:00Z", "200m", ""),
		webPod[1:] + webService + webReplicaSet,
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {namespace: a, name: b}\nspec: {volumeName: c}\n---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: c, labels: {topology.kubernetes.io/zone: a__b}}\nspec: {nodeAffinity: {required: {nodeSelectorTerms: [{}]}}}",
		"apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {limits: {cpu: 1e3}, template: {spec: {requirements: [{key: a, operator: Gt, values: [\"1\"]}], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: b}}}}\n---\napiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: b}\nspec: {kubelet: {maxPods: 5, kubeReserved: {cpu: 1}}, blockDeviceMappings: [{ebs: {volumeSize: 1Gi}}]}",
		"apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu: 1n}}\n---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minAvailable: 50%, selector: {}}\n---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: a}\nprovisioner: p\n---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: a}\nspec: {drivers: [{name: d, nodeID: n, allocatable: {count: 5}}]}",
	}
	for _, seed := range seeds {
		var list []any
		for _, object := range documents(f, seed) {
			list = append(list, object.Object)
		}
		data, err := json.Marshal(list)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	kept, err := speccases.Kept()
	if err != nil {
		f.Fatal(err)
	}
	for _, cluster := range kept.Clusters {
		f.Add([]byte(cluster.Objects))
	}
	spread, err := ParseDefaultSpread(zoneConstraint)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var list []map[string]any
		if json.Unmarshal(data, &list) != nil {
			return
		}
		bounds.Check(t, len(data), func() {
			first, ok := buildAny(t, spread, list)
			unique := ok && !repeats(list)
			slices.Reverse(list)
			second, _ := buildAny(t, spread, list)
			if unique && !reflect.DeepEqual(first, second) {
				t.Errorf("the order shows:\n%s\n%s", text(t, first), text(t, second))
			}
		})
	})
}

// buildAny makes a snapshot of objects and says whether all of them could be read.
func buildAny(t testing.TB, spread []model.Spread, list []map[string]any) (*model.Snapshot, bool) {
	builder := Builder{AbsentConditionIsPending: true, DefaultSpread: spread}
	all := true
	for _, object := range list {
		known, err := builder.AddUnstructured(&unstructured.Unstructured{Object: object})
		if err != nil && (!known || !fault.Is(err, fault.Invalid)) {
			t.Fatalf("known %v, %v", known, err)
		}
		all = all && err == nil
	}
	s := builder.Snapshot("c", 1)
	packed, err := wire.EncodeSnapshot(s)
	if fault.Is(err, fault.Invalid) {
		return s, false // names no API server would let through
	}
	if err != nil {
		t.Fatal(err)
	}
	read, err := wire.DecodeSnapshot(packed)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v", err)
	}
	if a, b := text(t, s), text(t, read); a != b {
		t.Fatalf("written\n%s\nread\n%s", a, b)
	}
	return s, all
}

// repeats reports whether an object was replaced by another of its name, so that the order matters.
func repeats(list []map[string]any) bool {
	seen := make(map[string]bool)
	for _, object := range list {
		u := &unstructured.Unstructured{Object: object}
		key := u.GroupVersionKind().GroupKind().String() + "/" + nameOf(u)
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

func FuzzParseDefaultSpread(f *testing.F) {
	f.Add(zoneConstraint)
	f.Add(`[{"maxSkew": -1, "topologyKey": "a", "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 0, "matchLabelKeys": ["x"]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		bounds.Check(t, len(text), func() {
			list, err := ParseDefaultSpread(text)
			if err != nil {
				if !fault.Is(err, fault.Invalid) || list != nil {
					t.Errorf("got %v and %v", list, err)
				}
				return
			}
			for _, c := range list {
				if c.MaxSkew < 1 || c.TopologyKey == "" || c.Selector != nil {
					t.Errorf("accepted %+v", c)
				}
			}
		})
	})
}

func TestAQuantityNobodyCanParseIsRefused(t *testing.T) {
	for object, want := range map[string]string{
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"resources":{"requests":{"cpu":"1e99999999999"}}}]}}`: `Pod a: spec.containers[0].resources.requests.cpu: "1e99999999999": is not a valid amount`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"volumes":[{"emptyDir":{"sizeLimit":"1E-99999999"}}]}}`:              `Pod a: spec.volumes[0].emptyDir.sizeLimit: "1E-99999999": is not a valid amount`,
	} {
		var u unstructured.Unstructured
		if err := json.NewDecoder(bytes.NewReader([]byte(object))).Decode(&u.Object); err != nil {
			t.Fatal(err)
		}
		if known, err := new(Builder).AddUnstructured(&u); !known || err == nil || err.Error() != want {
			t.Errorf("known %v, got %v, want %s", known, err, want)
		}
	}
	fine := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{"commit":"1e99999999999"}},"spec":{"containers":[{"resources":{"requests":{"cpu":"1e0003","memory":"1Ei"}}}]}}`
	var u unstructured.Unstructured
	if err := json.Unmarshal([]byte(fine), &u.Object); err != nil {
		t.Fatal(err)
	}
	if known, err := new(Builder).AddUnstructured(&u); !known || err != nil {
		t.Errorf("a label is no quantity: %v %v", known, err)
	}
}
