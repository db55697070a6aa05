package sdkerr

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/joiner-sh/joiner/shared/fault"
)

func denied(code string) fault.Kind {
	if code == "AccessDenied" {
		return fault.Denied
	}
	return fault.Internal
}

func TestWrapAsksTheServiceWhatACodeMeans(t *testing.T) {
	refused := fmt.Errorf("operation: %w", &smithy.GenericAPIError{Code: "AccessDenied", Message: "no"})
	err := Wrap(refused, denied, "read %s", "a")
	if !fault.Is(err, fault.Denied) || fault.CodeOf(err) != "AccessDenied" || !strings.HasPrefix(err.Error(), "read a (AccessDenied)") {
		t.Errorf("got %v", err)
	}
	if err := Wrap(errors.New("broken pipe"), denied, "read"); !fault.Is(err, fault.Internal) || fault.CodeOf(err) != "" {
		t.Errorf("got %v", err)
	}
	if Wrap(nil, denied, "read") != nil || WrapStatus(nil, "read") != nil {
		t.Error("nil does not stay nil")
	}
}

func TestWrapStatus(t *testing.T) {
	for status, want := range map[int]fault.Kind{
		404: fault.NotFound, 403: fault.Denied, 401: fault.Denied, 412: fault.Conflict, 409: fault.Conflict,
		429: fault.Throttled, 503: fault.Throttled, 400: fault.Invalid, 500: fault.Internal,
	} {
		answer := &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
			Err:      &smithy.GenericAPIError{Code: "SlowDown"},
		}}
		if err := WrapStatus(answer, "read"); !fault.Is(err, want) || fault.CodeOf(err) != "SlowDown" {
			t.Errorf("%d: got %v of kind %s, want %s", status, err, fault.KindOf(err), want)
		}
	}
}
