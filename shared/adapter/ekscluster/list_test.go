package ekscluster

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

const everything = `
apiVersion: v1
kind: Namespace
metadata: {name: everything, labels: {team: a}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: everything}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: everything}
spec:
  containers: [{name: a, image: x, resources: {requests: {cpu: 250m}}, env: [{name: PASSWORD, value: SECRET}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: proxy, namespace: everything}
spec: {selector: {matchLabels: {app: proxy}}, template: {metadata: {labels: {app: proxy}}, spec: {containers: [{name: a, image: x}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: everything}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: everything}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: everything
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: everything}
spec: {storageClassName: everything, volumeName: everything, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: everything}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: everything}
spec: {drivers: [{name: ebs.csi.aws.com, nodeID: x, allocatable: {count: 25}}]}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: everything}
spec: {template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: elsewhere}
spec: {template: {spec: {requirements: [], nodeClassRef: {group: karpenter.azure.com, kind: AKSNodeClass, name: default}}}}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: everything}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
`

// missingOf returns what a snapshot lacks of the manifest above, and of a node and a claim of that name, each looked at by a
// field that only its translation has.
func missingOf(s *model.Snapshot, name string) []string {
	found := map[string]bool{
		"namespace": slices.ContainsFunc(s.Namespaces, func(o model.Namespace) bool { return o.Name == "everything" && o.Labels["team"] == "a" }),
		"node":      slices.ContainsFunc(s.Nodes, func(o model.Node) bool { return o.Name == name && o.ProviderID != "" }),
		"daemonset": slices.ContainsFunc(s.DaemonSets, func(o model.DaemonSet) bool {
			return o.Namespace == "everything" && s.Shapes[o.Shape].OwnerKind == "DaemonSet"
		}),
		"budget":  slices.ContainsFunc(s.Budgets, func(o model.PDB) bool { return o.Namespace == "everything" && o.MinAvailable == "1" }),
		"volume":  slices.ContainsFunc(s.Volumes, func(o model.Volume) bool { return o.Namespace == "everything" && o.Driver == "ebs.csi.aws.com" }),
		"storage": slices.ContainsFunc(s.Storage, func(o model.Storage) bool { return o.Name == "everything" && !o.Immediate }),
		"csinode": slices.ContainsFunc(s.CSINodes, func(o model.CSINode) bool { return o.Node == "everything" && o.Limits["ebs.csi.aws.com"] == 25 }),
		"pool":    slices.ContainsFunc(s.Pools, func(o model.Pool) bool { return o.Name == "everything" && o.Template.ClassName == "default" }),
		"class":   slices.ContainsFunc(s.Classes, func(o model.Class) bool { return o.Name == "everything" && o.Family == "AL2023" }),
		"claim":   slices.ContainsFunc(s.Claims, func(o model.Object) bool { return o.Name == name && o.UID != "" }),
		"pod": slices.ContainsFunc(s.Pods, func(o model.Pod) bool {
			return o.Key() == "everything/web" && slices.Equal(o.Claims, []string{"data"}) && s.Shapes[o.Shape].Requests[model.CPU] == 250
		}),
		"nothing of another provider": !slices.ContainsFunc(s.Pools, func(o model.Pool) bool { return o.Name == "elsewhere" }),
	}
	var out []string
	for what, ok := range found {
		if !ok {
			out = append(out, what)
		}
	}
	slices.Sort(out)
	return out
}

func TestListReadsEveryKind(t *testing.T) {
	c := connect(t)
	apply(t, everything)
	name := unique("everything")
	createNode(t, name)
	put(t, c, launched(name))
	s, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Cluster != clusterName || s.Epoch != 0 || s.Seq != 0 || s.AtUnix == 0 {
		t.Errorf("got %s %d/%d at %d", s.Cluster, s.Epoch, s.Seq, s.AtUnix)
	}
	if missing := missingOf(s, name); missing != nil {
		t.Errorf("missing: %q", missing)
	}
	data, err := wire.EncodeSnapshot(s)
	if err != nil {
		t.Fatalf("no snapshot: %v", err)
	}
	if read, err := wire.DecodeSnapshot(data); err != nil || missingOf(read, name) != nil {
		t.Errorf("after a round trip: missing %q, %v", missingOf(read, name), err)
	}
}

func TestPresentIsWhatIsOnANodeOrWaitsForOne(t *testing.T) {
	c := connect(t)
	namespace := unique("unbound")
	apply(t, `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: %[1]s}
---
apiVersion: v1
kind: Pod
metadata: {name: waits, namespace: %[1]s}
spec: {containers: [{name: a, image: x}]}
---
apiVersion: v1
kind: Pod
metadata: {name: bound, namespace: %[1]s}
spec: {nodeName: somewhere, containers: [{name: a, image: x}]}
`, namespace)
	s, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for node, of := range map[string]string{"": "waits", "somewhere": "bound", "elsewhere": ""} {
		present, err := c.Present(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range s.Pods {
			if ends, there := present[pod.UID]; pod.Namespace == namespace && (there != (pod.Name == of) || ends) {
				t.Errorf("pod %s on node %q: there %t, being deleted %t", pod.Name, node, there, ends)
			}
		}
	}
}

func TestListReadsPageAfterPage(t *testing.T) {
	var pages int
	l := lister{kind: "things", page: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
		pages++
		list := &corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: o.Continue + "x"}}}}
		if len(o.Continue) < 3 {
			list.Continue = o.Continue + "x"
		}
		return list, nil
	}}
	var got []string
	if err := listAll(t.Context(), l, func(o any) { got = append(got, o.(*corev1.Node).Name) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"x", "xx", "xxx", "xxxx"}; !slices.Equal(got, want) || pages != 4 {
		t.Errorf("got %q in %d pages, want %q", got, pages, want)
	}
}
