package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// MaxBytes is how large a review may be. Objects are at most 1.5 MB in etcd, and ours a few KB.
const MaxBytes = 1 << 20

// An API server cuts warnings off at 256 letters each once all together have more than 4096.
const (
	maxWarning  = 256
	maxWarnings = 16
	maxMessage  = 4096 // of a refusal, bytes
)

// EvaluateFunc evaluates an admission.
type EvaluateFunc func(ctx context.Context, a model.Admission) model.Verdict

// Handle answers a review. Invalid where body is none; Internal where validating it panicked, which is a defect of ours
// and must not end the program.
func Handle(ctx context.Context, body []byte, evaluate EvaluateFunc) (answer []byte, err error) {
	defer func() {
		if what := recover(); what != nil {
			answer, err = nil, fault.New(fault.Internal, "Panic", "evaluate an admission: %v", what)
		}
	}()
	if len(body) > MaxBytes {
		return nil, fault.New(fault.Invalid, "TooLarge", "the review has %d bytes, at most %d are read", len(body),
			MaxBytes)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, fault.Wrap(fault.Invalid, "Malformed", err, "read an AdmissionReview")
	}
	request := review.Request
	version := admissionv1.SchemeGroupVersion.String()
	if review.Kind != "AdmissionReview" || review.APIVersion != version || request == nil || request.UID == "" {
		return nil, fault.New(fault.Invalid, "Malformed",
			"this is not an AdmissionReview of %s with a request and its uid", admissionv1.SchemeGroupVersion)
	}
	var verdict model.Verdict
	if a, ours := admissionOf(request); ours {
		verdict = evaluate(ctx, a)
	}
	return json.Marshal(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response(request, verdict)})
}

// response says what the verdict says and nothing else.
func response(request *admissionv1.AdmissionRequest, v model.Verdict) *admissionv1.AdmissionResponse {
	out := &admissionv1.AdmissionResponse{UID: request.UID, Allowed: v.Allowed()}
	for _, w := range v.Warnings[:min(len(v.Warnings), maxWarnings)] {
		out.Warnings = append(out.Warnings, clip(plain(w.String()), maxWarning))
	}
	if more := len(v.Warnings) - maxWarnings; more > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("and %d more", more))
	}
	if out.Allowed {
		return out
	}
	lines := make([]string, len(v.Refusals))
	causes := make([]metav1.StatusCause, len(v.Refusals))
	for i, f := range v.Refusals {
		lines[i] = plain(f.String())
		field := f
		field.Field = ""
		causes[i] = metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: f.Field,
			Message: plain(field.String())}
	}
	out.Result = &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: clip(strings.Join(lines, "; "), maxMessage),
		Details: &metav1.StatusDetails{Name: request.Name, Group: request.Kind.Group, Kind: request.Kind.Kind,
			Causes: causes},
	}
	return out
}

// plain returns text with whatever a header or a terminal might trip over as spaces.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}

// clip returns the text, of a longer one so many letters and a sign that there was more.
func clip(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return string(slices.Concat(letters[:most-1], []rune("…")))
	}
	return text
}
