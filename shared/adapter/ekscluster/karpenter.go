package ekscluster

import (
	"context"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// How Karpenter's chart names what it installs, in whatever namespace.
const (
	karpenterSelector = "app.kubernetes.io/name=karpenter"
	karpenterLease    = "karpenter-leader-election"
)

// Karpenter reads the Deployments and the leader lease of Karpenter, wherever they are. It takes the permission to list
// both in every namespace.
func (c Reader) Karpenter(ctx context.Context) (model.Karpenter, error) {
	var out model.Karpenter
	deployments := of(c.core.AppsV1().Deployments(""), func(o *metav1.ListOptions) { o.LabelSelector = karpenterSelector })
	err := listAll(ctx, deployments, func(object any) {
		d := object.(*appsv1.Deployment)
		replicas := int64(1) // what the API server fills in
		if d.Spec.Replicas != nil {
			replicas = int64(*d.Spec.Replicas)
		}
		out.Deployments = append(out.Deployments, model.Controller{Namespace: d.Namespace, Name: d.Name,
			Replicas: replicas, Running: int64(d.Status.Replicas)})
	})
	if err != nil {
		return model.Karpenter{}, err
	}
	slices.SortFunc(out.Deployments, func(a, b model.Controller) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	leases := of(c.core.CoordinationV1().Leases(""), func(o *metav1.ListOptions) { o.FieldSelector = "metadata.name=" + karpenterLease })
	err = listAll(ctx, leases, func(object any) {
		lease := leadershipOf(object.(*coordinationv1.Lease))
		if out.Lease == nil || lease.RenewedUnix > out.Lease.RenewedUnix {
			out.Lease = &lease
		}
	})
	if err != nil {
		return model.Karpenter{}, err
	}
	return out, nil
}

func leadershipOf(lease *coordinationv1.Lease) model.Leadership {
	out := model.Leadership{Namespace: lease.Namespace, Name: lease.Name}
	if lease.Spec.HolderIdentity != nil {
		out.Holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.RenewTime != nil {
		out.RenewedUnix = lease.Spec.RenewTime.Unix()
	}
	return out
}
