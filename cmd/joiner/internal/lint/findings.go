package lint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/input"
	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/admission"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/schema"
	"github.com/joiner-sh/joiner/shared/core/admit"
	"github.com/joiner-sh/joiner/shared/core/overlay"
	"github.com/joiner-sh/joiner/shared/model"
)

// The levels of findings.
const (
	levelError   = "error"   // an API server or the webhook refuses it, or it has no effect at all
	levelWarning = "warning" // it is allowed, and may not be meant
	levelInfo    = "info"    // nothing need be done
)

var levels = []string{levelError, levelWarning, levelInfo}

// finding is what is wrong with an object.
type finding struct {
	Level  string `json:"level"`
	Object string `json:"object"`       // kind and name
	At     string `json:"at,omitempty"` // file and document
	// Reason is that of the condition which the functions write; "" = the finding is of the API server or the webhook
	Reason string `json:"reason,omitempty"`
	model.Finding
}

// linter collects findings.
type linter struct {
	known    admit.Facts
	kinds    schema.Kinds
	findings []finding
}

// ofObject adds what the webhook says of an object.
func (l *linter) ofObject(m *read.Manifest) error {
	group, version, _ := strings.Cut(m.APIVersion, "/")
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: types.UID(m.Name), Name: m.Name, Operation: admissionv1.Create,
			Object: runtime.RawExtension{Raw: m.Text},
			Kind:   metav1.GroupVersionKind{Group: group, Version: version, Kind: m.Kind},
		},
	}
	body, err := json.Marshal(review)
	if err != nil {
		return err
	}
	var refused []model.Finding
	_, err = admission.Handle(context.Background(), body, func(_ context.Context, a model.Admission) model.Verdict {
		verdict := admit.Evaluate(a, l.known)
		refused = verdict.Refusals
		for _, f := range verdict.Refusals {
			l.of(levelError, m, f)
		}
		for _, f := range append(verdict.Warnings, others(a.Reference, verdict)...) {
			level := levelWarning
			if f.Remedy == "" {
				level = levelInfo
			}
			l.of(level, m, f)
		}
		return verdict
	})
	if err != nil {
		return fmt.Errorf("%s: %s %s: %w", m.At, m.Kind, m.Name, err)
	}
	return l.ofSchema(m, refused)
}

// ofSchema adds what the definition of its kind has against an object, but for fields of which the webhook says more.
func (l *linter) ofSchema(m *read.Manifest, refused []model.Finding) error {
	problems, err := l.kinds.Problems(context.Background(), m.APIVersion, m.Kind, m.Text)
	if err != nil {
		return fmt.Errorf("%s: %s %s: %w", m.At, m.Kind, m.Name, err)
	}
	for _, problem := range problems {
		said := slices.ContainsFunc(refused, func(f model.Finding) bool {
			return strings.HasPrefix(problem.Field, f.Field) ||
				problem.Field != "spec" && strings.HasPrefix(f.Field, problem.Field)
		})
		if !said {
			l.of(levelError, m, model.Finding{Field: problem.Field, Message: problem.ErrorBody()})
		}
	}
	return nil
}

// others says of an object with another provider's class that it is not Joiner's.
func others(reference string, verdict model.Verdict) []model.Finding {
	if reference == "" || len(verdict.Warnings) > 0 {
		return nil
	}
	return []model.Finding{{Field: "nodeClassRef", Value: reference,
		Message: "it is a class of another provider: Joiner ignores the object"}}
}

// ofSnapshot adds what the functions would say in conditions of NodeOverlays and CapacityBuffers.
func (l *linter) ofSnapshot(s *model.Snapshot, offered *input.Offered) {
	catalogs, _ := offered.Catalogs(s, nil)
	problems := overlay.Apply(s.Overlays, s.Pools, catalogs).Problems
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		l.findings = append(l.findings, finding{Level: levelError, Object: "NodeOverlay " + name,
			Reason: problems[name].Reason, Finding: model.ParseFinding(problems[name].Message)})
	}
	for i := range s.Buffers {
		if b := &s.Buffers[i]; b.Problem != "" {
			l.add(levelError, "CapacityBuffer "+b.Namespace+"/"+b.Name, b.Problem)
		}
	}
}

// ofNotes adds what reading has found of pods and workloads.
func (l *linter) ofNotes(notes []string) {
	for _, note := range notes {
		object, text, _ := strings.Cut(note, ": ")
		for _, part := range strings.Split(text, "; ") {
			l.add(levelWarning, object, part)
		}
	}
}

// of adds what the webhook says of an object.
func (l *linter) of(level string, m *read.Manifest, f model.Finding) {
	l.findings = append(l.findings, finding{Level: level, Object: m.Kind + " " + m.Name, At: m.At, Finding: f})
}

func (l *linter) add(level, object, sentence string) {
	l.findings = append(l.findings, finding{Level: level, Object: object, Finding: model.ParseFinding(sentence)})
}

// ofMistakes adds mistakes of the text, and reports whether there is nothing else in an error.
func (l *linter) ofMistakes(err error) bool {
	joined, is := err.(interface{ Unwrap() []error })
	if !is {
		return false
	}
	for _, each := range joined.Unwrap() {
		var problem *read.Problem
		if !errors.As(each, &problem) {
			return false
		}
		object := strings.TrimSpace(problem.Kind + " " + problem.Name)
		l.findings = append(l.findings, finding{Level: levelError, Object: object, At: problem.At.String(),
			Finding: model.Finding{Field: problem.Field, Message: problem.What}})
	}
	return true
}

// sorted returns the findings, errors first, those of a level in the order in which they were found.
func (l *linter) sorted() []finding {
	slices.SortStableFunc(l.findings, func(a, b finding) int {
		return slices.Index(levels, a.Level) - slices.Index(levels, b.Level)
	})
	return l.findings
}

func (l *linter) count(level string) int {
	n := 0
	for i := range l.findings {
		if l.findings[i].Level == level {
			n++
		}
	}
	return n
}
