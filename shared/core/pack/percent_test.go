package pack

import (
	"math"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// H10: how much more a plan may cost is one comparison, which also holds for prices that a product would overflow.
func TestH10WithinPercentComparesPrices(t *testing.T) {
	const most = model.MicroUSD(math.MaxInt64 / 200)
	for _, c := range []struct {
		price, other model.MicroUSD
		want         bool
	}{
		{1_000_000, 1_000_000, true}, {1_050_000, 1_000_000, true}, {1_051_000, 1_000_000, false},
		{900_000, 1_000_000, true},
		{0, 0, true}, {most, most, true}, {most, most / 2, false},
	} {
		if got := withinPercent(c.price, c.other, preferencePremium); got != c.want {
			t.Errorf("%d is within %d%% of %d: %t, want %t", c.price, preferencePremium, c.other, got, c.want)
		}
	}
}
