package console

import (
	"slices"
	"testing"
)

func TestThePriceCurveGoesBackByWhatCameAndWent(t *testing.T) {
	changes := []change{{100, 5}, {200, 7}, {250, -7}, {250, -1}, {300, 2}, {10, 99}, {400, 99}}
	// at 350 it costs 20: before 300 two less, before 250 eight more, before 200 seven less, before 100 five less
	want := []PricePoint{{50, 14}, {100, 19}, {200, 26}, {250, 18}, {300, 20}, {350, 20}}
	if got := PriceCurve(350, 50, 20, changes); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestAPriceCurveOfNothingIsFlat(t *testing.T) {
	if got, want := PriceCurve(100, 40, 3, nil), []PricePoint{{40, 3}, {100, 3}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
