package ekscluster

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/joiner-sh/joiner/shared/fault"
)

func TestEveryAnswerOfTheAPIServerHasAKind(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	cases := map[string]struct {
		err  error
		want fault.Kind
	}{
		"400":                     {apierrors.NewBadRequest("x"), fault.Invalid},
		"401":                     {apierrors.NewUnauthorized("x"), fault.Denied},
		"403":                     {apierrors.NewForbidden(pods, "a", errors.New("x")), fault.Denied},
		"404":                     {apierrors.NewNotFound(pods, "a"), fault.NotFound},
		"409":                     {apierrors.NewConflict(pods, "a", errors.New("x")), fault.Conflict},
		"409 exists":              {apierrors.NewAlreadyExists(pods, "a"), fault.Conflict},
		"410":                     {apierrors.NewResourceExpired("x"), fault.Conflict},
		"413":                     {apierrors.NewRequestEntityTooLargeError("x"), fault.Invalid},
		"422":                     {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil), fault.Invalid},
		"429":                     {apierrors.NewTooManyRequests("x", 1), fault.Throttled},
		"500":                     {apierrors.NewInternalError(errors.New("x")), fault.Internal},
		"503":                     {apierrors.NewServiceUnavailable("x"), fault.Internal},
		"504":                     {apierrors.NewTimeoutError("x", 1), fault.Internal},
		"no answer":               {context.DeadlineExceeded, fault.Internal},
		"one that has a kind":     {fault.New(fault.Exhausted, "C", "x"), fault.Exhausted},
		"wrapped, and has a kind": {fmt.Errorf("call: %w", apierrors.NewNotFound(pods, "a")), fault.NotFound},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			got := translateError(tt.err, "read %s", "a")
			if !fault.Is(got, tt.want) || !errors.Is(got, tt.err) {
				t.Errorf("got %v (%s), want %s", got, fault.KindOf(got), tt.want)
			}
		})
	}
	if translateError(nil, "read") != nil {
		t.Error("no error stays none")
	}
}
