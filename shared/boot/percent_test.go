package boot

import (
	"strings"
	"testing"
)

// M79, M104: a percentage is a whole number from 1 to 100, and anything else is refused with a remedy.
func TestM79Percentages(t *testing.T) {
	for text, want := range map[string]Percent{"1": 1, "40": 40, "100%": 100} {
		var p Percent
		if err := p.UnmarshalText([]byte(text)); err != nil || p != want {
			t.Errorf("%q: %d, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "0", "101", "-5", "0.2", "%", "many"} {
		var p Percent
		if err := p.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "such as 40") {
			t.Errorf("%q: %d, %v", text, p, err)
		}
	}
}
