package translate

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// PoolOf returns the NodePool an untyped object is, and whether it is ours to look at. One that cannot be read, as its
// definition in the cluster may be older or newer, is a pool that is Invalid.
func PoolOf(object *unstructured.Unstructured) (pool model.Pool, managed bool) {
	var typed apiv1.NodePool
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed); err != nil {
		group, _, _ := unstructured.NestedString(object.Object, "spec", "template", "spec", "nodeClassRef", "group")
		kind, _, _ := unstructured.NestedString(object.Object, "spec", "template", "spec", "nodeClassRef", "kind")
		return model.Pool{
			Name: object.GetName(), UID: string(object.GetUID()), Generation: object.GetGeneration(),
			DeletedUnix: unix(object.GetDeletionTimestamp()), Invalid: []string{cannotBeRead(err)},
		}, Managed(apiv1.NodeClassReference{Group: group, Kind: kind})
	}
	return Pool(&typed), Managed(typed.Spec.Template.Spec.NodeClassRef)
}

// ClassOf returns the EC2NodeClass an untyped object is. One that cannot be read is a class that launches nothing.
func ClassOf(object *unstructured.Unstructured) model.Class {
	var typed awsv1.EC2NodeClass
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &typed); err != nil {
		return model.Class{
			Name: object.GetName(), UID: string(object.GetUID()), Generation: object.GetGeneration(),
			DeletedUnix: unix(object.GetDeletionTimestamp()), Unsupported: []string{cannotBeRead(err)},
		}
	}
	return Class(&typed)
}

// ClaimOf returns an untyped NodeClaim as an object that is there, and whether it is ours to look at.
func ClaimOf(object *unstructured.Unstructured) (claim model.Object, managed bool) {
	group, _, _ := unstructured.NestedString(object.Object, "spec", "nodeClassRef", "group")
	kind, _, _ := unstructured.NestedString(object.Object, "spec", "nodeClassRef", "kind")
	providerID, _, _ := unstructured.NestedString(object.Object, "status", "providerID")
	claim = claimObject(object, providerID)
	claim.Quiet = slices.ContainsFunc(conditionsTrue(object),
		func(c map[string]any) bool { return c["type"] == apiv1.ConditionConsolidatable })
	if at, _, _ := unstructured.NestedString(object.Object, "status", "lastPodEventTime"); at != "" {
		if shown, err := time.Parse(time.RFC3339, at); err == nil {
			claim.PodEventUnix = max(0, shown.Unix())
		}
	}
	return claim, Managed(apiv1.NodeClassReference{Group: group, Kind: kind})
}

// ClaimShown returns what an untyped NodeClaim shows beyond that it is there.
func ClaimShown(object *unstructured.Unstructured) model.ClaimShown {
	labels := object.GetLabels()
	shown := model.ClaimShown{
		Pool: labels[model.LabelNodePool], Zone: labels[model.LabelZone], CapacityType: labels[model.LabelCapacityType],
		MinValuesRelaxed: object.GetAnnotations()[model.AnnotationMinValuesRelaxed] == "true",
	}
	shown.ImageID, _, _ = unstructured.NestedString(object.Object, "status", "imageID")
	shown.NodeName, _, _ = unstructured.NestedString(object.Object, "status", "nodeName")
	for _, condition := range conditionsTrue(object) {
		switch condition["type"] {
		case apiv1.ConditionDrifted:
			shown.Drifted = true
		case apiv1.ConditionDrained:
			shown.Drained = true
		case apiv1.ConditionDisruptionReason:
			shown.DisruptionReason, _ = condition["reason"].(string)
			shown.DisruptionMessage, _ = condition["message"].(string)
		}
	}
	return shown
}

// Conditions returns the conditions that an untyped object shows.
func Conditions(object *unstructured.Unstructured) (out []model.ConditionShown) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		condition, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		text := func(field string) string { value, _ := condition[field].(string); return value }
		shown := model.ConditionShown{Type: text("type"), Status: text("status"), Reason: text("reason")}
		if since, err := time.Parse(time.RFC3339, text("lastTransitionTime")); err == nil {
			shown.SinceUnix = max(0, since.Unix())
		}
		out = append(out, shown)
	}
	return out
}

// conditionsTrue returns the conditions of an untyped object whose status is True.
func conditionsTrue(object *unstructured.Unstructured) (out []map[string]any) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if condition, ok := entry.(map[string]any); ok && condition["status"] == string(metav1.ConditionTrue) {
			out = append(out, condition)
		}
	}
	return out
}

// claimObject returns a NodeClaim as an object that is there: without our finalizer or the label of its class it is
// bare, and without an instance and without a NodePool, or our finalizer, which those we make have from the start,
// somebody made it to have one launched.
func claimObject(object metav1.Object, providerID string) model.Object {
	out := Object(object)
	labels := object.GetLabels()
	held := slices.Contains(object.GetFinalizers(), model.Finalizer)
	out.Bare = !held || labels[model.LabelNodeClass] == ""
	out.Manual = providerID == "" && (!held || labels[model.LabelNodePool] == "")
	return out
}

func cannotBeRead(err error) string {
	return fmt.Sprintf(
		"spec: cannot be read: %v. Remedy: Apply the CustomResourceDefinitions of this release and correct the object.",
		err)
}
