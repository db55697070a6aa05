package speccases

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
)

// objects returns the distinct objects of a kind.
func (c *Cases) objects(kind string) []json.RawMessage {
	var out []json.RawMessage
	for i := range c.Cases {
		for _, object := range c.Cases[i].Objects {
			var is struct{ Kind string }
			if json.Unmarshal(object, &is) == nil && is.Kind == kind {
				out = append(out, object)
			}
		}
	}
	return Distinct(out)
}

// Distinct returns those of JSON texts that say something no smaller one says: a field, or a word in a field. Smaller ones come first.
func Distinct(texts []json.RawMessage) []json.RawMessage {
	sorted := slices.SortedFunc(slices.Values(texts), func(a, b json.RawMessage) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), bytes.Compare(a, b))
	})
	said := map[string]bool{}
	var out []json.RawMessage
	for _, text := range sorted {
		var value any
		if json.Unmarshal(text, &value) != nil {
			continue
		}
		before := len(said)
		say(said, "", value)
		if len(said) > before {
			out = append(out, text)
		}
	}
	return out
}

// word is a value that stands for itself, as operators and policies do. Names that specs make up are in small letters.
var word = regexp.MustCompile(`^[A-Z][A-Za-z]*$`)

// say notes the fields of a value, and the words in them.
func say(said map[string]bool, at string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v { // into a map
			say(said, at+"/"+key, inner)
		}
	case []any:
		for _, inner := range v {
			say(said, at+"[]", inner)
		}
	case string:
		if word.MatchString(v) {
			at += "=" + v
		}
	}
	said[at] = true
}
