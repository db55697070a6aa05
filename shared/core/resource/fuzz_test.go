package resource

import (
	"math"
	"testing"

	quantity "k8s.io/apimachinery/pkg/api/resource"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// FuzzParse: a text is an amount here exactly where it is one to Kubernetes, and then the same, rounded up.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"1", "500m", "1.5Gi", "1e9", "-", "9999999999999999999999Ei", "-1500m", "0.0000001", "1E3", "+2", "1e-100", ".5", "5."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		bounds.Check(t, len(text), func() {
			for _, name := range []string{model.CPU, model.Memory} {
				amount, err := Parse(name, text)
				if err != nil {
					if amount != 0 {
						t.Errorf("Parse(%s, %q) = %d together with %v", name, text, amount, err)
					}
					continue
				}
				theirs, err := quantity.ParseQuantity(text) // what we take has a short exponent, so that this is quick
				if err != nil {
					t.Errorf("Parse(%s, %q) = %d, which is no quantity: %v", name, text, amount, err)
					continue
				}
				want := theirs.Value()
				if name == model.CPU {
					want = theirs.MilliValue()
				}
				exact := theirs.CmpInt64(math.MaxInt64/1001) < 0 && theirs.CmpInt64(math.MinInt64/1001) > 0
				if exact && theirs.Sign() >= 0 && amount != want {
					t.Errorf("Parse(%s, %q) = %d, Kubernetes says %d", name, text, amount, want)
				}
			}
		})
	})
}

// FuzzArithmetic: sums stop at the ends of what 64 bits count and never go round.
func FuzzArithmetic(f *testing.F) {
	f.Add(int64(math.MaxInt64), int64(1))
	f.Add(int64(math.MinInt64), int64(-1))
	f.Add(int64(math.MinInt64), int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, a, b int64) {
		x, y := model.Resources{"r": a}, model.Resources{"r": b}
		if sum := Add(x, y)["r"]; b >= 0 && sum < a || b <= 0 && sum > a {
			t.Errorf("%d + %d = %d", a, b, sum)
		}
		if rest := Sub(x, y)["r"]; b >= 0 && rest > a || b <= 0 && rest < a {
			t.Errorf("%d - %d = %d", a, b, rest)
		}
		if Fits(x, y) != (b >= 0 && a <= b) {
			t.Errorf("%d fits %d: %v", a, b, Fits(x, y))
		}
	})
}
