package main

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// indexes are the fields objects are looked up by, as Karpenter's manager registers them.
var indexes = map[string]func(object any) string{
	"spec.nodeName": func(object any) string {
		if pod, ok := object.(*corev1.Pod); ok {
			return pod.Spec.NodeName
		}
		return ""
	},
	"spec.providerID": func(object any) string {
		if node, ok := object.(*corev1.Node); ok {
			return node.Spec.ProviderID
		}
		return ""
	},
	"status.providerID": func(object any) string {
		if claim, ok := object.(*karpv1.NodeClaim); ok {
			return claim.Status.ProviderID
		}
		return ""
	},
	"spec.template.spec.nodeClassRef.group": classRef(func(r *karpv1.NodeClassReference) string { return r.Group }),
	"spec.template.spec.nodeClassRef.kind":  classRef(func(r *karpv1.NodeClassReference) string { return r.Kind }),
	"spec.template.spec.nodeClassRef.name":  classRef(func(r *karpv1.NodeClassReference) string { return r.Name }),
}

func classRef(field func(*karpv1.NodeClassReference) string) func(any) string {
	return func(object any) string {
		if pool, ok := object.(*karpv1.NodePool); ok && pool.Spec.Template.Spec.NodeClassRef != nil {
			return field(pool.Spec.Template.Spec.NodeClassRef)
		}
		return ""
	}
}

// cached reads objects from indexed stores in memory, as a manager's client does from informers: a look-up and a deep copy.
// Nothing else of a client is there, and nothing that only decides asks for it.
type cached struct {
	client.Client
	stores map[schema.GroupVersionKind]cache.Indexer
}

func newCached(objects []client.Object) (*cached, error) {
	c := &cached{stores: map[schema.GroupVersionKind]cache.Indexer{}}
	for _, object := range objects {
		kind, err := apiutil.GVKForObject(object, scheme.Scheme)
		if err != nil {
			return nil, fmt.Errorf("kind of %T: %w", object, err)
		}
		if c.stores[kind] == nil {
			by := cache.Indexers{}
			for name, field := range indexes {
				by[name] = func(object any) ([]string, error) { return []string{field(object)}, nil }
			}
			c.stores[kind] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, by)
		}
		if err := c.stores[kind].Add(object); err != nil {
			return nil, fmt.Errorf("store %s: %w", client.ObjectKeyFromObject(object), err)
		}
	}
	return c, nil
}

// Scheme is asked for by helpers of controller-runtime.
func (c *cached) Scheme() *runtime.Scheme { return scheme.Scheme }

// Get copies one object.
func (c *cached) Get(_ context.Context, key client.ObjectKey, out client.Object, _ ...client.GetOption) error {
	kind, err := apiutil.GVKForObject(out, scheme.Scheme)
	if err != nil {
		return err
	}
	missing := apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind)}, key.Name)
	store := c.stores[kind]
	if store == nil {
		return missing
	}
	name := key.Name
	if key.Namespace != "" {
		name = key.Namespace + "/" + key.Name
	}
	object, exists, err := store.GetByKey(name)
	if err != nil {
		return err
	}
	if !exists {
		return missing
	}
	copied := object.(runtime.Object).DeepCopyObject()
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(copied).Elem())
	return nil
}

// List copies the objects of a kind that the options select. A kind there is none of is an empty list.
func (c *cached) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	kind, err := apiutil.GVKForObject(list, scheme.Scheme)
	if err != nil {
		return err
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	var o client.ListOptions
	o.ApplyOptions(options)
	found, err := c.candidates(kind, o.FieldSelector)
	if err != nil {
		return err
	}
	selected := make([]runtime.Object, 0, len(found))
	for _, object := range found {
		meta := object.(client.Object)
		if o.Namespace != "" && meta.GetNamespace() != o.Namespace || o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(meta.GetLabels())) {
			continue
		}
		if o.UnsafeDisableDeepCopy != nil && *o.UnsafeDisableDeepCopy {
			selected = append(selected, meta)
			continue
		}
		selected = append(selected, meta.DeepCopyObject())
	}
	return apimeta.SetList(list, selected)
}

// candidates returns the objects of a kind that match the field selector, by index.
func (c *cached) candidates(kind schema.GroupVersionKind, selector fields.Selector) ([]any, error) {
	store := c.stores[kind]
	if store == nil {
		return nil, nil
	}
	if selector == nil || selector.Empty() {
		return store.List(), nil
	}
	var found []any
	for i, r := range selector.Requirements() {
		field := indexes[r.Field]
		if field == nil {
			return nil, fmt.Errorf("no index by %s", r.Field)
		}
		if i == 0 {
			var err error
			if found, err = store.ByIndex(r.Field, r.Value); err != nil {
				return nil, err
			}
			continue
		}
		var kept []any
		for _, object := range found {
			if field(object) == r.Value {
				kept = append(kept, object)
			}
		}
		found = kept
	}
	return found, nil
}
