package translate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxExponentDigits is how many digits the exponent of a quantity may have. Kubernetes' own parser counts in whole
// numbers of that many digits: an exponent of eleven digits keeps it busy for good.
const maxExponentDigits = 4

// quantities are the fields whose values, by name of a resource, are quantities, and quantity the fields that are one.
var (
	quantities = []string{"requests", "limits", "overhead", "podFixed", "capacity", "allocatable", "allocatedResources",
		"resources"}
	quantity = []string{"sizeLimit", "divisor", "volumeSize"}
)

// hugeQuantity returns the path of the first quantity, by name, that is not fit to be parsed, and its text; "" for
// none.
func hugeQuantity(path string, value any) (at, text string) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner := strings.TrimPrefix(path+"."+key, ".")
			if amount, ok := v[key].(string); ok {
				if hugeExponent(amount) && (slices.Contains(quantity, key) || slices.Contains(quantities, last(path))) {
					return inner, amount
				}
				continue
			}
			if at, text = hugeQuantity(inner, v[key]); at != "" {
				return at, text
			}
		}
	case []any:
		for i := range v {
			if at, text = hugeQuantity(fmt.Sprintf("%s[%d]", path, i), v[i]); at != "" {
				return at, text
			}
		}
	}
	return "", ""
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// hugeExponent reports whether a text could be a number with an exponent of too many digits.
func hugeExponent(text string) bool {
	at := strings.LastIndexAny(text, "eE")
	if at < 0 {
		return false
	}
	digits := strings.TrimLeft(strings.Trim(text[at+1:], "+- \t"), "0")
	return len(digits) > maxExponentDigits && strings.Trim(digits, "0123456789") == ""
}
