package ekscluster

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestReadLiveShowsNodesAndNodeClaims(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("looked-at")
	node := createNode(t, name)
	claim := model.Claim{
		Name: name, Pool: "default", Class: "general", State: model.Launched, ProviderID: "aws:///us-west-2a/i-" + name, LaunchedUnix: 1_900_000_000,
		InstanceType: "m5.large", Zone: "us-west-2a", CapacityType: model.Spot, Capacity: model.Resources{model.CPU: 2000},
		StartupTaints: []model.Taint{{Key: "cilium", Effect: model.NoExecute}}, Annotations: map[string]string{model.AnnotationPoolHash: "1"},
	}
	uid, err := connect(t).PutClaim(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	first, err := c.ReadLive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first.Version == 0 {
		t.Error("the look has no version")
	}
	found := map[string]bool{}
	for _, n := range first.Nodes {
		if n.Name == name && n.UID == string(node.UID) && n.ProviderID == "aws:///us-west-2a/i-"+name {
			found["node"] = true
		}
	}
	for _, o := range first.Objects {
		if got := o.Claim; got.Name == name && got.ObjectUID == uid && o.DeletedUnix == 0 && got.ProviderID == claim.ProviderID && got.Pool == "default" &&
			got.Class == "general" && got.State == model.Launched && got.Capacity[model.CPU] == 2000 && len(got.StartupTaints) == 1 && got.CapacityType == model.Spot {
			found["object"] = true
		}
	}
	if len(found) != 2 {
		t.Errorf("found only %v in %+v", found, first)
	}

	// Deleted by who they are, and by nothing else.
	if err := c.Remove(t.Context(), "NodeClaim", model.Object{Name: name, UID: "22222222-0000-4000-8000-000000000000"}); !fault.Is(err, fault.Conflict) {
		t.Errorf("another NodeClaim of that name: %v, want Conflict", err)
	}
	if err := c.Remove(t.Context(), "Node", model.Object{Name: name, UID: uid}); !fault.Is(err, fault.Conflict) {
		t.Errorf("another Node of that name: %v, want Conflict", err)
	}
	if err := c.Remove(t.Context(), "Node", model.Object{Name: name}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a Node without a UID: %v, want Invalid", err)
	}
	if err := c.Remove(t.Context(), "Pod", model.Object{Name: name, UID: uid}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a Pod: %v, want Invalid", err)
	}
	if _, err := c.Free(t.Context(), "NodeClaim", model.Object{Name: name, UID: uid}); err != nil {
		t.Fatal(err)
	}
	for kind, id := range map[string]string{"NodeClaim": uid, "Node": string(node.UID)} {
		if err := c.Remove(t.Context(), kind, model.Object{Name: name, UID: id}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if err := c.Remove(t.Context(), kind, model.Object{Name: name, UID: id}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s again: %v, want NotFound", kind, err)
		}
	}
	second, err := c.ReadLive(t.Context())
	if err != nil || second.Version <= first.Version {
		t.Errorf("version %d after %d: %v", second.Version, first.Version, err)
	}
	for _, o := range second.Objects {
		if o.Claim.Name == name {
			t.Errorf("the NodeClaim is there still: %+v", o)
		}
	}
}

func TestRunsSeesPodsThatOutliveTheirNode(t *testing.T) {
	c, node := connectAs(t, collectorRole), unique("busy")
	createNode(t, node)
	create := func(prefix string, change func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: unique(prefix), Namespace: "default"},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}, Tolerations: []corev1.Toleration{
				{Operator: corev1.TolerationOpExists},
			}},
		}
		change(pod)
		made, err := admin(t).CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	want := func(what string, want bool) {
		t.Helper()
		if got, err := c.Runs(t.Context(), node); got != want || err != nil {
			t.Errorf("with %s: %v %v, want %v", what, got, err, want)
		}
	}
	want("nothing", false)
	yes := true
	create("daemon", func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "33333333-0000-4000-8000-000000000000", Controller: &yes}}
	})
	want("a daemon", false)
	ended := create("ended", func(*corev1.Pod) {})
	want("a pod", true)
	ended.Status.Phase = corev1.PodSucceeded
	if _, err := admin(t).CoreV1().Pods("default").UpdateStatus(t.Context(), ended, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	want("a pod that has ended", false)
}

// A look says which NodePools expire within budgets.
func TestReadLiveShowsGentlePools(t *testing.T) {
	c := connectAs(t, collectorRole)
	gentle, plain := unique("gentle"), unique("plain")
	pools, err := New(plane(t).Config(), clusterName, "us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{gentle: "true", plain: "false"} {
		apply(t, pool, name)
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, model.AnnotationGentleExpiry, value)
		if name == gentle {
			patch = fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:"40m",%q:"Never"}}}`,
				model.AnnotationGentleExpiry, value, model.AnnotationJoinWithin, model.AnnotationRepairAfter)
		}
		if _, err := pools.custom.Resource(apiv1.NodePoolResource).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	live, err := c.ReadLive(t.Context())
	if err != nil || live.PoolsUnread != "" || !slices.Contains(live.Gentle, gentle) || slices.Contains(live.Gentle, plain) {
		t.Errorf("%v %q, %v", live.Gentle, live.PoolsUnread, err)
	}
	want := model.PoolWaits{JoinSeconds: 2400, RepairSeconds: -1} // M91
	if live.Waits[gentle] != want || live.Waits[plain] != (model.PoolWaits{}) {
		t.Errorf("times of NodePools: %v", live.Waits)
	}
	if !slices.Contains(live.Pools, gentle) || !slices.Contains(live.Pools, plain) { // V133
		t.Errorf("%v has not all NodePools", live.Pools)
	}
}

// What the collector's role may not do it is not given: it makes nothing that could run, and takes nothing of people's away.
func TestCollectorMayEndAndNotBegin(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("denied")
	if _, err := c.PutClaim(t.Context(), model.Claim{Name: name, Pool: "default", Class: "general"}); !fault.Is(err, fault.Denied) {
		t.Errorf("making a NodeClaim: %v, want Denied", err)
	}
	if _, err := c.List(t.Context()); !fault.Is(err, fault.Denied) {
		t.Errorf("listing everything: %v, want Denied", err)
	}
	err := c.Report(t.Context(), model.Report{Pools: []model.Condition{{Object: name, Type: "Ready", Status: "True"}}})
	if !fault.Is(err, fault.Denied) {
		t.Errorf("writing to a NodePool: %v, want Denied", err)
	}
	if err := c.custom.Resource(apiv1.NodePoolResource).Delete(t.Context(), name, metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("deleting a NodePool: %v, want Forbidden", err)
	}
}
