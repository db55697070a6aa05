package ekscluster

import (
	"context"
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
)

// status is a change to the status of one object of our definitions.
type status[T any] struct {
	resource  schema.GroupVersionResource
	namespace string // empty = it is in none
	name      string
	uid       string         // of the object that was evaluated; empty = whichever is there
	object    *T             // as it was read last; nil = read it
	change    func(*T) error // writes into the status; called again on a newer object where somebody was faster
	of        func(*T) any   // the status
}

// write applies a change and writes what differs, on condition that nobody wrote in between: then it starts again
// from what is there, a few times. An unchanged status is not written. NotFound where the object is gone or another.
func (s *status[T]) write(ctx context.Context, a *api) error {
	return again(func() error { return s.writeOnce(ctx, a) })
}

func (s *status[T]) writeOnce(ctx context.Context, a *api) error {
	if s.object == nil {
		untyped, err := a.custom.Resource(s.resource).Namespace(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
		if err != nil {
			return translateError(err, "read %s %s", s.resource.Resource, s.name)
		}
		if s.uid != "" {
			if err := isAnother(s.resource.Resource, s.name, s.uid, untyped.GetUID()); err != nil {
				return err
			}
		}
		if s.object, err = toTyped[T](untyped); err != nil {
			return err
		}
	}
	object := s.object
	s.object = nil // the next attempt reads
	before, err := statusFields(s.of(object))
	if err != nil {
		return err
	}
	if err := s.change(object); err != nil {
		return err
	}
	after, err := statusFields(s.of(object))
	if err != nil {
		return err
	}
	changed := difference(before, after)
	if len(changed) == 0 {
		return nil
	}
	meta := any(object).(metav1.Object)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": meta.GetUID(), "resourceVersion": meta.GetResourceVersion()},
		"status":   changed,
	})
	if err != nil {
		return fault.Wrap(fault.Internal, "", err, "write status of %s %s", s.resource.Resource, s.name)
	}
	_, err = a.custom.Resource(s.resource).Namespace(s.namespace).Patch(ctx, s.name, types.MergePatchType, patch,
		metav1.PatchOptions{}, "status")
	return translateError(err, "write status of %s %s", s.resource.Resource, s.name)
}

func statusFields(status any) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(status)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "", err, "write status")
	}
	return fields, nil
}

// difference returns the merge patch (RFC 7396) that makes after of before: what is new or different, and null for what
// is gone. It is empty where they are equal.
func difference(before, after map[string]any) map[string]any {
	patch := make(map[string]any)
	for name, value := range after {
		old, ok := before[name]
		if ok && reflect.DeepEqual(old, value) {
			continue
		}
		oldFields, oldIs := old.(map[string]any)
		fields, is := value.(map[string]any)
		if oldIs && is {
			value = difference(oldFields, fields)
		}
		patch[name] = value
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			patch[name] = nil
		}
	}
	return patch
}

// claimStatus is a change to the status of a NodeClaim.
func claimStatus(name, uid string, object *apiv1.NodeClaim,
	change func(*apiv1.NodeClaim) error) *status[apiv1.NodeClaim] {
	return &status[apiv1.NodeClaim]{
		resource: apiv1.NodeClaimResource, name: name, uid: uid, object: object, change: change,
		of: func(o *apiv1.NodeClaim) any { return &o.Status },
	}
}
