package ekscluster

import (
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func finalize(t *testing.T, c *Client, name, uid string) {
	t.Helper()
	if err := c.PatchNode(t.Context(), model.NodePatch{Name: name, UID: uid, Finalizer: true}); err != nil {
		t.Fatal(err)
	}
}

func TestFreeTakesOffOurFinalizerAndNoOther(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("held")
	node := createNode(t, name)
	object := model.Object{Name: name, UID: string(node.UID)}
	others := []byte(`{"metadata":{"finalizers":["example.com/a","example.com/b"]}}`)
	if _, err := admin(t).CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, others, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	finalize(t, c, name, object.UID)
	finalize(t, c, name, object.UID)
	get := func() []string {
		t.Helper()
		got, err := admin(t).CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got.Finalizers
	}
	if got := get(); !slices.Equal(got, []string{"example.com/a", "example.com/b", model.Finalizer}) {
		t.Fatalf("finalizers %v", got)
	}
	if err := c.Remove(t.Context(), "Node", object); err != nil {
		t.Fatal(err)
	}
	if seen := occupied(t, c, object).Node; !seen.Finalizer || seen.DeletedUnix == 0 {
		t.Errorf("%+v", seen)
	}

	if _, err := c.Free(t.Context(), "Node", model.Object{Name: name, UID: "00000000-0000-4000-8000-000000000000"}); !fault.Is(err, fault.Conflict) {
		t.Errorf("another of the name: %v, want Conflict", err)
	}
	if _, err := c.Free(t.Context(), "Node", model.Object{Name: name}); !fault.Is(err, fault.Invalid) {
		t.Errorf("without a UID: %v, want Invalid", err)
	}
	if _, err := c.Free(t.Context(), "Pod", object); !fault.Is(err, fault.Invalid) {
		t.Errorf("a pod: %v, want Invalid", err)
	}
	for range 2 {
		if kept, err := c.Free(t.Context(), "Node", object); err != nil || !kept {
			t.Fatalf("others keep it: %t, %v", kept, err)
		}
		if got := get(); !slices.Equal(got, []string{"example.com/a", "example.com/b"}) {
			t.Fatalf("finalizers %v", got)
		}
	}
	// One that is being deleted gets no new finalizer, and the rest of the patch is written all the same.
	patch := model.NodePatch{Name: name, UID: object.UID, Finalizer: true, Labels: map[string]string{"late": "yes"}}
	if err := c.PatchNode(t.Context(), patch); err != nil {
		t.Error(err)
	}
	if got := occupied(t, c, object).Node; got.Finalizer || got.Labels["late"] != "yes" {
		t.Errorf("%+v", got)
	}
	nobody := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := admin(t).CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, nobody, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Free(t.Context(), "Node", object); !fault.Is(err, fault.NotFound) {
		t.Errorf("once it is gone: %v, want NotFound", err)
	}
}

func TestFreeLetsANodeClaimGo(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("held")
	claim := launched(name)
	claim.ObjectUID = put(t, connect(t), claim)
	bare := []byte(`{"metadata":{"finalizers":null}}`) // as one was made before there were finalizers
	if _, err := c.custom.Resource(apiv1.NodeClaimResource).Patch(t.Context(), name, types.MergePatchType, bare, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	claim.State, claim.Drain = model.Draining, &model.Drain{SinceUnix: claim.LaunchedUnix + 60}
	for range 2 { // the object has no finalizer before its end is shown, or has it already
		if err := c.UpdateTermination(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
	}
	object := model.Object{Name: name, UID: claim.ObjectUID}
	if got := readClaim(t, c, name).Finalizers; !slices.Equal(got, []string{model.Finalizer}) {
		t.Fatalf("finalizers %v", got)
	}
	if err := c.Remove(t.Context(), apiv1.KindNodeClaim, object); err != nil {
		t.Fatal(err)
	}
	live, err := c.ReadLive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(live.Objects, func(o model.ClaimObject) bool { return o.Claim.Name == name }); i < 0 || !live.Objects[i].Finalizer || live.Objects[i].DeletedUnix == 0 {
		t.Fatalf("at %d of %+v", i, live.Objects)
	}
	if err := c.UpdateTermination(t.Context(), claim); err != nil {
		t.Errorf("shown while it is being deleted: %v", err)
	}
	if kept, err := c.Free(t.Context(), apiv1.KindNodeClaim, object); err != nil || kept {
		t.Fatalf("others keep it: %t, %v", kept, err)
	}
	if _, err := c.custom.Resource(apiv1.NodeClaimResource).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is there still: %v", err)
	}
	if _, err := c.Free(t.Context(), apiv1.KindNodeClaim, object); !fault.Is(err, fault.NotFound) {
		t.Errorf("once more: %v, want NotFound", err)
	}
	if err := c.UpdateTermination(t.Context(), claim); !fault.Is(err, fault.NotFound) {
		t.Errorf("shown once it is gone: %v, want NotFound", err)
	}
}

// Others write to the node all the time, as kubelets do.
func TestFreeStartsAgainWhereOthersWrite(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("contended")
	node := createNode(t, name)
	finalize(t, c, name, string(node.UID))
	stop, done := make(chan struct{}), sync.WaitGroup{}
	done.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			label := []byte(`{"metadata":{"labels":{"beat":"` + unique("x") + `"}}}`)
			if _, err := admin(t).CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer done.Wait()
	defer close(stop)
	eventually(t, "the node is free", func() error {
		_, err := c.Free(t.Context(), "Node", model.Object{Name: name, UID: string(node.UID)})
		if err != nil && !fault.Is(err, fault.Conflict) {
			t.Error(err)
		}
		return err
	})
}
