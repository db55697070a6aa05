package boot

import (
	"errors"
	"testing"
)

func TestSitesAreOpenedAnewForAnotherIdentityOnly(t *testing.T) {
	var sites ClientCache[int]
	opened := 0
	open := func() (int, error) { opened++; return opened, nil }
	for i, step := range []struct {
		cluster, identity string
		want              int
	}{{"web", "a", 1}, {"web", "a", 1}, {"shop", "a", 2}, {"web", "b", 3}, {"shop", "a", 2}} {
		if got, err := sites.Open(step.cluster, step.identity, open); err != nil || got != step.want {
			t.Errorf("step %d: %d %v, want %d", i, got, err, step.want)
		}
	}
	if _, err := sites.Open("web", "c", func() (int, error) { return 0, errors.New("no") }); err == nil {
		t.Error("a failure was kept")
	}
	if got, err := sites.Open("web", "b", open); err != nil || got != 3 {
		t.Errorf("after a failure: %d %v", got, err)
	}
}
