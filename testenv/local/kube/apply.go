package kube

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// fieldManager owns the fields that Apply sets.
const fieldManager = "joiner-testenv"

// Apply applies every object of the manifests as server-side apply does: it
// makes what is absent and changes what differs, whoever owned it. A manifest
// is YAML or JSON of one or more documents, Lists included; a namespaced
// object that names no namespace goes to "default". Namespaces and
// CustomResourceDefinitions come first whatever the order, and objects of a
// new definition wait until the server serves it.
//
// The error names the object that was refused; what came before it stays.
func (c *ControlPlane) Apply(ctx context.Context, manifests ...[]byte) error {
	var objects []*unstructured.Unstructured
	for i, manifest := range manifests {
		decoded, err := decodeManifest(manifest)
		if err != nil {
			return fmt.Errorf("read manifest %d: %w", i+1, err)
		}
		objects = append(objects, decoded...)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return applyOrder(a) - applyOrder(b) })

	a, err := newApplier(c)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := a.apply(ctx, object); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), objectName(object), err)
		}
	}
	return nil
}

func applyOrder(o *unstructured.Unstructured) int {
	switch o.GetKind() {
	case "Namespace":
		return 0
	case "CustomResourceDefinition":
		return 1
	default:
		return 2
	}
}

func objectName(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

// decodeManifest returns the objects of all documents, in order, with Lists
// replaced by their items. Empty documents are left out.
func decodeManifest(manifest []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		var content map[string]any
		if err := yaml.UnmarshalStrict(document, &content); err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if len(content) == 0 {
			continue
		}
		object := &unstructured.Unstructured{Object: content}
		if object.GetKind() == "" || object.GetAPIVersion() == "" {
			return nil, fmt.Errorf("document %d: apiVersion or kind is missing", n)
		}
		if !object.IsList() {
			objects = append(objects, object)
			continue
		}
		err = object.EachListItem(func(item runtime.Object) error {
			objects = append(objects, item.(*unstructured.Unstructured))
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
	}
}

type applier struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func newApplier(c *ControlPlane) (*applier, error) {
	client, err := dynamic.NewForConfig(c.admin)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(c.admin)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	return &applier{client: client, mapper: mapper}, nil
}

func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	mapping, err := a.mapping(ctx, object)
	if err != nil {
		return err
	}
	var resource dynamic.ResourceInterface = a.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if object.GetNamespace() == "" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
		resource = a.client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if _, err := resource.Apply(ctx, object.GetName(), object, options); err != nil {
		return err
	}
	if object.GetKind() != "CustomResourceDefinition" {
		return nil
	}
	return a.awaitServed(ctx, resource, object.GetName())
}

// mapping finds the resource of an object's kind. A kind that is unknown may
// have become known since the server was last asked. The server lists a kind
// some time after its definition was made: mapping waits for a kind that has
// one.
func (a *applier) mapping(ctx context.Context, object *unstructured.Unstructured) (*meta.RESTMapping, error) {
	kind := object.GroupVersionKind()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if !meta.IsNoMatchError(err) {
		return mapping, err
	}
	waited := poll(ctx, nil, func(ctx context.Context) (bool, error) {
		a.mapper.Reset()
		if mapping, err = a.mapper.RESTMapping(kind.GroupKind(), kind.Version); !meta.IsNoMatchError(err) {
			return true, nil
		}
		defined, failed := a.defined(ctx, kind)
		return !defined, failed
	})
	if waited != nil && meta.IsNoMatchError(err) {
		err = fmt.Errorf("wait until the server lists it (%w): %w", err, waited)
	}
	return mapping, err
}

// defined reports whether a definition serves the version of the kind.
func (a *applier) defined(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	definitions, err := a.client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, object := range definitions.Items {
		var d apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &d); err != nil {
			return false, err
		}
		serves := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Served && v.Name == kind.Version
		}
		if d.Spec.Group == kind.Group && d.Spec.Names.Kind == kind.Kind && d.DeletionTimestamp == nil && slices.ContainsFunc(d.Spec.Versions, serves) {
			return true, nil
		}
	}
	return false, nil
}

// awaitServed waits until the definition is established and its resource
// answers, which comes a moment later.
func (a *applier) awaitServed(ctx context.Context, definitions dynamic.ResourceInterface, name string) error {
	var last string
	err := poll(ctx, nil, func(ctx context.Context) (bool, error) {
		object, err := definitions.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &definition); err != nil {
			return false, err
		}
		served, reason := established(&definition)
		last = reason
		if !served {
			return false, nil
		}
		resource := servedResource(&definition)
		answered, err := a.answers(ctx, resource)
		if !answered {
			last = "its resource does not answer yet"
		}
		return answered, err
	})
	if err != nil {
		return fmt.Errorf("wait until it is served (%s): %w", last, err)
	}
	a.mapper.Reset()
	return nil
}

// answersWithin is how long a try to read a new resource may take. The server lays the store of a definition out anew when
// the definition's status changes; a request that came in between may wait for the old one until the server gives it up.
const answersWithin = 3 * time.Second

// answers reports whether a resource can be read. No answer in time is not an error: the next try may get one.
func (a *applier) answers(ctx context.Context, resource schema.GroupVersionResource) (bool, error) {
	try, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	_, err := a.client.Resource(resource).List(try, metav1.ListOptions{Limit: 1})
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case try.Err() != nil, apierrors.IsNotFound(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err):
		return false, nil
	}
	return false, err
}
