package fault

import (
	"errors"
	"testing"
)

func TestEachGoesOnAfterAnErrorAndTellsOfAll(t *testing.T) {
	odd, tried := errors.New("odd"), 0
	done, err := Each([]int{1, 2, 3, 4, 5}, func(n int) error {
		tried++
		if n%2 == 1 {
			return odd
		}
		return nil
	})
	if done != 2 || tried != 5 || !errors.Is(err, odd) {
		t.Errorf("%d of %d went well: %v", done, tried, err)
	}
	if done, err := Each([]int{2, 4}, func(int) error { return nil }); done != 2 || err != nil {
		t.Errorf("%d went well: %v", done, err)
	}
}
