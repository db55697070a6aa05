package ekscluster

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestF110EvictionKeepsToABudgetAndSaysWhich(t *testing.T) {
	c, node := connectAs(t, collectorRole), unique("budgeted")
	createNode(t, node)
	app := unique("web")
	of := func(p *corev1.Pod) { p.Labels["app"] = app }
	first, second := podOn(t, node, "web", of), podOn(t, node, "web", of)
	name := budget(t, "least-two", app, 2, 2)

	err := c.Evict(t.Context(), refOf(first))
	if !fault.Is(err, fault.Throttled) || fault.CodeOf(err) != CodeDisruptionBudget || !strings.Contains(err.Error(), "budget "+name+" needs 2 healthy pods and has 2") {
		t.Errorf("got %v", err)
	}
	if readPod(t, first.Name).DeletionTimestamp != nil {
		t.Error("it was evicted all the same")
	}

	// One more may leave: the first does, and only that.
	lower := []byte(`{"spec":{"minAvailable":1}}`)
	if _, err := admin(t).PolicyV1().PodDisruptionBudgets("default").Patch(t.Context(), name, types.MergePatchType, lower, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the budget allows one", func() error { return c.Evict(t.Context(), refOf(first)) })
	if readPod(t, first.Name).DeletionTimestamp == nil {
		t.Error("it was not evicted")
	}
	if err := c.Evict(t.Context(), refOf(second)); fault.CodeOf(err) != CodeDisruptionBudget || !fault.Is(err, fault.Throttled) {
		t.Errorf("the second: %v", err)
	}
	// Asked again, one that is ending is no news and takes nothing of the budget.
	if err := c.Evict(t.Context(), refOf(first)); err != nil {
		t.Errorf("the first once more: %v", err)
	}
}

func TestEvictLetsEndedPodsGoWhateverABudgetSays(t *testing.T) {
	c, node := connectAs(t, collectorRole), unique("ended")
	createNode(t, node)
	pod := podOn(t, node, "job", nil)
	budget(t, "all", pod.Labels["app"], 1, 1)
	setPhase(t, pod, corev1.PodSucceeded)
	if err := c.Evict(t.Context(), refOf(pod)); err != nil {
		t.Error(err)
	}
	if _, err := admin(t).CoreV1().Pods("default").Get(t.Context(), pod.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is there still: %v", err)
	}
}

func TestS34R27TwoBudgetsOfOnePodAreNamedBoth(t *testing.T) {
	c, node := connectAs(t, collectorRole), unique("twice")
	createNode(t, node)
	pod := podOn(t, node, "web", nil)
	a, b := budget(t, "a", pod.Labels["app"], 0, 1), budget(t, "b", pod.Labels["app"], 0, 1)
	for range 2 {
		err := c.Evict(t.Context(), refOf(pod))
		if !fault.Is(err, fault.Invalid) || fault.CodeOf(err) != CodeTooManyBudgets || !strings.Contains(err.Error(), a+", "+b) {
			t.Errorf("got %v", err)
		}
	}
	if readPod(t, pod.Name).DeletionTimestamp != nil {
		t.Error("it was evicted all the same")
	}
	// At a deadline it leaves by deletion, which no budget names.
	if err := c.Delete(t.Context(), refOf(pod), 7); err != nil {
		t.Fatal(err)
	}
	if got := readPod(t, pod.Name); got.DeletionGracePeriodSeconds == nil || *got.DeletionGracePeriodSeconds != 7 {
		t.Errorf("grace %v", got.DeletionGracePeriodSeconds)
	}
}

func TestS13R29EvictionAndDeletionSpareThePodThatCameAfter(t *testing.T) {
	c, node := connectAs(t, collectorRole), unique("recreated")
	createNode(t, node)
	pod := podOn(t, node, "db", nil)
	grace := int64(0)
	if err := admin(t).CoreV1().Pods("default").Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
		t.Fatal(err)
	}
	for what, try := range map[string]func() error{
		"evict": func() error { return c.Evict(t.Context(), refOf(pod)) }, "delete": func() error { return c.Delete(t.Context(), refOf(pod), 1) },
	} {
		if err := try(); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s what is gone: %v, want NotFound", what, err)
		}
	}
	podOn(t, node, "x", func(p *corev1.Pod) { p.Name = pod.Name })
	for what, try := range map[string]func() error{
		"evict": func() error { return c.Evict(t.Context(), refOf(pod)) }, "delete": func() error { return c.Delete(t.Context(), refOf(pod), 1) },
	} {
		if err := try(); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s the pod before: %v, want Conflict", what, err)
		}
	}
	if got := readPod(t, pod.Name); got.UID == pod.UID || got.DeletionTimestamp != nil {
		t.Errorf("the pod that came after: %v", got.ObjectMeta)
	}
	none := model.PodRef{Namespace: "default", Name: pod.Name}
	if err := c.Evict(t.Context(), none); !fault.Is(err, fault.Invalid) {
		t.Errorf("evict without a UID: %v, want Invalid", err)
	}
	if err := c.Delete(t.Context(), none, 1); !fault.Is(err, fault.Invalid) {
		t.Errorf("delete without a UID: %v, want Invalid", err)
	}
}

func TestS14DeletionAlwaysGivesASecondAtLeast(t *testing.T) {
	c, node := connectAs(t, collectorRole), unique("graceful")
	createNode(t, node)
	pod := podOn(t, node, "db", func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr(int64(300)) })
	for _, grace := range []int64{0, -1, -3600} {
		if err := c.Delete(t.Context(), refOf(pod), grace); !fault.Is(err, fault.Invalid) {
			t.Errorf("a grace of %d s: %v, want Invalid", grace, err)
		}
	}
	if readPod(t, pod.Name).DeletionTimestamp != nil {
		t.Fatal("it was deleted")
	}
	for _, step := range []struct{ asked, want int64 }{{300, 300}, {600, 300}, {20, 20}, {30, 20}, {1, 1}} {
		if err := c.Delete(t.Context(), refOf(pod), step.asked); err != nil {
			t.Fatalf("a grace of %d s: %v", step.asked, err)
		}
		if got := readPod(t, pod.Name); *got.DeletionGracePeriodSeconds != step.want {
			t.Errorf("asked for %d s, it ends with %d s, want %d s", step.asked, *got.DeletionGracePeriodSeconds, step.want)
		}
	}
}

// M51: a server that is busy refuses by its own flow control, without a word of budgets.
func TestEvictTellsABusyServerFromABudget(t *testing.T) {
	c, namespace := connectAs(t, collectorRole), unique("busy")
	apply(t, `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: %[1]s}
spec: {type: Limited, limited: {nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: %[1]s}
spec:
  matchingPrecedence: 10
  priorityLevelConfiguration: {name: %[1]s}
  rules:
    - subjects: [{kind: Group, group: {name: "joiner:interruption"}}]
      resourceRules: [{apiGroups: [""], resources: [pods/eviction, pods], verbs: [create, delete], namespaces: [%[1]s]}]
`, namespace)
	pod := model.PodRef{Namespace: namespace, Name: "web", UID: "33333333-0000-4000-8000-000000000000"}
	// Even a level without a seat serves one at a time: whoever comes beside that is refused.
	beside := func(ask func() error) (refused error) {
		errs := make(chan error, 40)
		for range cap(errs) {
			go func() { errs <- ask() }()
		}
		for range cap(errs) {
			if err := <-errs; !fault.Is(err, fault.NotFound) {
				refused = err
			}
		}
		return refused
	}
	for what, ask := range map[string]func() error{
		"evict": func() error { return c.Evict(t.Context(), pod) }, "delete": func() error { return c.Delete(t.Context(), pod, 1) },
	} {
		var err error
		eventually(t, "the server is busy", func() error {
			if err = beside(ask); err == nil {
				return errors.New("it serves everybody")
			}
			return nil
		})
		if !fault.Is(err, fault.Throttled) || fault.CodeOf(err) != "TooManyRequests" || !asksToWait.MatchString(err.Error()) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// asksToWait is what an error says of a server that is busy: one second, or more where it is very busy.
var asksToWait = regexp.MustCompile(`asks to wait [1-9][0-9]* s`)

// answering is an API server that gives one answer to everything.
func answering(t *testing.T, code int, header http.Header, status metav1.Status) (*Client, *atomic.Int64) {
	t.Helper()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		for key := range header {
			w.Header().Set(key, header.Get(key))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		if err := json.NewEncoder(w).Encode(status); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL}, "c", "r")
	if err != nil {
		t.Fatal(err)
	}
	return client, &calls
}

// M51: what the API server rarely says.
func TestEvictUnderstandsEveryWayToRefuse(t *testing.T) {
	failure := func(code int32, reason metav1.StatusReason, message string, details *metav1.StatusDetails) metav1.Status {
		return metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: details}
	}
	for name, test := range map[string]struct {
		code   int
		header http.Header
		status metav1.Status
		kind   fault.Kind
		reason string
		says   string
	}{
		"a budget that is being looked at": {
			429, http.Header{"Retry-After": {"10"}}, failure(429, metav1.StatusReasonTooManyRequests, "Cannot evict pod as it would violate the pod's disruption budget.", &metav1.StatusDetails{
				RetryAfterSeconds: 10, Causes: []metav1.StatusCause{{Type: "DisruptionBudget", Message: "The disruption budget b is still being processed by the server."}},
			}), fault.Throttled, CodeDisruptionBudget, "budget b is still",
		},
		"a budget that owes too many": {
			403, nil, failure(403, metav1.StatusReasonForbidden, `poddisruptionbudget.policy "b" is forbidden: DisruptedPods map too big`,
				&metav1.StatusDetails{Name: "b", Group: "policy", Kind: "poddisruptionbudget"}), fault.Throttled, CodeDisruptionBudget, `"b"`,
		},
		"a budget many count on at once": {
			504, http.Header{"Retry-After": {"10"}}, failure(504, metav1.StatusReasonTimeout, `Timeout: couldn't update PodDisruptionBudget "b" due to conflicts`,
				&metav1.StatusDetails{RetryAfterSeconds: 10}), fault.Throttled, CodeDisruptionBudget, `"b"`,
		},
		"a server that may not": {
			403, nil, failure(403, metav1.StatusReasonForbidden, `pods "web" is forbidden: User "x" cannot create resource "pods/eviction"`,
				&metav1.StatusDetails{Name: "web", Kind: "pods"}), fault.Denied, "Forbidden", "cannot create",
		},
		"a refusal in an answer that says that all is well": {
			201, nil, failure(500, "", "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", nil),
			fault.Invalid, CodeTooManyBudgets, "let only one of them",
		},
		"a server that is going down": {
			503, http.Header{"Retry-After": {"5"}}, failure(503, metav1.StatusReasonServiceUnavailable, "shutting down", &metav1.StatusDetails{RetryAfterSeconds: 5}),
			fault.Throttled, "ServiceUnavailable", "asks to wait 5 s",
		},
		"a server that is broken": {500, nil, failure(500, metav1.StatusReasonInternalError, "etcd", nil), fault.Internal, "InternalError", "etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			c, calls := answering(t, test.code, test.header, test.status)
			began := time.Now()
			err := c.Evict(t.Context(), model.PodRef{Namespace: "n", Name: "web", UID: "u"})
			if !fault.Is(err, test.kind) || fault.CodeOf(err) != test.reason || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %s %q: %v", fault.KindOf(err), fault.CodeOf(err), err)
			}
			if calls.Load() > 2 {
				t.Errorf("%d calls", calls.Load())
			}
			asked, _ := strconv.Atoi(test.header.Get("Retry-After"))
			if took := time.Since(began); asked > 0 && took >= time.Duration(asked)*time.Second {
				t.Errorf("it took %s, as if somebody had waited the %d s in there", took, asked)
			}
		})
	}
}
