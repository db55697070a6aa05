package timed

import (
	"testing"
	"time"
)

// evaluated notes whether a test failed.
type evaluated struct {
	testing.TB
	failed, logged bool
}

func (j *evaluated) Helper()               {}
func (j *evaluated) Errorf(string, ...any) { j.failed = true }
func (j *evaluated) Logf(string, ...any)   { j.logged = true }

// TestM49TimesFailNobodyWhoDoesNotMeasure: a test that took too long says so, and fails where times are evaluated alone.
func TestM49TimesFailNobodyWhoDoesNotMeasure(t *testing.T) {
	for _, c := range []struct {
		asked  string
		took   time.Duration
		failed bool
	}{{"", time.Minute, false}, {"1", time.Minute, true}, {"1", time.Second, false}} {
		t.Setenv("JOINER_TIMED", c.asked)
		j := &evaluated{TB: t}
		if Within(j, "it", c.took, 2*time.Second); j.failed != c.failed || j.logged == c.failed {
			t.Errorf("%+v: failed %v, logged %v", c, j.failed, j.logged)
		}
	}
}
