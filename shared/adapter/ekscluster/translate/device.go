package translate

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/joiner-sh/joiner/shared/model"
)

// DeviceGroup is the API group of dynamic resource allocation.
const DeviceGroup = "resource.k8s.io"

// The kinds of dynamic resource allocation.
const (
	KindResourceClaim         = "ResourceClaim"
	KindResourceClaimTemplate = "ResourceClaimTemplate"
	KindDeviceClass           = "DeviceClass"
	KindResourceSlice         = "ResourceSlice"
)

// The resources of those kinds, in the version that Kubernetes has had since 1.34.
var (
	ResourceClaims         = deviceResource("resourceclaims")
	ResourceClaimTemplates = deviceResource("resourceclaimtemplates")
	DeviceClasses          = deviceResource("deviceclasses")
	ResourceSlices         = deviceResource("resourceslices")
)

func deviceResource(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: DeviceGroup, Version: "v1", Resource: name}
}

// podClaimAnnotation is on claims that were made for a pod: the entry of its spec.resourceClaims.
const podClaimAnnotation = "resource.kubernetes.io/pod-claim-name"

// podClaims lists the pod's spec.resourceClaims, but for those of which its status says that no claim is needed.
func podClaims(list []corev1.PodResourceClaim, statuses []corev1.PodResourceClaimStatus) []model.PodClaim {
	var out []model.PodClaim
	for i := range list {
		c := &list[i]
		unneeded := func(s corev1.PodResourceClaimStatus) bool { return s.Name == c.Name && s.ResourceClaimName == nil }
		if slices.ContainsFunc(statuses, unneeded) {
			continue
		}
		claim := model.PodClaim{Name: c.Name}
		if c.ResourceClaimName != nil {
			claim.Claim = *c.ResourceClaimName
		}
		if c.ResourceClaimTemplateName != nil {
			claim.Template = *c.ResourceClaimTemplateName
		}
		out = append(out, claim)
	}
	return out
}

// ResourceClaim translates a claim for devices.
func ResourceClaim(object *unstructured.Unstructured) model.ResourceClaim {
	out := model.ResourceClaim{Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID()),
		Spec: partOf(object, "spec"), Allocation: partOf(object, "status", "allocation")}
	if at := object.GetDeletionTimestamp(); at != nil {
		out.DeletedUnix = at.Unix()
	}
	if owner := metav1.GetControllerOf(object); owner != nil && owner.APIVersion == "v1" && owner.Kind == "Pod" {
		out.PodUID, out.PodClaim = string(owner.UID), object.GetAnnotations()[podClaimAnnotation]
	}
	users, _, _ := unstructured.NestedSlice(object.Object, "status", "reservedFor")
	for _, user := range users {
		fields, _ := user.(map[string]any)
		uid, _ := fields["uid"].(string)
		if group, _ := fields["apiGroup"].(string); group != "" || fields["resource"] != "pods" {
			out.Others = true
			continue
		}
		out.ReservedFor = append(out.ReservedFor, uid)
	}
	selector, found, err := unstructured.NestedMap(object.Object, "status", "allocation", "nodeSelector")
	if found && err == nil {
		var where corev1.NodeSelector
		if runtime.DefaultUnstructuredConverter.FromUnstructured(selector, &where) == nil {
			for i := range where.NodeSelectorTerms {
				out.Affinity = append(out.Affinity, nodeTerm(&where.NodeSelectorTerms[i]))
			}
		}
	}
	return out
}

// ResourceClaimTemplate translates what claims are made of.
func ResourceClaimTemplate(object *unstructured.Unstructured) model.ResourceClaimTemplate {
	return model.ResourceClaimTemplate{Namespace: object.GetNamespace(), Name: object.GetName(),
		Spec: partOf(object, "spec", "spec")}
}

// DeviceClass translates a class of devices.
func DeviceClass(object *unstructured.Unstructured) model.DeviceClass {
	created := object.GetCreationTimestamp()
	return model.DeviceClass{Name: object.GetName(), Spec: partOf(object, "spec"), CreatedUnix: max(0, created.Unix())}
}

// ResourceSlice translates some of a driver's devices. Of devices that belong to no single node it keeps the driver.
func ResourceSlice(object *unstructured.Unstructured) model.ResourceSlice {
	text := func(field string) string {
		value, _, _ := unstructured.NestedString(object.Object, "spec", field)
		return value
	}
	out := model.ResourceSlice{Name: object.GetName(), Driver: text("driver"), Node: text("nodeName")}
	if out.Node != "" {
		out.Spec = partOf(object, "spec")
	}
	return out
}

// partOf returns a part of the object as JSON; empty where there is none.
func partOf(object *unstructured.Unstructured, path ...string) string {
	part, found, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	if !found || err != nil || part == nil {
		return ""
	}
	text, err := json.Marshal(part)
	if err != nil {
		return ""
	}
	return string(text)
}
