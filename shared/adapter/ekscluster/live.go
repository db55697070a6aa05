package ekscluster

import (
	"context"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// ReadLive reads nodes and NodeClaim objects as they are now, and what NodePools ask for by annotation. Unlike List it
// fails where NodeClaims are not defined, so that an empty list means that there is none. NodePools that cannot be read
// fail nothing else.
func (c Reader) ReadLive(ctx context.Context) (model.LiveState, error) {
	live := model.LiveState{Waits: map[string]model.PoolWaits{}}
	nodes := c.nodes()
	claims := lister{
		kind: "nodeclaims",
		page: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := c.custom.Resource(apiv1.NodeClaimResource).List(ctx, o)
			return list, undefined(err, "nodeclaims")
		},
	}
	pools := lister{
		kind: "nodepools",
		page: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return c.custom.Resource(apiv1.NodePoolResource).List(ctx, o)
		},
	}
	versions, errs := [2]int64{}, [2]error{}
	var wg sync.WaitGroup
	wg.Go(func() {
		errs[0] = listAll(ctx, versioned(nodes, &versions[0]), func(object any) {
			live.Nodes = append(live.Nodes, translate.Node(object.(*corev1.Node)))
		})
	})
	wg.Go(func() {
		errs[1] = listAll(ctx, versioned(claims, &versions[1]), func(object any) {
			live.Objects = append(live.Objects, claimObjectOf(object.(*unstructured.Unstructured)))
		})
	})
	wg.Go(func() {
		names := []string{}
		err := listAll(ctx, pools, func(object any) {
			pool := object.(*unstructured.Unstructured)
			if pool.GetAnnotations()[model.AnnotationGentleExpiry] == "true" {
				live.Gentle = append(live.Gentle, pool.GetName())
			}
			if waits := model.WaitsOf(pool.GetAnnotations()); waits != (model.PoolWaits{}) {
				live.Waits[pool.GetName()] = waits
			}
			if pool.GetDeletionTimestamp() == nil {
				names = append(names, pool.GetName())
			}
		})
		if live.Pools = names; err != nil {
			live.Pools, live.PoolsUnread = nil, err.Error()
		}
	})
	wg.Wait()
	slices.Sort(live.Gentle)
	slices.Sort(live.Pools)
	if errs[0] != nil {
		return model.LiveState{}, errs[0]
	}
	if err := errs[1]; fault.CodeOf(err) == model.CodeUndefined {
		return model.LiveState{Version: versions[0], Nodes: live.Nodes, Undefined: true, Gentle: live.Gentle,
			Waits: live.Waits, Pools: live.Pools, PoolsUnread: live.PoolsUnread}, err
	} else if err != nil {
		return model.LiveState{}, err
	}
	// Versions are one count for the whole API server.
	live.Version = min(versions[0], versions[1])
	return live, nil
}

// claimObjectOf reads an object; of one that cannot be read it tells who it is, which is that it exists.
func claimObjectOf(untyped *unstructured.Unstructured) model.ClaimObject {
	out := model.ClaimObject{Claim: model.Claim{Name: untyped.GetName(), ObjectUID: string(untyped.GetUID())}}
	if object, err := toTyped[apiv1.NodeClaim](untyped); err == nil {
		out.Claim = translate.Claim(object)
		if ref := object.Spec.NodeClassRef; !translate.Managed(ref) {
			out.ClassKind = ref.Kind + "." + ref.Group
		}
	}
	if at := untyped.GetDeletionTimestamp(); at != nil {
		out.DeletedUnix = at.Unix()
	}
	out.CreatedUnix = untyped.GetCreationTimestamp().Unix()
	out.Finalizer = slices.Contains(untyped.GetFinalizers(), model.Finalizer)
	out.DeadlineUnix = translate.Deadline(untyped.GetAnnotations())
	return out
}

// versioned notes the resourceVersion of a list; 0 where it is no number, which says nothing.
func versioned(l lister, version *int64) lister {
	page := l.page
	l.page = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := page(ctx, o)
		if meta, ok := list.(metav1.ListInterface); ok && err == nil {
			*version, err = strconv.ParseInt(meta.GetResourceVersion(), 10, 64)
			if err != nil {
				*version = 0
			}
			return list, nil
		}
		return list, err
	}
	return l
}

// Runs reports whether pods that have not ended are on the node, other than those of DaemonSets and static ones, which
// end with their node and cost nobody anything.
func (c Reader) Runs(ctx context.Context, node string) (bool, error) {
	found := false
	err := listAll(ctx, c.pods("spec.nodeName="+node+","+livePods), func(object any) {
		found = found || !endsWithItsNode(object.(*corev1.Pod))
	})
	return found, err
}

func endsWithItsNode(pod *corev1.Pod) bool {
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return true
	}
	owner := metav1.GetControllerOf(pod)
	return owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == "Node")
}
