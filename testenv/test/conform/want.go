package conform

import (
	"errors"

	"github.com/aws/smithy-go"
)

// wantCode fails the case unless err is an API error with this code.
func wantCode(t T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) {
		t.Errorf("got error %v, want code %s", err, code)
		return
	}
	if api.ErrorCode() != code {
		t.Errorf("got code %s (%s), want %s", api.ErrorCode(), api.ErrorMessage(), code)
	}
}

// wantType fails the case unless err is the modeled error E.
func wantType[E error](t T, err error) {
	t.Helper()
	var want E
	if !errors.As(err, &want) {
		t.Errorf("got error %v, want a %T", err, want)
	}
}
