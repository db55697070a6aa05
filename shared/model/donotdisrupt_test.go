package model

import "testing"

// F143: do-not-disrupt is true, or a positive duration from the pod's start on; anything else says nothing.
func TestH6F143ReadDoNotDisrupt(t *testing.T) {
	for annotation, want := range map[string]DoNotDisrupt{
		"": {}, "true": {Says: true, Always: true}, "30m": {Says: true, UntilUnix: 1000 + 1800}, "1.5s": {Says: true, UntilUnix: 1002},
		"false": {Invalid: true}, "-5m": {Invalid: true}, "0s": {Invalid: true}, "30": {Invalid: true}, "TRUE": {Invalid: true},
	} {
		if got := ReadDoNotDisrupt(annotation, 1000); got != want {
			t.Errorf("%q: %+v, want %+v", annotation, got, want)
		}
	}
	if s := ReadDoNotDisrupt("30m", 0); !s.Active(1<<40) || s.UntilUnix != 0 {
		t.Errorf("a pod that has not started: %+v", s)
	}
	if s := ReadDoNotDisrupt("30m", 1000); !s.Active(2799) || s.Active(2800) {
		t.Errorf("its end: %+v", s)
	}
}
