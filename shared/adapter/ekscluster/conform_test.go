package ekscluster

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// underTest is the adapter over a real API server, as the contract wants it.
type underTest struct {
	*Client
	t *testing.T
}

func TestClusterKeepsTheContract(t *testing.T) {
	conform.Cluster(t, func(t *testing.T) conform.ClusterPort { return underTest{connect(t), t} })
}

func TestClusterKeepsTheContractOfItsEnd(t *testing.T) {
	conform.ClusterEnder(t, func(t *testing.T) conform.ClusterEnderPort { return underTest{connect(t), t} })
}

// Ender is the client of the function that ends instances.
func (u underTest) Ender() interruption.Cluster { return connectAs(u.t, collectorRole) }

func (u underTest) Unique(base string) string { return unique("contract-" + base) }

func (u underTest) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

func (u underTest) MakeNode(node model.Node) string {
	u.t.Helper()
	made, err := admin(u.t).CoreV1().Nodes().Create(u.t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: node.Labels},
		Spec:       corev1.NodeSpec{ProviderID: node.ProviderID, Taints: kubeTaints(node.Taints)},
	}, metav1.CreateOptions{})
	u.must(err)
	return string(made.UID)
}

func (u underTest) DropNode(name string) {
	u.t.Helper()
	u.must(admin(u.t).CoreV1().Nodes().Delete(u.t.Context(), name, metav1.DeleteOptions{}))
}

func (u underTest) MakePod(name, node string, daemon bool) {
	u.t.Helper()
	owner := ""
	if daemon {
		owner = "ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: " + name + ", uid: 33333333-0000-4000-8000-000000000000, controller: true}]"
	}
	apply(u.t, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: default}
---
apiVersion: v1
kind: Pod
metadata:
  name: %s
  namespace: default
  %s
spec:
  nodeName: %q
  containers: [{name: a, image: x, resources: {requests: {cpu: 250m}}}]
`, name, owner, node)
}

func (u underTest) MakePool(name string) string {
	u.t.Helper()
	apply(u.t, pool, name)
	return string(readPool(u.t, u.Client, name).UID)
}

func (u underTest) MakeClass(name string) model.Class {
	u.t.Helper()
	apply(u.t, class, name)
	made := readClass(u.t, u.Client, name)
	return model.Class{Name: name, UID: string(made.UID), Generation: made.Generation}
}

func (u underTest) ClassStatus(name string) model.ClassStatus {
	u.t.Helper()
	s, err := u.List(u.t.Context())
	u.must(err)
	for _, class := range s.Classes {
		if class.Name == name {
			return class.Status
		}
	}
	u.t.Fatalf("class %s is not listed", name)
	return model.ClassStatus{}
}

func (u underTest) Shown(name string) (conform.Shown, bool) {
	u.t.Helper()
	all, err := u.custom.Resource(apiv1.NodeClaimResource).List(u.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	u.must(err)
	if len(all.Items) == 0 {
		return conform.Shown{}, false
	}
	object, err := toTyped[apiv1.NodeClaim](&all.Items[0])
	u.must(err)
	shown := conform.Shown{UID: string(object.UID), ProviderID: object.Status.ProviderID, NodeName: object.Status.NodeName, State: model.Intended}
	for _, reached := range []struct {
		kind  string
		state model.ClaimState
	}{{"Launched", model.Launched}, {"Registered", model.Registered}, {"Initialized", model.Initialized}} {
		if conditionOf(object, reached.kind).Status == metav1.ConditionTrue {
			shown.State = reached.state
		}
	}
	return shown, true
}

func (u underTest) DropClaim(name string) {
	u.t.Helper()
	claims := adminOf(u.t, apiv1.NodeClaimResource)
	_, err := claims.Patch(u.t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	u.must(err)
	u.must(claims.Delete(u.t.Context(), name, metav1.DeleteOptions{}))
}

func (u underTest) Reasons(kind, name string) []string {
	u.t.Helper()
	events, err := admin(u.t).EventsV1().Events("").List(u.t.Context(), metav1.ListOptions{})
	u.must(err)
	var out []string
	for _, e := range events.Items {
		if e.Regarding.Kind == kind && e.Regarding.Name == name {
			out = append(out, e.Reason)
		}
	}
	slices.Sort(out)
	return out
}

func (u underTest) PoolCondition(name, kind string) model.Condition {
	u.t.Helper()
	object := readPool(u.t, u.Client, name)
	var got metav1.Condition
	for _, c := range object.Status.Conditions {
		if c.Type == kind {
			got = c
		}
	}
	return model.Condition{Object: name, UID: string(object.UID), Type: got.Type, Status: string(got.Status), Reason: got.Reason, Message: got.Message}
}
