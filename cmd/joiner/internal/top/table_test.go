package top

import "testing"

// U34: ages are as kubectl writes them.
func TestU34AgesAreThoseOfKubectl(t *testing.T) {
	for seconds, want := range map[int64]string{
		-1: "-", 0: "0s", 119: "119s", 125: "2m5s", 600: "10m", 3*3600 + 120: "3h2m", 9 * 3600: "9h",
		49 * 3600: "2d1h", 30 * 86400: "30d", 3 * 365 * 86400: "3y",
	} {
		if got := age(1_780_000_000, 1_780_000_000-seconds); got != want {
			t.Errorf("%d seconds: %q, want %q", seconds, got, want)
		}
	}
	if got := age(1_780_000_000, 0); got != "-" {
		t.Errorf("of what has no time: %q", got)
	}
}
