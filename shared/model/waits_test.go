package model

import "testing"

// M91: the times that a NodePool sets for its instances; what has no meaning sets nothing.
func TestM91TimesOfANodePool(t *testing.T) {
	for value, want := range map[string]PoolWaits{
		"40m": {2400, 2400}, "1m": {60, 60}, "2h": {7200, 7200}, "90m30s": {5430, 5430}, "1m0.9s": {60, 60},
		"Never": {0, -1}, "24h": {0, 86400}, "": {}, "59s": {}, "24h1s": {}, "never": {}, "30": {}, "-1h": {},
	} {
		got := WaitsOf(map[string]string{AnnotationJoinWithin: value, AnnotationRepairAfter: value})
		if got != want {
			t.Errorf("%q: %+v, want %+v", value, got, want)
		}
	}
	if (PoolWaits{}).JoinOr(900) != 900 || (PoolWaits{JoinSeconds: 60}).JoinOr(900) != 60 {
		t.Error("a NodePool's own time goes before the region's, and nothing else does")
	}
}
