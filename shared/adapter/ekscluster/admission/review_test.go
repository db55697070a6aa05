package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const poolObject = `{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web"},
 "spec": {"template": {"spec": {"requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
  "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}}}}}`

const claimObject = `{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "one"},
 "spec": {"requirements": [], "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}}}`

const classObject = `{"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"},
 "spec": {"role": "node", "amiSelectorTerms": [{"alias": "al2023@latest"}]}}`

// review returns the body of a review of an object.
func review(operation, group, kind, object, old string) []byte {
	return fmt.Appendf(nil, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1", "kind": {"group": %q, "version": "v1", "kind": %q},
 "name": "web", "operation": %q, "object": %s, "oldObject": %s}}`, group, kind, operation, object, old)
}

// ask answers a review with a verdict, and returns what was asked, nil where nobody was.
func ask(t *testing.T, body []byte, verdict model.Verdict) (*model.Admission, *admissionv1.AdmissionResponse) {
	t.Helper()
	var asked *model.Admission
	answer, err := Handle(t.Context(), body, func(_ context.Context, a model.Admission) model.Verdict {
		asked = &a
		return verdict
	})
	if err != nil {
		t.Fatal(err)
	}
	var out admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &out); err != nil {
		t.Fatal(err)
	}
	if out.Kind != "AdmissionReview" || out.APIVersion != "admission.k8s.io/v1" || out.Response == nil || out.Request != nil || out.Response.UID != "u-1" {
		t.Fatalf("%s", answer)
	}
	return asked, out.Response
}

func TestWhatIsAskedIsTheObjectOldAndNew(t *testing.T) {
	old := strings.Replace(poolObject, "amd64", "arm64", 1)
	a, _ := ask(t, review("UPDATE", "karpenter.sh", "NodePool", poolObject, old), model.Verdict{})
	if a == nil || a.Operation != model.OperationUpdate || a.Pool == nil || a.OldPool == nil || a.Pool.Template.Requirements[0].Values[0] != "amd64" || a.OldPool.Template.Requirements[0].Values[0] != "arm64" {
		t.Errorf("%+v", a)
	}
	if a, _ := ask(t, review("DELETE", "karpenter.sh", "NodePool", "null", poolObject), model.Verdict{}); a == nil || a.Pool == nil || a.Pool.Name != "web" || a.OldPool != nil {
		t.Errorf("%+v", a)
	}
	if a, _ := ask(t, review("CREATE", "karpenter.k8s.aws", "EC2NodeClass", classObject, "null"), model.Verdict{}); a == nil || a.Class == nil || a.Class.Images[0].Alias != "al2023@latest" || a.OldClass != nil {
		t.Errorf("%+v", a)
	}
	if a, _ := ask(t, review("CREATE", "karpenter.sh", "NodeClaim", claimObject, "null"), model.Verdict{}); a == nil || a.StandaloneClaim == nil || a.StandaloneClaim.Template.ClassName != "default" {
		t.Errorf("%+v", a)
	}
}

func TestWhatIsNotOursIsAllowedWithoutAWord(t *testing.T) {
	all := model.Verdict{Refusals: []model.Finding{{Message: "no"}}}
	owned := strings.Replace(claimObject, `{"name": "one"}`, `{"name": "one", "ownerReferences": [{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": "web", "uid": "1"}]}`, 1)
	held := strings.Replace(claimObject, `{"name": "one"}`, `{"name": "one", "finalizers": ["karpenter.sh/termination"], "labels": {"karpenter.sh/nodepool": "web", "karpenter.k8s.aws/ec2nodeclass": "default"}}`, 1)
	status := bytes.Replace(review("UPDATE", "karpenter.sh", "NodePool", poolObject, poolObject), []byte(`"name": "web", "operation"`), []byte(`"subResource": "status", "operation"`), 1)
	for name, body := range map[string][]byte{
		"another kind":                review("CREATE", "apps", "Deployment", poolObject, "null"),
		"a NodeClaim with an owner":   review("CREATE", "karpenter.sh", "NodeClaim", owned, "null"),
		"a NodeClaim of ours":         review("CREATE", "karpenter.sh", "NodeClaim", held, "null"),
		"a NodeClaim that is changed": review("UPDATE", "karpenter.sh", "NodeClaim", claimObject, claimObject),
		"a status":                    status,
		"no object":                   review("CREATE", "karpenter.sh", "NodePool", "null", "null"),
		"an object without a kind":    review("CREATE", "karpenter.sh", "NodePool", "{}", "null"),
	} {
		if asked, answer := ask(t, body, all); asked != nil || !answer.Allowed {
			t.Errorf("%s: asked %+v, answered %+v", name, asked, answer)
		}
	}
	others := strings.Replace(poolObject, "karpenter.k8s.aws", "karpenter.azure.com", 1)
	if asked, _ := ask(t, review("CREATE", "karpenter.sh", "NodePool", others, "null"), model.Verdict{}); asked == nil || asked.Pool != nil || asked.Reference != "karpenter.azure.com/EC2NodeClass/default" {
		t.Errorf("%+v", asked)
	}
}

func TestARefusalIsAnInvalidStatusWithItsFields(t *testing.T) {
	_, answer := ask(t, review("CREATE", "karpenter.sh", "NodePool", poolObject, "null"), model.Verdict{
		Refusals: []model.Finding{{Field: "spec.a", Value: "x\ny", Message: "wrong", Remedy: "Right it."}, {Field: "spec.b", Message: "wrong too"}},
		Warnings: []model.Finding{{Field: "spec.c", Message: strings.Repeat("ü", 300)}, {Message: "bell\a and\r\nline"}},
	})
	if answer.Allowed || answer.Result.Code != http.StatusUnprocessableEntity || answer.Result.Message != `spec.a: "x\ny": wrong. Remedy: Right it.; spec.b: wrong too` {
		t.Errorf("%+v", answer.Result)
	}
	if causes := answer.Result.Details.Causes; len(causes) != 2 || causes[0].Field != "spec.a" || causes[0].Message != `"x\ny": wrong. Remedy: Right it.` || causes[1].Field != "spec.b" {
		t.Errorf("%+v", causes)
	}
	if n := utf8.RuneCountInString(answer.Warnings[0]); n != 256 || answer.Warnings[1] != "bell  and  line" {
		t.Errorf("%d letters, %q", n, answer.Warnings)
	}
	many := make([]model.Finding, 40)
	if _, answer := ask(t, review("CREATE", "karpenter.sh", "NodePool", poolObject, "null"), model.Verdict{Warnings: many}); len(answer.Warnings) != maxWarnings+1 || answer.Warnings[maxWarnings] != "and 24 more" || !answer.Allowed {
		t.Errorf("%q", answer.Warnings)
	}
}

func TestWhatIsNoReviewIsAnError(t *testing.T) {
	never := func(context.Context, model.Admission) model.Verdict { t.Error("judged"); return model.Verdict{} }
	for body, status := range map[string]int{
		"": http.StatusBadRequest, "null": http.StatusBadRequest, "[]": http.StatusBadRequest, "{}": http.StatusBadRequest,
		`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}`:                                                   http.StatusBadRequest,
		`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {}}`:                                    http.StatusBadRequest,
		`{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "request": {"uid": "1"}}`:                     http.StatusBadRequest,
		`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": ` + strings.Repeat(" ", MaxBytes) + `}`: http.StatusRequestEntityTooLarge,
	} {
		var reported error
		recorder := httptest.NewRecorder()
		Handler(never, func(err error) { reported = err }).ServeHTTP(recorder, httptest.NewRequest("POST", "/admit", strings.NewReader(body)))
		if recorder.Code != status || status == http.StatusBadRequest && !fault.Is(reported, fault.Invalid) {
			t.Errorf("%.80s: %d, %v", body, recorder.Code, reported)
		}
	}
	recorder, panics := httptest.NewRecorder(), func(context.Context, model.Admission) model.Verdict { panic("x") }
	Handler(panics, nil).ServeHTTP(recorder, httptest.NewRequest("POST", "/admit", bytes.NewReader(review("CREATE", "karpenter.sh", "NodePool", poolObject, "null"))))
	if recorder.Code != http.StatusInternalServerError || strings.Contains(recorder.Body.String(), "x") {
		t.Errorf("after a panic: %d %s", recorder.Code, recorder.Body)
	}
}

func TestOfTooManyReviewsAtOnceSomeAreTurnedAway(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{}, 10)
	handler := Handler(func(context.Context, model.Admission) model.Verdict {
		held <- struct{}{}
		<-hold
		return model.Verdict{}
	}, nil)
	codes := make(chan int)
	post := func() {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest("POST", "/admit", bytes.NewReader(review("CREATE", "karpenter.sh", "NodePool", poolObject, "null"))))
		codes <- recorder.Code
	}
	for range atOnce {
		go post()
	}
	for range atOnce {
		<-held
	}
	go post()
	if code := <-codes; code != http.StatusTooManyRequests {
		t.Errorf("one more than there is room for: %d", code)
	}
	close(hold)
	for range atOnce {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("%d", code)
		}
	}
	go post()
	if code := <-codes; code != http.StatusOK {
		t.Errorf("after the others: %d", code)
	}
}

// Whatever is posted, the answer is an error or a review with the request's uid, and nobody panics on the way.
func FuzzReview(f *testing.F) {
	for _, body := range [][]byte{
		review("CREATE", "karpenter.sh", "NodePool", poolObject, "null"), review("UPDATE", "karpenter.sh", "NodePool", poolObject, poolObject),
		review("DELETE", "karpenter.k8s.aws", "EC2NodeClass", "null", classObject), review("CREATE", "karpenter.sh", "NodeClaim", claimObject, "null"),
		review("CREATE", "karpenter.sh", "NodePool", `{"kind": "NodePool", "spec": {"limits": {"cpu": {}}, "template": 7}}`, "[]"),
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		answer, err := Handle(t.Context(), body, func(_ context.Context, a model.Admission) model.Verdict {
			if (a.Pool != nil) == (a.Class != nil) && a.Pool != nil {
				t.Error("both a pool and a class")
			}
			return model.Verdict{}
		})
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		var asked, reported admissionv1.AdmissionReview
		if json.Unmarshal(body, &asked) != nil || json.Unmarshal(answer, &reported) != nil || reported.Response == nil || reported.Response.UID != asked.Request.UID || !reported.Response.Allowed {
			t.Errorf("%q: %s", body, answer)
		}
	})
}
