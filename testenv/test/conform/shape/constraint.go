package shape

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Constraints are of requests alone: what a service answers is its own affair.

// constraints evaluates the length, the range and the pattern of a value as text.
func (j *evaluate) constraints(path string, s *shape, text string) {
	if !strings.HasPrefix(path, "request") {
		return
	}
	switch s.Type {
	case "string":
		j.bounds(path, s, utf8.RuneCountInString(text), "characters")
		if p := pattern(s.Pattern); p != nil && !p.MatchString(text) {
			j.fault(path, "%q does not fit %s", text, s.Pattern)
		}
	case "blob":
		j.bounds(path, s, len(text)/4*3-strings.Count(text, "="), "bytes")
	case "integer", "long", "float", "double":
		if n, err := strconv.ParseFloat(text, 64); err == nil && outside(s, n) {
			j.fault(path, "%s is not %s", text, span(s))
		}
	}
}

// bounds evaluates how many of something a value has.
func (j *evaluate) bounds(path string, s *shape, n int, of string) {
	if strings.HasPrefix(path, "request") && outside(s, float64(n)) {
		j.fault(path, "%d %s, not %s", n, of, span(s))
	}
}

func outside(s *shape, n float64) bool {
	return s.Min != nil && n < *s.Min || s.Max != nil && n > *s.Max
}

// span words the bounds of a shape.
func span(s *shape) string {
	var out []string
	if s.Min != nil {
		out = append(out, "at least "+strconv.FormatFloat(*s.Min, 'f', -1, 64))
	}
	if s.Max != nil {
		out = append(out, "at most "+strconv.FormatFloat(*s.Max, 'f', -1, 64))
	}
	return strings.Join(out, " and ")
}

var patterns sync.Map // compiled, by text

// pattern returns a pattern that the whole text must fit; nil where there is none, or one that Go does not read: the models' are Java's.
func pattern(text string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	if known, ok := patterns.Load(text); ok {
		return known.(*regexp.Regexp)
	}
	compiled, err := regexp.Compile(`^(?s:` + text + `)$`)
	if err != nil {
		compiled = nil
	}
	patterns.Store(text, compiled)
	return compiled
}
