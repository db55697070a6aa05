package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Context is what is known of a request, by condition key in lower case. A key that is not there is missing; one with an empty list
// is there and has no values.
type Context map[string][]string

// With returns a copy with a key set.
func (c Context) With(key string, values ...string) Context {
	out := maps.Clone(c)
	if out == nil {
		out = Context{}
	}
	out[strings.ToLower(key)] = values
	return out
}

// Without returns a copy without a key.
func (c Context) Without(key string) Context {
	out := maps.Clone(c)
	delete(out, strings.ToLower(key))
	return out
}

// condition is one operator over one key.
type condition struct {
	operator operator
	forAll   bool // ForAllValues
	forAny   bool // ForAnyValue
	ifExists bool
	key      string // lower case
	values   []pattern
}

// operator is how values are compared.
type operator struct {
	negated bool
	null    bool
	// matches reports whether the value of a request fits one of the policy's, which is filled.
	matches func(value string, wanted pattern) bool
	// check refuses a value no request can be compared with. It sees those without variables.
	check func(wanted string) error
}

// operators are IAM's by name. Source: user guide, "IAM JSON policy elements: Condition operators".
var operators = map[string]operator{
	"StringEquals":              {matches: equal},
	"StringNotEquals":           {matches: equal, negated: true},
	"StringEqualsIgnoreCase":    {matches: equalFold},
	"StringNotEqualsIgnoreCase": {matches: equalFold, negated: true},
	"StringLike":                {matches: like},
	"StringNotLike":             {matches: like, negated: true},
	"NumericEquals":             numeric(func(c int) bool { return c == 0 }),
	"NumericNotEquals":          not(numeric(func(c int) bool { return c == 0 })),
	"NumericLessThan":           numeric(func(c int) bool { return c < 0 }),
	"NumericLessThanEquals":     numeric(func(c int) bool { return c <= 0 }),
	"NumericGreaterThan":        numeric(func(c int) bool { return c > 0 }),
	"NumericGreaterThanEquals":  numeric(func(c int) bool { return c >= 0 }),
	"DateEquals":                date(func(c int) bool { return c == 0 }),
	"DateNotEquals":             not(date(func(c int) bool { return c == 0 })),
	"DateLessThan":              date(func(c int) bool { return c < 0 }),
	"DateLessThanEquals":        date(func(c int) bool { return c <= 0 }),
	"DateGreaterThan":           date(func(c int) bool { return c > 0 }),
	"DateGreaterThanEquals":     date(func(c int) bool { return c >= 0 }),
	"Bool":                      {matches: equalFold, check: checkBool},
	"BinaryEquals":              {matches: equal},
	"IpAddress":                 {matches: inNetwork, check: checkNetwork},
	"NotIpAddress":              {matches: inNetwork, check: checkNetwork, negated: true},
	"ArnEquals":                 {matches: arnLike, check: checkARN},
	"ArnLike":                   {matches: arnLike, check: checkARN},
	"ArnNotEquals":              {matches: arnLike, check: checkARN, negated: true},
	"ArnNotLike":                {matches: arnLike, check: checkARN, negated: true},
	"Null":                      {null: true, check: checkBool},
}

func not(o operator) operator { o.negated = true; return o }

func equal(value string, wanted pattern) bool     { return value == wanted.text() }
func equalFold(value string, wanted pattern) bool { return strings.EqualFold(value, wanted.text()) }
func like(value string, wanted pattern) bool      { return wanted.matches(value) }
func arnLike(value string, wanted pattern) bool   { return wanted.matchesARN(value) }

func numeric(holds func(order int) bool) operator {
	return operator{
		matches: func(value string, wanted pattern) bool {
			a, errA := strconv.ParseFloat(value, 64)
			b, errB := strconv.ParseFloat(wanted.text(), 64)
			return errA == nil && errB == nil && holds(compare(a, b))
		},
		check: func(wanted string) error {
			_, err := strconv.ParseFloat(wanted, 64)
			return err
		},
	}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func date(holds func(order int) bool) operator {
	return operator{
		matches: func(value string, wanted pattern) bool {
			a, errA := parseTime(value)
			b, errB := parseTime(wanted.text())
			return errA == nil && errB == nil && holds(a.Compare(b))
		},
		check: func(wanted string) error { _, err := parseTime(wanted); return err },
	}
}

// parseTime reads the forms of ISO 8601 IAM takes, and seconds since 1970.
func parseTime(text string) (time.Time, error) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && len(text) > 4 {
		return time.Unix(seconds, 0), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time", text)
}

func inNetwork(value string, wanted pattern) bool {
	address, errA := netip.ParseAddr(value)
	network, errB := parseNetwork(wanted.text())
	return errA == nil && errB == nil && network.Contains(address.Unmap())
}

func parseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

func checkNetwork(wanted string) error { _, err := parseNetwork(wanted); return err }

func checkBool(wanted string) error {
	if !strings.EqualFold(wanted, "true") && !strings.EqualFold(wanted, "false") {
		return fmt.Errorf("%q is neither true nor false", wanted)
	}
	return nil
}

func checkARN(wanted string) error {
	if wanted != "*" && (!strings.HasPrefix(wanted, "arn:") || strings.Count(wanted, ":") < 5) {
		return fmt.Errorf("%q is no ARN", wanted)
	}
	return nil
}

func (s *Statement) parseConditions(d *Document, raw map[string]map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		for _, key := range slices.Sorted(maps.Keys(raw[name])) {
			c, err := parseCondition(name, key, raw[name][key], d.Version == "2012-10-17")
			if err != nil {
				return fmt.Errorf("element Condition %s %s: %w", name, key, err)
			}
			s.conditions = append(s.conditions, c)
		}
	}
	return nil
}

// parseCondition reads one operator, its key and its values.
func parseCondition(name, key string, text json.RawMessage, variables bool) (condition, error) {
	c := condition{key: strings.ToLower(key)}
	base := name
	if rest, ok := strings.CutPrefix(base, "ForAllValues:"); ok {
		base, c.forAll = rest, true
	} else if rest, ok := strings.CutPrefix(base, "ForAnyValue:"); ok {
		base, c.forAny = rest, true
	}
	base, c.ifExists = strings.CutSuffix(base, "IfExists")
	var known bool
	if c.operator, known = operators[base]; !known || c.operator.null && (c.ifExists || c.forAll || c.forAny) {
		return c, fmt.Errorf("the operator is not known")
	}
	if err := checkKey(c.key); err != nil {
		return c, err
	}
	if several(c.key) && !c.forAll && !c.forAny && !c.operator.null {
		return c, fmt.Errorf("the key has several values: say ForAllValues or ForAnyValue")
	}
	values, err := scalars(text)
	if err != nil || len(values) == 0 {
		return c, fmt.Errorf("%s is neither a value nor a list of values", text)
	}
	for _, value := range values {
		p, err := parsePattern(value, variables)
		if err != nil {
			return c, err
		}
		if c.operator.check != nil && p.fixed() {
			if err := c.operator.check(value); err != nil {
				return c, err
			}
		}
		c.values = append(c.values, p)
	}
	return c, nil
}

// scalars reads strings, numbers and booleans as strings.
func scalars(text json.RawMessage) ([]string, error) {
	list, err := listOf[any](text)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, item := range list {
		switch v := item.(type) {
		case string:
			out = append(out, v)
		case bool:
			out = append(out, strconv.FormatBool(v))
		case float64:
			out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
		default:
			return nil, fmt.Errorf("%v is no string", item)
		}
	}
	return out, nil
}

// holds reports whether a condition holds for a request.
func (c condition) holds(context Context) bool {
	have, there := context[c.key]
	if c.operator.null {
		return c.anyValue(func(p pattern) bool { return strings.EqualFold(p.text(), strconv.FormatBool(!there)) })
	}
	switch {
	case c.forAll: // also where there is nothing to look at
		return !slices.ContainsFunc(have, func(v string) bool { return !c.fits(v, context) })
	case !there && c.ifExists:
		return true
	case c.forAny:
		return slices.ContainsFunc(have, func(v string) bool { return c.fits(v, context) })
	case len(have) == 0:
		return c.operator.negated
	}
	return c.fits(have[0], context)
}

// fits reports whether one value of a request is as the condition wants it. With a variable the request does not have, no value is.
func (c condition) fits(value string, context Context) bool {
	one := false
	for _, v := range c.values {
		wanted, ok := v.fill(context)
		if !ok {
			return false
		}
		one = one || c.operator.matches(value, wanted)
	}
	return one != c.operator.negated
}

func (c condition) anyValue(f func(pattern) bool) bool { return slices.ContainsFunc(c.values, f) }
