package ekscluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// Installed is what is in a cluster of the chart, as far as versions go.
type Installed struct {
	// Schemas are those of the definitions that were asked for, by the definition's name, then by version. A definition
	// that is not there is absent.
	Schemas map[string]map[string]any
	// Going are the names of those that are being deleted.
	Going []string
	// Chart is the version of the program that the watcher's Deployment says it runs; "" where there is no Deployment.
	Chart string
}

// Installed reads definitions by name, and the watcher's Deployment. It takes permissions that functions do not have.
func (c Reader) Installed(ctx context.Context, names []string, namespace, watcher string) (Installed, error) {
	out := Installed{Schemas: map[string]map[string]any{}}
	for _, name := range names {
		object, err := c.custom.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return out, translateError(err, "read definition %s", name)
		}
		if object.GetDeletionTimestamp() != nil {
			out.Going = append(out.Going, name)
		}
		out.Schemas[name] = schemasOf(object.Object)
	}
	deployment, err := c.custom.Resource(deployments).Namespace(namespace).Get(ctx, watcher, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return out, nil
	}
	if err != nil {
		return out, translateError(err, "read Deployment %s/%s", namespace, watcher)
	}
	out.Chart = deployment.GetLabels()["app.kubernetes.io/version"]
	return out, nil
}

// schemasOf are a definition's schemas by version.
func schemasOf(definition map[string]any) map[string]any {
	out := map[string]any{}
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	for _, version := range versions {
		if v, is := version.(map[string]any); is {
			name, _ := v["name"].(string)
			out[name] = v["schema"]
		}
	}
	return out
}
