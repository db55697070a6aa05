package vpccni

import (
	"context"
	"encoding/json"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var policiesResource = schema.GroupVersionResource{Group: "vpcresources.k8s.aws", Version: "v1beta1", Resource: "securitygrouppolicies"}

// policy is a SecurityGroupPolicy.
type policy struct {
	Spec struct {
		PodSelector            *metav1.LabelSelector `json:"podSelector"`
		ServiceAccountSelector *metav1.LabelSelector `json:"serviceAccountSelector"`
		SecurityGroups         struct {
			GroupIDs []string `json:"groupIds"`
		} `json:"securityGroups"`
	} `json:"spec"`
}

// ServeHTTP answers the API server's review of a new pod: it adds a branch interface to what the pod requests, where a SecurityGroupPolicy matches.
func (p *Plugin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	var pod corev1.Pod
	err := json.NewDecoder(r.Body).Decode(&review)
	if err == nil && review.Request != nil {
		err = json.Unmarshal(review.Request.Object.Raw, &pod)
	}
	if err != nil || review.Request == nil || len(pod.Spec.Containers) == 0 {
		http.Error(w, "it is no review of a pod", http.StatusBadRequest)
		return
	}
	p.called.Store(true)
	response := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	matched, err := p.matched(r.Context(), review.Request.Namespace, &pod)
	switch {
	case err != nil:
		response.Allowed, response.Result = false, &metav1.Status{Message: "find the SecurityGroupPolicies of the pod: " + err.Error()}
	case matched:
		response.Patch, err = json.Marshal([]map[string]any{{"op": "add", "path": "/spec/containers/0/resources", "value": withBranch(pod.Spec.Containers[0].Resources)}})
		if err != nil {
			panic(err) // quantities
		}
		kind := admissionv1.PatchTypeJSONPatch
		response.PatchType = &kind
	}
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // a client that is gone needs no answer
}

// withBranch returns resources with one branch interface.
func withBranch(r corev1.ResourceRequirements) corev1.ResourceRequirements {
	out := *r.DeepCopy()
	for _, list := range []*corev1.ResourceList{&out.Limits, &out.Requests} {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		(*list)[BranchInterfaces] = resource.MustParse("1")
	}
	return out
}

// matched reports whether a SecurityGroupPolicy of the namespace matches a pod. Where the kind is not installed none does.
func (p *Plugin) matched(ctx context.Context, namespace string, pod *corev1.Pod) (bool, error) {
	if pod.Spec.HostNetwork || pod.Spec.NodeSelector[corev1.LabelOSStable] == "windows" {
		return false, nil
	}
	list, err := p.dynamic.Resource(policiesResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil || len(list.Items) == 0 {
		return false, err
	}
	account, err := p.client.CoreV1().ServiceAccounts(namespace).Get(ctx, pod.Spec.ServiceAccountName, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	for _, item := range list.Items {
		var one policy
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &one); err != nil {
			return false, err
		}
		spec := one.Spec
		if len(spec.SecurityGroups.GroupIDs) > 0 && (spec.PodSelector != nil || spec.ServiceAccountSelector != nil) &&
			selects(spec.PodSelector, pod.Labels) && selects(spec.ServiceAccountSelector, account.Labels) {
			return true, nil
		}
	}
	return false, nil
}

// selects reports whether a selector matches; one that is absent does.
func selects(selector *metav1.LabelSelector, of map[string]string) bool {
	if selector == nil {
		return true
	}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && compiled.Matches(labels.Set(of))
}
