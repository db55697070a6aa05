//go:build ignore

package nodeoverlay

import (
	"context"
	"fmt"
	"time"

	"github.com/samber/lo"
	"go.uber.org/multierr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	seam "sigs.k8s.io/karpenter/pkg/joiner"
)

// Reconcile has Joiner say which NodeOverlays are applied and what NodePools can buy with them. What becomes of that,
// the conditions and the store of instance types, is Karpenter's own.
func (c *Controller) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	overlays, pools := &v1alpha1.NodeOverlayList{}, &v1.NodePoolList{}
	if err := multierr.Combine(c.kubeClient.List(ctx, overlays), c.kubeClient.List(ctx, pools)); err != nil {
		return reconcile.Result{}, err
	}
	next := newInternalInstanceTypeStore()
	var failed error
	for i := range pools.Items {
		if _, err := c.cloudProvider.GetInstanceTypes(ctx, &pools.Items[i]); err != nil {
			failed = multierr.Append(failed, fmt.Errorf("instance types of NodePool %s: %w", pools.Items[i].Name, err))
			continue
		}
		next.evaluatedNodePools.Insert(pools.Items[i].Name)
	}
	world := seam.World{Client: c.kubeClient, Cluster: c.clusterState, Provider: c.cloudProvider, Clock: c.clock}
	said := seam.EvaluateOverlays(ctx, world, overlays.Items)
	if err, again := c.updateOverlayStatuses(ctx, overlays.Items, said.Conflicts, said.Invalid); again || err != nil {
		return reconcile.Result{Requeue: again}, err
	}
	for _, change := range said.Changes {
		if len(change.Prices)+len(change.Capacity) == 0 {
			continue
		}
		update := &instanceTypeUpdate{
			Price: map[string]*priceUpdate{}, Capacity: &capacityUpdate{OverlayUpdate: change.Capacity},
		}
		for offering, price := range change.Prices {
			update.Price[offering] = &priceUpdate{OverlayUpdate: lo.ToPtr(price)}
		}
		if next.updates[change.NodePool] == nil {
			next.updates[change.NodePool] = map[string]*instanceTypeUpdate{}
		}
		next.updates[change.NodePool][change.Type] = update
	}
	c.instanceTypeStore.UpdateStore(next)
	c.clusterState.MarkUnconsolidated()
	if failed != nil {
		return reconcile.Result{}, failed
	}
	return reconcile.Result{RequeueAfter: 6 * time.Hour}, nil
}
