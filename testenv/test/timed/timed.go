// Package timed evaluates how long something took by the wall clock, which says as much of the machine as of the program: tests log it, and
// fail over it only where somebody measures on a quiet machine, by `make timed`.
package timed

import (
	"os"
	"testing"
	"time"
)

// Asked reports whether times are to be evaluated: JOINER_TIMED is set.
func Asked() bool { return os.Getenv("JOINER_TIMED") != "" }

// Within logs how long something took, and fails the test where that is more than most and times are evaluated.
func Within(t testing.TB, what string, took, most time.Duration) {
	t.Helper()
	if Asked() && took > most {
		t.Errorf("%s: %s, want at most %s", what, took.Round(time.Millisecond), most)
		return
	}
	t.Logf("%s: %s (by a quiet machine at most %s)", what, took.Round(time.Millisecond), most)
}
