package ekscluster

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/typed"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// api is what all parts of a client share.
type api struct {
	cluster string
	region  string
	core    *typed.Client     // in protobuf, for the kinds of Kubernetes itself
	custom  dynamic.Interface // in JSON, for the kinds of our definitions
	now     func() time.Time
	spread  []model.Spread // of pods that declare none; nil = leave them alone
}

// attempts is how often a write starts again from what somebody else made of the object in between.
const attempts = 4

// again writes until nobody else wrote in between, a few times.
func again(write func() error) error {
	var err error
	for range attempts {
		if err = write(); !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return err
}

// isAnother returns NotFound where the object that is there now is not the one that was evaluated.
func isAnother(kind, name, evaluated string, there types.UID) error {
	if string(there) == evaluated {
		return nil
	}
	return fault.New(fault.NotFound, "", "%s %s of UID %s is gone; there is another of UID %s", kind, name, evaluated,
		there)
}

// patchMeta writes metadata of an object on condition that nobody wrote since it was read. The format says what is
// done.
func (a *api) patchMeta(ctx context.Context, resource schema.GroupVersionResource, object metav1.Object,
	meta map[string]any,
	format string, args ...any) (*unstructured.Unstructured, error) {
	meta["uid"], meta["resourceVersion"] = object.GetUID(), object.GetResourceVersion()
	body := map[string]any{"metadata": meta}
	patch, err := json.Marshal(body)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "", err, format, args...)
	}
	written, err := a.custom.Resource(resource).Patch(ctx, object.GetName(), types.MergePatchType, patch,
		metav1.PatchOptions{})
	return written, translateError(err, format, args...)
}

func uid(text string) types.UID { return types.UID(text) }

func toUntyped(object any) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "", err, "write object")
	}
	return &unstructured.Unstructured{Object: fields}, nil
}

func toTyped[T any](object *unstructured.Unstructured) (*T, error) {
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, out); err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "read %s %s", object.GetKind(), object.GetName())
	}
	return out, nil
}

// gone makes nothing of an object that is not there any more.
func gone(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

const writers = 8

// each calls do for every item with a bound on how many run at once, and returns the first error, in the order of the
// items, after all were tried.
func each[T any](items []T, do func(T) error) error {
	errs := make([]error, len(items))
	free := make(chan struct{}, writers)
	done := make(chan struct{})
	for i := range items {
		free <- struct{}{}
		go func() {
			defer func() { <-free; done <- struct{}{} }()
			errs[i] = do(items[i])
		}()
	}
	for range items {
		<-done
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
