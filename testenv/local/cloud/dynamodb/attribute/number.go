package attribute

import (
	"math/big"
	"strings"
)

// Limits of a Number: at most 38 significant digits, magnitude between 1E-130 and 9.99…E+125.
const (
	maxDigits   = 38
	maxExponent = 125
	minExponent = -130
)

// Number is an exact decimal: 0, or ±0.d1d2d3… × 10^exp with d1 and the last digit not zero.
// The zero Number is 0. Two Numbers are equal by value exactly when they are equal by ==.
type Number struct {
	negative bool
	digits   string
	exp      int
}

// ParseNumber reads a decimal with optional sign, fraction and exponent. Errors are AWS's: not numeric,
// more than 38 significant digits, overflow, underflow.
func ParseNumber(text string) (Number, error) {
	notNumeric := func() (Number, error) {
		if text == "" {
			return Number{}, invalidf("The parameter cannot be converted to a numeric value")
		}
		return Number{}, invalidf("The parameter cannot be converted to a numeric value: %s", text)
	}
	rest := text
	negative := strings.HasPrefix(rest, "-")
	if negative || strings.HasPrefix(rest, "+") {
		rest = rest[1:]
	}
	mantissa, exponentText, hasExponent := cutAny(rest, "eE")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole+fraction == "" || !allDigits(whole) || !allDigits(fraction) {
		return notNumeric()
	}
	exponent := 0
	if hasExponent {
		var ok bool
		exponent, ok = parseExponent(exponentText)
		if !ok {
			return notNumeric()
		}
	}
	return normalize(negative, whole+fraction, len(whole)+exponent)
}

// normalize makes the Number ±0.digits × 10^exp from any run of digits and checks the limits.
func normalize(negative bool, digits string, exp int) (Number, error) {
	significant := strings.TrimLeft(digits, "0")
	exp -= len(digits) - len(significant)
	significant = strings.TrimRight(significant, "0")
	switch {
	case significant == "":
		return Number{}, nil
	case exp-1 > maxExponent:
		return Number{}, invalidf("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case exp-1 < minExponent:
		return Number{}, invalidf("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	case len(significant) > maxDigits:
		return Number{}, invalidf("Attempting to store more than 38 significant digits in a Number")
	}
	return Number{negative: negative, digits: significant, exp: exp}, nil
}

// parseExponent reads an optionally signed integer; values beyond any legal exponent are clamped.
func parseExponent(text string) (exponent int, ok bool) {
	digits := strings.TrimPrefix(text, "-")
	negative := len(digits) != len(text)
	if !negative {
		digits = strings.TrimPrefix(text, "+")
	}
	if digits == "" || !allDigits(digits) {
		return 0, false
	}
	for _, d := range digits {
		exponent = min(exponent*10+int(d-'0'), 1_000_000)
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func cutAny(s, chars string) (before, after string, found bool) {
	i := strings.IndexAny(s, chars)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// String returns plain decimal notation without exponent, as DynamoDB answers it: "100000", "0.0001".
func (n Number) String() string {
	var text string
	switch {
	case n.digits == "":
		return "0"
	case n.exp <= 0:
		text = "0." + strings.Repeat("0", -n.exp) + n.digits
	case n.exp >= len(n.digits):
		text = n.digits + strings.Repeat("0", n.exp-len(n.digits))
	default:
		text = n.digits[:n.exp] + "." + n.digits[n.exp:]
	}
	if n.negative {
		return "-" + text
	}
	return text
}

// Compare returns a negative, zero or positive number as n is less than, equal to or greater than o.
func (n Number) Compare(o Number) int {
	if n.sign() != o.sign() {
		return n.sign() - o.sign()
	}
	magnitude := strings.Compare(n.digits, o.digits)
	if n.exp != o.exp {
		magnitude = n.exp - o.exp
	}
	return magnitude * n.sign()
}

func (n Number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// Neg returns -n.
func (n Number) Neg() Number {
	if n.digits != "" {
		n.negative = !n.negative
	}
	return n
}

// Add returns n + o exactly, or AWS's error when the sum does not fit a Number.
func (n Number) Add(o Number) (Number, error) {
	scale := min(n.exp-len(n.digits), o.exp-len(o.digits))
	sum := n.scaled(scale)
	sum.Add(sum, o.scaled(scale))
	digits := new(big.Int).Abs(sum).String()
	return normalize(sum.Sign() < 0, digits, len(digits)+scale)
}

// scaled returns n / 10^scale, which is an integer because scale ≤ n.exp-len(n.digits).
func (n Number) scaled(scale int) *big.Int {
	if n.digits == "" {
		return new(big.Int)
	}
	i, ok := new(big.Int).SetString(n.digits+strings.Repeat("0", n.exp-len(n.digits)-scale), 10)
	if !ok {
		panic("attribute: a Number holds something else than digits: " + n.digits)
	}
	if n.negative {
		i.Neg(i)
	}
	return i
}

// Seconds returns the integer part clamped to an int64, for numbers that mean epoch seconds.
func (n Number) Seconds() int64 {
	whole, _, _ := strings.Cut(n.String(), ".")
	i, ok := new(big.Int).SetString(whole, 10)
	if !ok || !i.IsInt64() {
		return int64(n.sign()) * (1<<63 - 1)
	}
	return i.Int64()
}

// sizeBytes is one byte for the exponent and one for every two decimal digits, aligned to even powers of
// ten, plus one for a minus sign; 0 takes one byte.
func (n Number) sizeBytes() int {
	if n.digits == "" {
		return 1
	}
	digits := len(n.digits)
	if n.exp%2 != 0 { // the leading digit stands alone in its pair
		digits++
	}
	size := 1 + (digits+1)/2
	if n.negative {
		size++
	}
	return size
}
