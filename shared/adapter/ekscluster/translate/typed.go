package translate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/v1alpha1"
	"github.com/joiner-sh/joiner/shared/api/wellknown"
	"github.com/joiner-sh/joiner/shared/fault"
)

// kinds are the kinds of Kubernetes itself, and of its autoscalers, that are known, whatever their version.
var kinds = map[schema.GroupKind]func() any{
	{Kind: "Pod"}:                   func() any { return &corev1.Pod{} },
	{Kind: "Node"}:                  func() any { return &corev1.Node{} },
	{Kind: "Namespace"}:             func() any { return &corev1.Namespace{} },
	{Kind: "Service"}:               func() any { return &corev1.Service{} },
	{Kind: "ReplicationController"}: func() any { return &corev1.ReplicationController{} },
	{Kind: "PersistentVolumeClaim"}: func() any { return &corev1.PersistentVolumeClaim{} },
	{Kind: "PersistentVolume"}:      func() any { return &corev1.PersistentVolume{} },

	{Group: appsv1.GroupName, Kind: "DaemonSet"}:             func() any { return &appsv1.DaemonSet{} },
	{Group: appsv1.GroupName, Kind: "ReplicaSet"}:            func() any { return &appsv1.ReplicaSet{} },
	{Group: appsv1.GroupName, Kind: "StatefulSet"}:           func() any { return &appsv1.StatefulSet{} },
	{Group: appsv1.GroupName, Kind: "Deployment"}:            func() any { return &appsv1.Deployment{} },
	{Group: batchv1.GroupName, Kind: "Job"}:                  func() any { return &batchv1.Job{} },
	{Group: batchv1.GroupName, Kind: "CronJob"}:              func() any { return &batchv1.CronJob{} },
	{Group: policyv1.GroupName, Kind: "PodDisruptionBudget"}: func() any { return &policyv1.PodDisruptionBudget{} },
	{Group: storagev1.GroupName, Kind: "StorageClass"}:       func() any { return &storagev1.StorageClass{} },
	{Group: storagev1.GroupName, Kind: "CSINode"}:            func() any { return &storagev1.CSINode{} },
	{Group: storagev1.GroupName, Kind: "VolumeAttachment"}:   func() any { return &storagev1.VolumeAttachment{} },
	{Group: schedulingv1.GroupName, Kind: "PriorityClass"}:   func() any { return &schedulingv1.PriorityClass{} },
	{Group: nodev1.GroupName, Kind: "RuntimeClass"}:          func() any { return &nodev1.RuntimeClass{} },

	{Kind: "PodTemplate"}: func() any { return &corev1.PodTemplate{} },
	{Group: autoscalingv1beta1.GroupVersion.Group,
		Kind: autoscalingv1beta1.KindCapacityBuffer}: func() any { return &autoscalingv1beta1.CapacityBuffer{} },
}

// AddUnstructured is Add for an object as it is read from a file. It returns whether its kind is known, and, of a known
// kind, Invalid with object, field and cause where it cannot be read; nothing was added then. A pool or a class that
// cannot be read is one that is Invalid or Unsupported, and no error.
func (b *Builder) AddUnstructured(object *unstructured.Unstructured) (known bool, err error) {
	s := &b.snapshot
	kind := object.GroupVersionKind().GroupKind()
	switch kind {
	case schema.GroupKind{Group: wellknown.Group, Kind: apiv1.KindNodePool}:
		if pool, managed := PoolOf(object); managed {
			s.Pools = append(s.Pools, pool)
		}
		return true, nil
	case schema.GroupKind{Group: wellknown.Group, Kind: apiv1.KindNodeClaim}:
		if claim, managed := ClaimOf(object); managed {
			s.Claims = append(s.Claims, claim)
		}
		return true, nil
	case schema.GroupKind{Group: wellknown.AWSGroup, Kind: awsv1.KindEC2NodeClass}:
		s.Classes = append(s.Classes, ClassOf(object))
		return true, nil
	case schema.GroupKind{Group: wellknown.Group, Kind: v1alpha1.KindNodeOverlay}:
		if object.GetDeletionTimestamp() == nil {
			s.Overlays = append(s.Overlays, OverlayOf(object))
		}
		return true, nil
	}
	if b.addDevices(object) {
		return true, nil
	}
	empty, ok := kinds[kind]
	if !ok {
		return false, nil
	}
	if path, text := hugeQuantity("", object.Object); path != "" {
		return true, fault.New(fault.Invalid, "", "%s %s: %s: %s: is not a valid amount", kind.Kind, nameOf(object),
			path, show(text))
	}
	typed := empty()
	if err := convert(object.Object, typed); err != nil {
		field, value, cause := culprit(object.Object, empty, err)
		return true, fault.New(fault.Invalid, "", "%s %s: %s: %s: %v", kind.Kind, nameOf(object), field, show(value),
			cause)
	}
	return b.Add(typed), nil
}

// addDevices takes the kinds of dynamic resource allocation.
func (b *Builder) addDevices(object *unstructured.Unstructured) bool {
	s := &b.snapshot
	if object.GroupVersionKind().Group != DeviceGroup {
		return false
	}
	switch object.GetKind() {
	case KindResourceClaim:
		s.ResourceClaims = append(s.ResourceClaims, ResourceClaim(object))
	case KindResourceClaimTemplate:
		s.ResourceClaimTemplates = append(s.ResourceClaimTemplates, ResourceClaimTemplate(object))
	case KindDeviceClass:
		s.DeviceClasses = append(s.DeviceClasses, DeviceClass(object))
	case KindResourceSlice:
		s.ResourceSlices = append(s.ResourceSlices, ResourceSlice(object))
	default:
		return false
	}
	return true
}

// addTypedDevices takes the kinds of dynamic resource allocation as their types have them.
func (b *Builder) addTypedDevices(object any) bool {
	kind := ""
	switch object.(type) {
	case *resourceapi.ResourceClaim:
		kind = KindResourceClaim
	case *resourceapi.ResourceClaimTemplate:
		kind = KindResourceClaimTemplate
	case *resourceapi.DeviceClass:
		kind = KindDeviceClass
	case *resourceapi.ResourceSlice:
		kind = KindResourceSlice
	default:
		return false
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return false
	}
	untyped := &unstructured.Unstructured{Object: content}
	untyped.SetGroupVersionKind(resourceapi.SchemeGroupVersion.WithKind(kind))
	return b.addDevices(untyped)
}

func nameOf(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

func convert(object map[string]any, typed any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(object, typed)
}

// show returns a value of a file as a person wrote it, cut to what a message can hold.
func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%T", value)
	}
	if len(text) > 60 {
		return string(text[:60]) + "…"
	}
	return string(text)
}

// culprit returns the path of the first field, by name, that cannot be read, its value, and why. It looks for it by
// reading objects that have but one field of each level, because the converter names none.
func culprit(object map[string]any, empty func() any, cause error) (path string, value any, why error) {
	fails := func(object map[string]any) bool {
		err := convert(object, empty())
		if err != nil {
			cause = err
		}
		return err != nil
	}
	var found any
	var down func(value any, at string, wrap func(any) map[string]any) bool
	down = func(value any, at string, wrap func(any) map[string]any) bool {
		if !fails(wrap(value)) {
			return false
		}
		path, found = at, value
		switch v := value.(type) {
		case map[string]any:
			if fails(wrap(map[string]any{})) {
				return true // not what is in it is wrong, but that it is an object
			}
			for _, key := range slices.Sorted(maps.Keys(v)) {
				if down(v[key], at+"."+key,
					func(inner any) map[string]any { return wrap(map[string]any{key: inner}) }) {
					return true
				}
			}
		case []any:
			if fails(wrap([]any{})) {
				return true
			}
			for i := range v {
				if down(v[i], fmt.Sprintf("%s[%d]", at, i),
					func(inner any) map[string]any { return wrap([]any{inner}) }) {
					return true
				}
			}
		}
		fails(wrap(value)) // so that the cause is that of this very field
		return true
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if down(object[key], key, func(inner any) map[string]any { return map[string]any{key: inner} }) {
			return path, found, cause
		}
	}
	return "object", object, cause
}
