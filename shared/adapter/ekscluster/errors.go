package ekscluster

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/fault"
)

// translateError turns an answer of the API server into a kind. Nil stays nil, and so does what already has a kind.
func translateError(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return fmt.Errorf(format+": %w", append(args, err)...)
	}
	kind := fault.Internal
	switch reason := apierrors.ReasonForError(err); {
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		kind = fault.Denied
	case apierrors.IsNotFound(err):
		kind = fault.NotFound
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsResourceExpired(err),
		reason == metav1.StatusReasonGone:
		kind = fault.Conflict
	case apierrors.IsTooManyRequests(err):
		kind = fault.Throttled
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsMethodNotSupported(err), apierrors.IsUnsupportedMediaType(err):
		kind = fault.Invalid
	}
	return fault.Wrap(kind, string(apierrors.ReasonForError(err)), err, format, args...)
}
