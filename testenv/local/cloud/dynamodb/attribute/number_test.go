package attribute

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNumberIsWrittenInPlainNotation(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "0.000": "0", "007": "7", "+5": "5", ".5": "0.5", "5.": "5",
		"1.50": "1.5", "1e3": "1000", "1E-3": "0.001", "-12.340e1": "-123.4", "100": "100",
		"12345678901234567890123456789012345678": "12345678901234567890123456789012345678",
		"9.9e125":                                "99" + strings.Repeat("0", 124),
		"1e-130":                                 "0." + strings.Repeat("0", 129) + "1",
		"0e999999":                               "0",
	} {
		n, err := ParseNumber(text)
		if err != nil || n.String() != want {
			t.Errorf("ParseNumber(%q) = %v, %v; want %s", text, n, err, want)
		}
	}
}

func TestNumberRefusesWhatTheServiceRefuses(t *testing.T) {
	const tooManyDigits = "Attempting to store more than 38 significant digits in a Number"
	const overflow = "Number overflow. Attempting to store a number with magnitude larger than supported range"
	const underflow = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
	for text, want := range map[string]string{
		"":      "The parameter cannot be converted to a numeric value",
		"b":     "The parameter cannot be converted to a numeric value: b",
		"1 ":    "The parameter cannot be converted to a numeric value: 1 ",
		"1e":    "The parameter cannot be converted to a numeric value: 1e",
		"1e+-2": "The parameter cannot be converted to a numeric value: 1e+-2",
		"--1":   "The parameter cannot be converted to a numeric value: --1",
		"1.2.3": "The parameter cannot be converted to a numeric value: 1.2.3",
		".":     "The parameter cannot be converted to a numeric value: .",
		"NaN":   "The parameter cannot be converted to a numeric value: NaN",
		"123456789012345678901234567890123456789":   tooManyDigits,
		"-1.23456789012345678901234567890123456789": tooManyDigits,
		"1e126":                      overflow,
		"-1e126":                     overflow,
		"1e99999999999999999999999":  overflow,
		"1e-131":                     underflow,
		"1e-99999999999999999999999": underflow,
	} {
		_, err := ParseNumber(text)
		if err == nil || err.Error() != want {
			t.Errorf("ParseNumber(%q) error = %v, want %s", text, err, want)
		}
	}
}

func TestNumberTakes38DigitsWithZerosAround(t *testing.T) {
	n, err := ParseNumber("000" + strings.Repeat("9", 38) + "000")
	if err != nil || n.String() != strings.Repeat("9", 38)+"000" {
		t.Errorf("got %v, %v", n, err)
	}
}

// decimal draws numbers small enough that sums always fit.
func decimal(t *rapid.T, label string) Number {
	mantissa := rapid.Int64Range(-1_000_000_000, 1_000_000_000).Draw(t, label)
	exponent := rapid.IntRange(-8, 8).Draw(t, label+" exponent")
	n, err := ParseNumber(new(big.Int).SetInt64(mantissa).String() + "e" + new(big.Int).SetInt64(int64(exponent)).String())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func rational(t *rapid.T, n Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		t.Fatalf("not a decimal: %s", n)
	}
	return r
}

func TestNumberArithmeticIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := decimal(t, "a"), decimal(t, "b")
		sum, err := a.Add(b)
		if err != nil {
			t.Fatalf("%s + %s: %v", a, b, err)
		}
		want := new(big.Rat).Add(rational(t, a), rational(t, b))
		if rational(t, sum).Cmp(want) != 0 {
			t.Fatalf("%s + %s = %s, want %s", a, b, sum, want)
		}
		if got, want := a.Compare(b), rational(t, a).Cmp(rational(t, b)); (got < 0) != (want < 0) || (got > 0) != (want > 0) {
			t.Fatalf("compare %s with %s = %d, want %d", a, b, got, want)
		}
		if again, err := ParseNumber(a.String()); err != nil || again != a {
			t.Fatalf("%s reads back as %v, %v", a, again, err)
		}
	})
}

func TestNumberSumBeyond38DigitsIsRefused(t *testing.T) {
	big, _ := ParseNumber("1e40")
	small, _ := ParseNumber("1")
	if sum, err := big.Add(small); err == nil {
		t.Errorf("1e40 + 1 = %s, want a refusal", sum)
	}
	if diff, err := big.Add(big.Neg()); err != nil || diff.String() != "0" {
		t.Errorf("1e40 - 1e40 = %v, %v", diff, err)
	}
}

func TestNumberSizeCountsPairsOfDigits(t *testing.T) {
	for text, want := range map[string]int{
		"0": 1, "1": 2, "12": 2, "123": 3, "1234": 3, "-1": 3, "1.2": 3, "100": 2, "10": 2, "0.01": 2, "0.1": 2,
	} {
		n, err := ParseNumber(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Num(n).SizeBytes(); got != want {
			t.Errorf("size of %s = %d, want %d", text, got, want)
		}
	}
}

func TestSecondsDropsTheFractionAndClamps(t *testing.T) {
	for text, want := range map[string]int64{"1700000000.9": 1700000000, "-5": -5, "1e100": 1<<63 - 1, "0": 0} {
		n, _ := ParseNumber(text)
		if got := n.Seconds(); got != want {
			t.Errorf("seconds of %s = %d, want %d", text, got, want)
		}
	}
}
