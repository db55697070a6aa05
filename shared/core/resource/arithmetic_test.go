package resource

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestFitsComparesEveryName(t *testing.T) {
	have := model.Resources{model.CPU: 1000, model.Memory: 100}
	tests := []struct {
		name string
		want model.Resources
		have model.Resources
		fits bool
	}{
		{"equal", model.Resources{model.CPU: 1000, model.Memory: 100}, have, true},
		{"nothing", nil, have, true},
		{"one too many", model.Resources{model.CPU: 1001}, have, false},
		{"unknown resource", model.Resources{"nvidia.com/gpu": 1}, have, false},
		{"unknown resource at zero", model.Resources{"nvidia.com/gpu": 0}, have, true},
		{"overcommitted elsewhere", model.Resources{model.CPU: 1}, model.Resources{model.CPU: 5, model.Memory: -1}, false},
		{"nothing from nothing", nil, nil, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Fits(test.want, test.have); got != test.fits {
				t.Errorf("Fits(%v, %v) = %v, want %v", test.want, test.have, got, test.fits)
			}
		})
	}
}

func TestShortNamesWhatIsMissingSorted(t *testing.T) {
	got := Short(model.Resources{"memory": 2, "cpu": 2, "pods": 1}, model.Resources{"cpu": 1, "pods": 1})
	if want := []string{"cpu", "memory"}; !slices.Equal(got, want) {
		t.Errorf("Short = %v, want %v", got, want)
	}
}

func amount() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(-5, 5), rapid.Int64(),
		rapid.SampledFrom([]int64{math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1}))
}

// clamp is the arithmetic the package promises: exact, then cut off at the ends of int64.
func clamp(exact *big.Int) int64 {
	if exact.IsInt64() {
		return exact.Int64()
	}
	if exact.Sign() > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}

func TestArithmeticStopsAtTheEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := amount().Draw(t, "x"), amount().Draw(t, "y")
		a, b := big.NewInt(x), big.NewInt(y)
		if got, want := plus(x, y), clamp(new(big.Int).Add(a, b)); got != want {
			t.Errorf("%d + %d = %d, want %d", x, y, got, want)
		}
		if got, want := minus(x, y), clamp(new(big.Int).Sub(a, b)); got != want {
			t.Errorf("%d − %d = %d, want %d", x, y, got, want)
		}
	})
}

func TestArithmeticLeavesItsInputAlone(t *testing.T) {
	a, b := model.Resources{"cpu": 1}, model.Resources{"cpu": 2, "memory": 3}
	for _, result := range []model.Resources{Add(a, b), Sub(a, b), Max(a, b)} {
		result["cpu"] = 99
	}
	if !maps.Equal(a, model.Resources{"cpu": 1}) || !maps.Equal(b, model.Resources{"cpu": 2, "memory": 3}) {
		t.Errorf("inputs changed: %v, %v", a, b)
	}
}
