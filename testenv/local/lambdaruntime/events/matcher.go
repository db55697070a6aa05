package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// matcher says whether one of a field's leaves, or their absence, satisfies one element of a pattern's array.
type matcher func(leaves []any) bool

// predicate evaluates one leaf: a string, float64, bool or nil.
type predicate func(leaf any) bool

func anyLeaf(p predicate) matcher {
	return func(leaves []any) bool { return slices.ContainsFunc(leaves, p) }
}

func parseMatchers(alternatives []json.RawMessage) ([]matcher, error) {
	if len(alternatives) == 0 {
		return nil, errors.New("the array is empty")
	}
	matchers := make([]matcher, 0, len(alternatives))
	for _, alternative := range alternatives {
		m, err := parseMatcher(alternative)
		if err != nil {
			return nil, err
		}
		matchers = append(matchers, m)
	}
	return matchers, nil
}

// parseMatcher reads a literal or an object with one operator.
func parseMatcher(raw json.RawMessage) (matcher, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		p, err := literal(raw)
		return anyLeaf(p), err
	}
	name, argument, err := operator(raw)
	if err != nil {
		return nil, err
	}
	if name == "exists" {
		var want bool
		if err := json.Unmarshal(argument, &want); err != nil {
			return nil, errors.New("exists: want true or false")
		}
		return func(leaves []any) bool { return (len(leaves) > 0) == want }, nil
	}
	p, err := parsePredicate(name, argument)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return anyLeaf(p), nil
}

// operator reads an object with exactly one member.
func operator(raw json.RawMessage) (name string, argument json.RawMessage, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return "", nil, err
	}
	if len(members) != 1 {
		return "", nil, fmt.Errorf("want one operator in an object, got %d", len(members))
	}
	for name, argument = range members {
	}
	return name, argument, nil
}

func parsePredicate(name string, argument json.RawMessage) (predicate, error) {
	switch name {
	case "prefix":
		return affix(argument, strings.HasPrefix)
	case "suffix":
		return affix(argument, strings.HasSuffix)
	case "equals-ignore-case":
		return stringPredicate(argument, strings.EqualFold)
	case "wildcard":
		return wildcard(argument)
	case "numeric":
		return numeric(argument)
	case "anything-but":
		return anythingBut(argument)
	case "cidr":
		return cidr(argument)
	}
	return nil, errors.New("no such operator")
}

// literal matches one exact string, number, boolean or null; numbers by value, not by spelling.
func literal(raw json.RawMessage) (predicate, error) {
	var want any
	if err := json.Unmarshal(raw, &want); err != nil {
		return nil, err
	}
	switch want.(type) {
	case []any, map[string]any:
		return nil, errors.New("want a string, number, boolean or null")
	}
	return func(leaf any) bool { return leaf == want }, nil
}

func stringPredicate(argument json.RawMessage, holds func(leaf, want string) bool) (predicate, error) {
	var want string
	if err := json.Unmarshal(argument, &want); err != nil {
		return nil, errors.New("want a string")
	}
	return func(leaf any) bool {
		text, ok := leaf.(string)
		return ok && holds(text, want)
	}, nil
}

// affix reads a prefix or suffix, plain or as {"equals-ignore-case": …}.
func affix(argument json.RawMessage, holds func(text, affix string) bool) (predicate, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(argument), []byte("{")) {
		return stringPredicate(argument, holds)
	}
	name, inner, err := operator(argument)
	if err != nil {
		return nil, err
	}
	if name != "equals-ignore-case" {
		return nil, fmt.Errorf("want a string or equals-ignore-case, got %s", name)
	}
	return stringPredicate(inner, func(leaf, want string) bool { return holds(strings.ToLower(leaf), strings.ToLower(want)) })
}

// anythingBut negates a literal, a list of literals, or an operator on one string or a list of them.
func anythingBut(argument json.RawMessage) (predicate, error) {
	trimmed := bytes.TrimSpace(argument)
	if bytes.HasPrefix(trimmed, []byte("{")) {
		name, inner, err := operator(argument)
		if err != nil {
			return nil, err
		}
		if !slices.Contains([]string{"prefix", "suffix", "equals-ignore-case", "wildcard"}, name) {
			return nil, fmt.Errorf("%s cannot be negated", name)
		}
		return noneOf(inner, func(one json.RawMessage) (predicate, error) { return parsePredicate(name, one) })
	}
	return noneOf(argument, literal)
}

func noneOf(argument json.RawMessage, parse func(json.RawMessage) (predicate, error)) (predicate, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(argument, &list); err != nil {
		list = []json.RawMessage{argument}
	}
	if len(list) == 0 {
		return nil, errors.New("the array is empty")
	}
	predicates := make([]predicate, 0, len(list))
	for _, one := range list {
		p, err := parse(one)
		if err != nil {
			return nil, err
		}
		predicates = append(predicates, p)
	}
	return func(leaf any) bool {
		return !slices.ContainsFunc(predicates, func(p predicate) bool { return p(leaf) })
	}, nil
}

// numeric reads [operator, number] or two such pairs, both of which must hold.
func numeric(argument json.RawMessage) (predicate, error) {
	var parts []any
	if err := json.Unmarshal(argument, &parts); err != nil || (len(parts) != 2 && len(parts) != 4) {
		return nil, errors.New("want an operator and a number, or two of each")
	}
	var comparisons []func(float64) bool
	for i := 0; i < len(parts); i += 2 {
		name, isString := parts[i].(string)
		bound, isNumber := parts[i+1].(float64)
		compare := comparison(name, bound)
		if !isString || !isNumber || compare == nil {
			return nil, fmt.Errorf("want one of = < <= > >= and a number, got %v %v", parts[i], parts[i+1])
		}
		comparisons = append(comparisons, compare)
	}
	return func(leaf any) bool {
		number, ok := leaf.(float64)
		return ok && !slices.ContainsFunc(comparisons, func(holds func(float64) bool) bool { return !holds(number) })
	}, nil
}

// comparison returns nil for an operator it does not know.
func comparison(name string, bound float64) func(float64) bool {
	switch name {
	case "=":
		return func(n float64) bool { return n == bound }
	case "<":
		return func(n float64) bool { return n < bound }
	case "<=":
		return func(n float64) bool { return n <= bound }
	case ">":
		return func(n float64) bool { return n > bound }
	case ">=":
		return func(n float64) bool { return n >= bound }
	}
	return nil
}

// wildcard matches a string in which * stands for any run of characters and \ takes the next one literally.
func wildcard(argument json.RawMessage) (predicate, error) {
	var text string
	if err := json.Unmarshal(argument, &text); err != nil {
		return nil, errors.New("want a string")
	}
	parts, err := splitWildcard(text)
	if err != nil {
		return nil, err
	}
	return func(leaf any) bool {
		text, ok := leaf.(string)
		return ok && matchesParts(text, parts)
	}, nil
}

// splitWildcard returns the literal parts around the stars; a text without a star is one part.
func splitWildcard(text string) ([]string, error) {
	var parts []string
	var part strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
			if i == len(text) || (text[i] != '*' && text[i] != '\\') {
				return nil, errors.New(`a \ must be followed by * or \`)
			}
			part.WriteByte(text[i])
		case '*':
			if i > 0 && text[i-1] == '*' && part.Len() == 0 {
				return nil, errors.New("two stars in a row")
			}
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteByte(text[i])
		}
	}
	return append(parts, part.String()), nil
}

// matchesParts takes each part at its first place after the one before, which is enough when the last is anchored.
func matchesParts(text string, parts []string) bool {
	if len(parts) == 1 {
		return text == parts[0]
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

func cidr(argument json.RawMessage) (predicate, error) {
	var text string
	if err := json.Unmarshal(argument, &text); err != nil {
		return nil, errors.New("want a string")
	}
	block, err := netip.ParsePrefix(text)
	if err != nil {
		return nil, err
	}
	return func(leaf any) bool {
		text, ok := leaf.(string)
		if !ok {
			return false
		}
		address, err := netip.ParseAddr(text)
		return err == nil && block.Contains(address)
	}, nil
}
