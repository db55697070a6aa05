//go:build ignore

package test

import (
	"context"
	"time"

	"github.com/awslabs/operatorpkg/option"
	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	karpenterv1alpha1 "sigs.k8s.io/karpenter/pkg/apis/v1alpha1"
	"sigs.k8s.io/karpenter/pkg/test/v1alpha1"
)

// NewEnvironment has objects in memory instead of an API server: nothing is validated and nothing filled in but names, UIDs and times.
func NewEnvironment(options ...option.Function[EnvironmentOptions]) *Environment {
	_ = option.Resolve(options...)
	_, cancel := context.WithCancel(context.Background())
	clk := clocktesting.NewFakeClock(time.Now())
	b := fake.NewClientBuilder().WithScheme(scheme.Scheme).
		WithStatusSubresource(&corev1.Pod{}, &corev1.Node{}, &corev1.PersistentVolumeClaim{}, &policyv1.PodDisruptionBudget{}, &v1.NodePool{}, &v1.NodeClaim{}, &v1alpha1.TestNodeClass{}).
		WithStatusSubresource(&karpenterv1alpha1.NodeOverlay{}).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }).
		WithIndex(&corev1.Node{}, "spec.providerID", func(o client.Object) []string { return []string{o.(*corev1.Node).Spec.ProviderID} }).
		WithIndex(&v1.NodeClaim{}, "status.providerID", func(o client.Object) []string { return []string{o.(*v1.NodeClaim).Status.ProviderID} }).
		WithIndex(&v1.NodeClaim{}, "spec.nodeClassRef.group", func(o client.Object) []string { return []string{o.(*v1.NodeClaim).Spec.NodeClassRef.Group} }).
		WithIndex(&v1.NodeClaim{}, "spec.nodeClassRef.kind", func(o client.Object) []string { return []string{o.(*v1.NodeClaim).Spec.NodeClassRef.Kind} }).
		WithIndex(&v1.NodeClaim{}, "spec.nodeClassRef.name", func(o client.Object) []string { return []string{o.(*v1.NodeClaim).Spec.NodeClassRef.Name} }).
		WithIndex(&v1.NodePool{}, "spec.template.spec.nodeClassRef.group", func(o client.Object) []string {
			return []string{o.(*v1.NodePool).Spec.Template.Spec.NodeClassRef.Group}
		}).
		WithIndex(&v1.NodePool{}, "spec.template.spec.nodeClassRef.kind", func(o client.Object) []string {
			return []string{o.(*v1.NodePool).Spec.Template.Spec.NodeClassRef.Kind}
		}).
		WithIndex(&v1.NodePool{}, "spec.template.spec.nodeClassRef.name", func(o client.Object) []string {
			return []string{o.(*v1.NodePool).Spec.Template.Spec.NodeClassRef.Name}
		}).
		WithIndex(&storagev1.VolumeAttachment{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*storagev1.VolumeAttachment).Spec.NodeName} }).
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}).
		WithInterceptorFuncs(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if binding, ok := o.(*corev1.Binding); ok {
				pod := &corev1.Pod{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(o), pod); err != nil {
					return err
				}
				pod.Spec.NodeName = binding.Target.Name
				return c.Update(ctx, pod)
			}
			place(o)
			fill(o)
			if o.GetUID() == "" {
				o.SetUID(types.UID(uuid.NewUUID()))
			}
			if t := o.GetCreationTimestamp(); t.IsZero() {
				o.SetCreationTimestamp(metav1.Now())
			}
			return c.Create(ctx, o, opts...)
		}, DeleteAllOf: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteAllOfOption) error {
			if namespaced(o) {
				return c.DeleteAllOf(ctx, o, opts...)
			}
			return c.DeleteAllOf(ctx, o)
		}, Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if !namespaced(o) {
				key.Namespace = ""
			}
			return c.Get(ctx, key, o, opts...)
		}, Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			place(o)
			return c.Update(ctx, o, opts...)
		}, Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			place(o)
			return c.Delete(ctx, o, opts...)
		}, Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			place(o)
			return c.Patch(ctx, o, patch, opts...)
		}, SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			place(o)
			switch o.(type) {
			case *corev1.Pod, *corev1.Node, *corev1.PersistentVolumeClaim, *policyv1.PodDisruptionBudget, *v1.NodePool, *v1.NodeClaim, *v1alpha1.TestNodeClass,
				*karpenterv1alpha1.NodeOverlay:
				return c.SubResource(sub).Update(ctx, o, opts...)
			}
			return nil
		}, SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			place(o)
			return c.SubResource(sub).Patch(ctx, o, patch, opts...)
		}})
	return &Environment{
		Environment: envtest.Environment{Scheme: scheme.Scheme},
		Client:      b.Build(),
		Clock:       clk,
		Version:     lo.Must(version.ParseSemantic("1.36.0")),
		Done:        make(chan struct{}),
		Cancel:      cancel,
	}
}

// namespaced reports whether objects of a kind are in namespaces. Specs give those that are not one, too, which an API server ignores.
func namespaced(o client.Object) bool {
	switch o.(type) {
	case *corev1.Node, *corev1.Namespace, *corev1.PersistentVolume, *storagev1.StorageClass, *storagev1.CSINode, *storagev1.VolumeAttachment,
		*nodev1.RuntimeClass, *schedulingv1.PriorityClass, *resourcev1.DeviceClass, *resourcev1.ResourceSlice,
		*v1.NodePool, *v1.NodeClaim, *karpenterv1alpha1.NodeOverlay, *v1alpha1.TestNodeClass:
		return false
	}
	return true
}

func place(o client.Object) {
	if !namespaced(o) {
		o.SetNamespace("")
	}
}

// fill does what an API server fills in and specs count on.
func fill(o client.Object) {
	switch o := o.(type) {
	case *corev1.Pod:
		for _, list := range [][]corev1.Container{o.Spec.InitContainers, o.Spec.Containers} {
			for i := range list {
				for name, amount := range list[i].Resources.Limits {
					if _, there := list[i].Resources.Requests[name]; !there {
						if list[i].Resources.Requests == nil {
							list[i].Resources.Requests = corev1.ResourceList{}
						}
						list[i].Resources.Requests[name] = amount
					}
				}
			}
		}
	case *corev1.Node: // admission does
		o.Spec.Taints = append(o.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
	case *storagev1.StorageClass:
		if o.VolumeBindingMode == nil {
			o.VolumeBindingMode = lo.ToPtr(storagev1.VolumeBindingImmediate)
		}
	}
}

// Stop ends nothing.
func (e *Environment) Stop() error {
	close(e.Done)
	e.Cancel()
	return nil
}
