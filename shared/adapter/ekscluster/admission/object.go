package admission

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// admissionOf returns what is asked, and whether it is ours to look at.
func admissionOf(request *admissionv1.AdmissionRequest) (model.Admission, bool) {
	a := model.Admission{Operation: string(request.Operation)}
	now, old := objectOf(request.Object), objectOf(request.OldObject)
	if a.Operation == model.OperationDelete {
		now, old = old, nil
	}
	if now == nil || request.SubResource != "" {
		return a, false
	}
	switch request.Kind.Group + "/" + request.Kind.Kind {
	case apiv1.NodePoolResource.Group + "/" + apiv1.KindNodePool:
		return poolAdmission(a, now, old), true
	case awsv1.EC2NodeClassResource.Group + "/" + awsv1.KindEC2NodeClass:
		class := translate.ClassOf(now)
		a.Class = &class
		if old != nil {
			before := translate.ClassOf(old)
			a.OldClass = &before
		}
		return a, true
	case apiv1.NodeClaimResource.Group + "/" + apiv1.KindNodeClaim:
		return claimAdmission(a, now)
	}
	return a, false
}

// objectOf returns an object of a review, nil where there is none or none that can be read: the API server has
// validated it by its schema before.
func objectOf(raw runtime.RawExtension) *unstructured.Unstructured {
	if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
		return nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw.Raw); err != nil {
		return nil
	}
	return object
}

func poolAdmission(a model.Admission, now, old *unstructured.Unstructured) model.Admission {
	pool, managed := translate.PoolOf(now)
	if !managed {
		if a.Operation != model.OperationDelete {
			a.Reference = reference(now, "spec", "template", "spec", "nodeClassRef")
		}
		return a
	}
	a.Pool, a.Ignored = &pool, datedTaints(now, "spec", "template", "spec")
	if old != nil {
		before, _ := translate.PoolOf(old)
		a.OldPool = &before
	}
	return a
}

// claimAdmission looks at NodeClaims that somebody makes by hand: those that controllers make have an owner, and ours
// our finalizer from the start.
func claimAdmission(a model.Admission, now *unstructured.Unstructured) (model.Admission, bool) {
	if a.Operation != model.OperationCreate || len(now.GetOwnerReferences()) > 0 {
		return a, false
	}
	claim, managed := translate.ClaimOf(now)
	switch {
	case !managed:
		a.Reference = reference(now, "spec", "nodeClassRef")
		return a, true
	case !claim.Manual:
		return a, false
	}
	standalone := translate.StandaloneClaimOf(now)
	a.StandaloneClaim, a.Ignored = &standalone, datedTaints(now, "spec")
	return a, true
}

// datedTaints returns a sentence for each taint that says since when it is there: nodes get it when they join.
func datedTaints(object *unstructured.Unstructured, path ...string) []string {
	var out []string
	for _, list := range []string{"taints", "startupTaints"} {
		at := append(slices.Clone(path), list)
		taints, _, _ := unstructured.NestedSlice(object.Object, at...)
		for i, taint := range taints {
			fields, is := taint.(map[string]any)
			if added, has := fields["timeAdded"]; is && has {
				out = append(out, fmt.Sprintf(
					"%s[%d].timeAdded: %q: has no effect. Remedy: Remove it: nodes get the taint when they join.",
					strings.Join(at, "."), i, fmt.Sprint(added)))
			}
		}
	}
	return out
}

func reference(object *unstructured.Unstructured, path ...string) string {
	part := func(name string) string {
		text, _, _ := unstructured.NestedString(object.Object, append(append([]string{}, path...), name)...)
		return text
	}
	return part("group") + "/" + part("kind") + "/" + part("name")
}
