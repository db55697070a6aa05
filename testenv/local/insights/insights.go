package insights

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Query is a parsed query.
type Query struct {
	Source  string // log group
	filters []condition
	shown   []shown
}

// shown is a field that the answer is made of.
type shown struct {
	field  string
	number bool // its sum or largest value is asked for
}

// condition is what a line must fulfil.
type condition struct {
	field string
	holds func(value any, present bool) bool
}

// Answer is what a query finds.
type Answer struct {
	Lines  int      // that pass the filters
	Absent []string // fields of the answer that none of them has, in the query's order
}

// Parse reads a query.
func Parse(text string) (Query, error) {
	var q Query
	for i, part := range strings.Split(text, "|") {
		command, rest, _ := strings.Cut(strings.TrimSpace(part), " ")
		rest = strings.TrimSpace(rest)
		var err error
		switch {
		case command == "SOURCE" && i == 0:
			q.Source = strings.Trim(rest, "'")
		case command == "filter":
			err = q.filter(rest)
		case command == "fields":
			err = q.showAll(rest)
		case command == "stats":
			err = q.stats(rest)
		case command == "sort", command == "limit":
		default:
			err = fmt.Errorf("command %q is not known here", command)
		}
		if err != nil {
			return q, fmt.Errorf("query %q: %w", text, err)
		}
	}
	return q, nil
}

var (
	present   = regexp.MustCompile(`^ispresent\(([\w.@]+)\)$`)
	compared  = regexp.MustCompile(`^([\w.@]+) (=|!=|>|<) (?:"([^"]*)"|([\d.]+))$`)
	among     = regexp.MustCompile(`^([\w.@]+) in \[([^\]]*)\]$`)
	aggregate = regexp.MustCompile(`^(sum|max|min|avg|latest|count)\(([\w.@]+)\)$`)
	named     = regexp.MustCompile(`^[\w.@]+$`)
)

func (q *Query) filter(text string) error {
	for _, term := range strings.Split(text, " and ") {
		term = strings.TrimSpace(term)
		if m := present.FindStringSubmatch(term); m != nil {
			q.filters = append(q.filters, condition{m[1], func(_ any, present bool) bool { return present }})
			continue
		}
		if m := among.FindStringSubmatch(term); m != nil {
			var values []string
			if err := json.Unmarshal([]byte("["+m[2]+"]"), &values); err != nil {
				return fmt.Errorf("condition %q: %w", term, err)
			}
			q.filters = append(q.filters, condition{m[1], func(value any, _ bool) bool { s, is := value.(string); return is && slices.Contains(values, s) }})
			continue
		}
		m := compared.FindStringSubmatch(term)
		if m == nil {
			return fmt.Errorf("condition %q is not known here", term)
		}
		q.filters = append(q.filters, comparison(m[1], m[2], m[3], m[4]))
	}
	return nil
}

// comparison is a field compared with a text or, where that is not empty, a number.
func comparison(field, operator, text, digits string) condition {
	number, _ := strconv.ParseFloat(digits, 64)
	return condition{field, func(value any, present bool) bool {
		if digits != "" {
			have, is := value.(float64)
			return is && map[string]bool{"=": have == number, "!=": have != number, ">": have > number, "<": have < number}[operator]
		}
		have, is := value.(string)
		if operator == "!=" {
			return present && (!is || have != text)
		}
		return operator == "=" && is && have == text
	}}
}

func (q *Query) stats(text string) error {
	values, by, grouped := strings.Cut(text, " by ")
	for _, value := range strings.Split(values, ",") {
		m := aggregate.FindStringSubmatch(strings.TrimSpace(value))
		if m == nil {
			return fmt.Errorf("statistic %q is not known here", value)
		}
		if err := q.show(m[2], m[1] != "latest" && m[1] != "count"); err != nil {
			return err
		}
	}
	if !grouped {
		return nil
	}
	return q.showAll(by)
}

// showAll adds fields with commas between them; parts of time are none.
func (q *Query) showAll(fields string) error {
	for _, field := range strings.Split(fields, ",") {
		if field = strings.TrimSpace(field); strings.HasPrefix(field, "bin(") {
			continue
		}
		if err := q.show(field, false); err != nil {
			return err
		}
	}
	return nil
}

func (q *Query) show(field string, number bool) error {
	if !named.MatchString(field) {
		return fmt.Errorf("field %q is not known here", field)
	}
	if !strings.HasPrefix(field, "@") { // the service's own, which every line has
		q.shown = append(q.shown, shown{field, number})
	}
	return nil
}

// Over asks the query of lines.
func (q Query) Over(lines []string) Answer {
	var a Answer
	has := map[string]bool{}
	for _, line := range lines {
		var object map[string]any
		if json.Unmarshal([]byte(line), &object) != nil {
			continue
		}
		if slices.ContainsFunc(q.filters, func(c condition) bool { value, present := find(object, c.field); return !c.holds(value, present) }) {
			continue
		}
		a.Lines++
		for _, s := range q.shown {
			value, present := find(object, s.field)
			if _, is := value.(float64); present && (is || !s.number) {
				has[s.field] = true
			}
		}
	}
	for _, s := range q.shown {
		if !has[s.field] {
			a.Absent = append(a.Absent, s.field)
		}
	}
	return a
}

// find returns a field by its path, elements of lists by their numbers. What is null is not there.
func find(object any, path string) (value any, present bool) {
	for _, key := range strings.Split(path, ".") {
		switch of := object.(type) {
		case map[string]any:
			object = of[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(of) {
				return nil, false
			}
			object = of[i]
		default:
			return nil, false
		}
	}
	return object, object != nil
}
