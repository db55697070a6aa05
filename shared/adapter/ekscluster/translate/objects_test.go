package translate

import (
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

func parse[T any](t testing.TB, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestNode(t *testing.T) {
	got := Node(parse[corev1.Node](t, `
metadata:
  name: ip-10-0-0-1
  uid: u
  creationTimestamp: "2026-11-20T12:00:00Z"
  labels: {karpenter.sh/nodepool: general, karpenter.sh/registered: "true"}
  annotations: {karpenter.sh/nodepool-hash: "1", x.joiner.sh/y: "2", node.alpha.kubernetes.io/ttl: "0", notkarpenter.sh/z: "3"}
spec:
  providerID: aws:///us-west-2a/i-0123
  taints: [{key: node.kubernetes.io/not-ready, effect: NoExecute, timeAdded: "2026-11-20T12:00:01Z"}]
status:
  capacity: {cpu: "4", memory: 16Gi, pods: "58"}
  allocatable: {cpu: 3920m, memory: 15Gi, pods: "58"}
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-11-20T12:01:00Z", lastHeartbeatTime: "2026-11-20T12:05:00Z"}]
`))
	want := model.Node{
		Name: "ip-10-0-0-1", UID: "u", ProviderID: "aws:///us-west-2a/i-0123",
		Labels:      map[string]string{"karpenter.sh/nodepool": "general", "karpenter.sh/registered": "true"},
		Annotations: map[string]string{"karpenter.sh/nodepool-hash": "1", "x.joiner.sh/y": "2"},
		Taints:      []model.Taint{{Key: "node.kubernetes.io/not-ready", Effect: "NoExecute"}},
		Capacity:    model.Resources{"cpu": 4000, "memory": 16 << 30, "pods": 58},
		Allocatable: model.Resources{"cpu": 3920, "memory": 15 << 30, "pods": 58},
		Ready:       true, ReadyUnix: 1795176060, CreatedUnix: 1795176000,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestDaemonSetToleratesWhatItsControllerAdds(t *testing.T) {
	set := parse[appsv1.DaemonSet](t, `
metadata: {namespace: kube-system, name: proxy, uid: u}
spec:
  selector: {matchLabels: {app: proxy}}
  template:
    metadata: {labels: {app: proxy}}
    spec:
      hostNetwork: true
      tolerations: [{operator: Exists, key: mine}]
      containers: [{name: a, resources: {limits: {cpu: 100m}}}]
`)
	got, shape := DaemonSet(set)
	if want := (model.DaemonSet{Namespace: "kube-system", Name: "proxy", UID: "u"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if shape.OwnerKind != "DaemonSet" || shape.OwnerName != "proxy" || shape.Requests["cpu"] != 100 {
		t.Errorf("got %+v", shape)
	}
	for _, key := range []string{"mine", "node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable", "node.kubernetes.io/network-unavailable"} {
		if !slices.ContainsFunc(shape.Tolerations, func(t model.Toleration) bool { return t.Key == key }) {
			t.Errorf("%s is not tolerated: %+v", key, shape.Tolerations)
		}
	}
	if n := len(set.Spec.Template.Spec.Tolerations); n != 1 {
		t.Errorf("the object was written to: it has %d tolerations", n)
	}
}

func TestCSINodeWithoutACountIsUnlimited(t *testing.T) {
	got := CSINode(parse[storagev1.CSINode](t, `{metadata: {name: node-1}, spec: {drivers: [{name: a, nodeID: x, allocatable: {count: 25}}, {name: b, nodeID: y}]}}`))
	if want := (model.CSINode{Node: "node-1", Limits: map[string]int64{"a": 25}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestPDB(t *testing.T) {
	got := PDB(parse[policyv1.PodDisruptionBudget](t, `{metadata: {namespace: a, name: b, generation: 2}, spec: {minAvailable: 50%, selector: {}, unhealthyPodEvictionPolicy: AlwaysAllow}, status: {observedGeneration: 2, disruptionsAllowed: 3, currentHealthy: 3, desiredHealthy: 1, expectedPods: 3}}`))
	want := model.PDB{Namespace: "a", Name: "b", Selector: &model.Selector{}, DisruptionsAllowed: 3, MinAvailable: "50%", AlwaysEvictUnready: true}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	behind := PDB(parse[policyv1.PodDisruptionBudget](t, `{metadata: {generation: 2}, spec: {maxUnavailable: 1}, status: {observedGeneration: 1, disruptionsAllowed: 3, currentHealthy: 3, desiredHealthy: 1, expectedPods: 3}}`))
	if behind.DisruptionsAllowed != 0 || behind.MaxUnavailable != "1" || behind.Selector != nil {
		t.Errorf("a status behind its spec allows nothing: %+v", behind)
	}
}

func TestBuilderSortsJoinsAndKeepsTheLast(t *testing.T) {
	var b Builder
	pod := func(namespace, name, app string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}}}
	}
	b.Add(parse[corev1.PersistentVolumeClaim](t, `{metadata: {namespace: a, name: data}, spec: {volumeName: pv}}`))
	b.Add(pod("a", "y", "one"))
	b.Add(pod("a-b", "x", "one"))
	b.Add(pod("a", "x", "one"))
	b.Add(pod("a", "y", "two"))
	b.Add(parse[corev1.PersistentVolume](t, `{metadata: {name: pv}, spec: {local: {path: /x}}}`))
	b.Add(parse[apiv1.NodePool](t, `{metadata: {name: other}, spec: {template: {spec: {requirements: [], nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: x}}}}}`))
	if b.Add(&corev1.Secret{}) {
		t.Error("a secret is not held")
	}
	s := b.Snapshot("prod", 5)
	if _, err := wire.EncodeSnapshot(s); err != nil {
		t.Fatalf("no snapshot: %v", err)
	}
	var keys []string
	for i := range s.Pods {
		keys = append(keys, s.Pods[i].Key()+" "+s.ShapeOf(&s.Pods[i]).Labels["app"])
	}
	if want := []string{"a-b/x one", "a/x one", "a/y two"}; !slices.Equal(keys, want) {
		t.Errorf("got %q, want %q", keys, want)
	}
	if len(s.Volumes) != 1 || !s.Volumes[0].Local || len(s.Pools) != 0 {
		t.Errorf("volumes %+v, pools %+v", s.Volumes, s.Pools)
	}
}
