package bounds

import (
	"fmt"
	"strings"
	"testing"
)

// recorder takes the complaints.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

var kept []byte // keeps the compiler from leaving an allocation out

func TestAnAllocationBeyondTheBoundFails(t *testing.T) {
	r := &recorder{TB: t}
	Check(r, 10, func() { kept = make([]byte, MaxBytes+20*BytesPerByte) })
	if len(r.said) != 1 || !strings.Contains(r.said[0], "an input of 10 bytes made") {
		t.Errorf("got %q", r.said)
	}
}

func TestAnAllocationWithinTheBoundPasses(t *testing.T) {
	r := &recorder{TB: t}
	Check(r, 10, func() { kept = make([]byte, MaxBytes/2) })
	if len(r.said) != 0 {
		t.Errorf("got %q", r.said)
	}
}
