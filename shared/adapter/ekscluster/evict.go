package ekscluster

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Codes of evictions that are refused.
const (
	CodeDisruptionBudget = "DisruptionBudget" // a PodDisruptionBudget forbids it
	CodeTooManyBudgets   = "TooManyBudgets"   // several name the pod
)

// Pods are pods that are to leave or to come.
type Pods struct{ *api }

// Evict asks the Eviction API for a pod to leave, on condition of its UID. Throttled where a PodDisruptionBudget
// forbids it, with the code DisruptionBudget, or where the server is busy, with another; Invalid with the code
// TooManyBudgets where several name the pod, which the API cannot evaluate; NotFound or Conflict where it is gone or
// another. A pod that has ended or is ending leaves whatever a budget says.
func (c Pods) Evict(ctx context.Context, pod model.PodRef) error {
	if pod.UID == "" {
		return fault.New(fault.Invalid, "", "pod %s: it is not evicted without the UID that was evaluated", pod.Key())
	}
	id := uid(pod.UID)
	// The API server asks for ten seconds of patience while it looks at a budget; the client would wait for so long in
	// here, ten times. Whoever calls has a better use for the time.
	result := c.core.PolicyV1().RESTClient().Post().MaxRetries(0).
		AbsPath("/api/v1").Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		Body(&policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &id}},
		}).Do(ctx)
	err := result.Error()
	if err == nil {
		// Some refusals come as a Status that says 500 in an answer that says 201.
		var status metav1.Status
		if result.Into(&status) == nil && status.Status == metav1.StatusFailure {
			err = &apierrors.StatusError{ErrStatus: status}
		}
	}
	return c.evictionError(ctx, pod, err)
}

// evictionError turns an answer of the Eviction API into a kind.
func (c Pods) evictionError(ctx context.Context, pod model.PodRef, err error) error {
	if err == nil {
		return nil
	}
	if budget, message := forbiddenBy(err); budget {
		return fault.New(fault.Throttled, CodeDisruptionBudget, "evict pod %s: %s", pod.Key(), message)
	}
	if severalBudgets(err) {
		return fault.New(fault.Invalid, CodeTooManyBudgets,
			"evict pod %s: more than one PodDisruptionBudget selects it%s, which the Eviction API does not support;"+
				" let only one of them select it",
			pod.Key(), c.budgetsOf(ctx, pod))
	}
	return translateError(busy(err), "evict pod %s of UID %s", pod.Key(), pod.UID)
}

// forbiddenBy reports whether a budget forbids an eviction for now, and what the API server says of it, which names it.
func forbiddenBy(err error) (bool, string) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false, ""
	}
	details, said := status.Status().Details, status.Status().Message
	switch {
	case details == nil:
		return false, ""
	case apierrors.IsTooManyRequests(err):
		for _, cause := range details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause {
				return true, cause.Message
			}
		}
	case apierrors.IsForbidden(err) && strings.HasPrefix(details.Kind, "poddisruptionbudget"):
		return true, said // more evictions are under way than its controller has taken note of
	case apierrors.IsTimeout(err) && strings.Contains(said, "PodDisruptionBudget"):
		return true, said // others counted on it at the same time
	}
	return false, ""
}

// severalBudgets reports whether the API server refuses to evaluate a pod that several budgets name. It says so by
// nothing but its text.
func severalBudgets(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError &&
		strings.Contains(status.Status().Message, "more than one PodDisruptionBudget")
}

// budgetsOf names the budgets that select a pod, as " (a, b)"; nothing where that cannot be found out.
func (c Pods) budgetsOf(ctx context.Context, pod model.PodRef) string {
	object, err := c.core.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	budgets, err := c.core.PolicyV1().PodDisruptionBudgets(pod.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	var names []string
	for i := range budgets.Items {
		selector, err := metav1.LabelSelectorAsSelector(budgets.Items[i].Spec.Selector)
		if err == nil && selector.Matches(labels.Set(object.Labels)) {
			names = append(names, budgets.Items[i].Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return " (" + strings.Join(names, ", ") + ")"
}

// busy adds to the answer of a server that is busy how long it asks for patience, and makes it Throttled where it is
// not known as that.
func busy(err error) error {
	after, asked := apierrors.SuggestsClientDelay(err)
	if !asked {
		return err
	}
	return fault.Wrap(fault.Throttled, string(apierrors.ReasonForError(err)), err, "the API server asks to wait %d s",
		after)
}

// Delete deletes a pod with a grace of so many seconds, ≥ 1, on condition of its UID, whatever budgets say. A shorter
// grace than the one a pod is ending with shortens that, a longer one changes nothing. NotFound or Conflict where it is
// gone or another.
func (c Pods) Delete(ctx context.Context, pod model.PodRef, graceSeconds int64) error {
	if pod.UID == "" {
		return fault.New(fault.Invalid, "", "pod %s: it is not deleted without the UID that was evaluated", pod.Key())
	}
	if graceSeconds < 1 { // 0 takes the pod off the record while its containers may run on
		return fault.New(fault.Invalid, "", "pod %s: a grace period of %d s is too short; use at least 1 s", pod.Key(),
			graceSeconds)
	}
	id := uid(pod.UID)
	err := c.core.CoreV1().RESTClient().Delete().MaxRetries(0).Namespace(pod.Namespace).Resource("pods").Name(pod.Name).
		Body(&metav1.DeleteOptions{GracePeriodSeconds: &graceSeconds,
			Preconditions: &metav1.Preconditions{UID: &id}}).Do(ctx).Error()
	return translateError(busy(err), "delete pod %s of UID %s with a grace period of %d s", pod.Key(), pod.UID,
		graceSeconds)
}
