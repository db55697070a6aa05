package resource

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

var binaryUnits = []string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}

// Format returns an amount of the named resource as a person writes it: "2" or "1500m" for CPU, "2Gi" or "123456789"
// for bytes, "1.25" for dollars, a plain number for everything else. Same amount, same text.
func Format(name string, amount int64) string {
	switch {
	case name == model.CPU && amount%1000 == 0:
		return strconv.FormatInt(amount/1000, 10)
	case name == model.CPU:
		return strconv.FormatInt(amount, 10) + "m"
	case name == model.Dollars:
		return strings.TrimSuffix(strings.TrimRight(big.NewRat(amount, 1_000_000).FloatString(6), "0"), ".")
	case countsBytes(name):
		return formatBytes(amount)
	default:
		return strconv.FormatInt(amount, 10)
	}
}

// String returns amounts by name, such as "cpu 1500m, memory 2Gi, pods 3", and "nothing" where there are none.
func String(list model.Resources) string {
	if len(list) == 0 {
		return "nothing"
	}
	var parts []string
	for _, name := range Names(list) {
		parts = append(parts, name+" "+Format(name, list[name]))
	}
	return strings.Join(parts, ", ")
}

// Parse reads a Kubernetes quantity as an amount of the named resource: milli-CPU for CPU, micro-USD for dollars, whole
// units (bytes) for everything else, fractions rounded up and the ends of int64 never passed. Invalid where text is not a quantity.
func Parse(name, text string) (int64, error) {
	number, unit := splitQuantity(text)
	multiplier, known := multiplierOf(unit)
	// The length is bounded because the quantity may come from anyone and big.Rat takes whatever it is given.
	value, ok := new(big.Rat).SetString(number)
	if !known || !ok || len(text) > 64 {
		return 0, fault.New(fault.Invalid, "", "%q is not a quantity such as 500m, 2 or 4Gi", shorten(text))
	}
	value.Mul(value, multiplier)
	switch name {
	case model.CPU:
		value.Mul(value, big.NewRat(1000, 1))
	case model.Dollars:
		value.Mul(value, big.NewRat(1_000_000, 1))
	}
	return ceiling(value), nil
}

func countsBytes(name string) bool {
	return name == model.Memory || name == model.EphemeralStorage || name == "storage" || strings.HasPrefix(name, "hugepages-")
}

func formatBytes(amount int64) string {
	unit := ""
	for _, next := range binaryUnits {
		if amount == 0 || amount%1024 != 0 {
			break
		}
		amount, unit = amount/1024, next
	}
	return strconv.FormatInt(amount, 10) + unit
}

// splitQuantity cuts a quantity into decimal number and unit. An exponent ("1e3") is turned into a unit of its own; the
// number is empty where it is anything but sign, digits and one point.
func splitQuantity(text string) (number, unit string) {
	end := 0
	for end < len(text) && strings.IndexByte("+-.0123456789", text[end]) >= 0 {
		end++
	}
	number = text[:end]
	if strings.LastIndexAny(number, "+-") > 0 || strings.Trim(number, "+-.") == "" {
		return "", ""
	}
	return number, text[end:]
}

// multiplierOf returns what a unit stands for; false for an unknown one.
func multiplierOf(unit string) (*big.Rat, bool) {
	for i, binary := range binaryUnits {
		if unit == binary {
			return new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), uint(10*(i+1)))), true
		}
	}
	exponent, known := map[string]int64{"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}[unit]
	if !known && len(unit) > 1 && (unit[0] == 'e' || unit[0] == 'E') {
		parsed, err := strconv.ParseInt(unit[1:], 10, 8)
		exponent, known = parsed, err == nil
	}
	if !known {
		return nil, false
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(max(exponent, -exponent)), nil)
	if exponent < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), power), true
	}
	return new(big.Rat).SetInt(power), true
}

// ceiling rounds up to an integer, at most MaxInt64 and at least MinInt64.
func ceiling(value *big.Rat) int64 {
	quotient, rest := new(big.Int).QuoRem(value.Num(), value.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		quotient.Add(quotient, big.NewInt(1))
	}
	switch {
	case quotient.IsInt64():
		return quotient.Int64()
	case quotient.Sign() > 0:
		return math.MaxInt64
	default:
		return math.MinInt64
	}
}

// shorten keeps an error readable whatever was written into the field.
func shorten(text string) string {
	if len(text) > 64 {
		return text[:64] + "…"
	}
	return text
}
