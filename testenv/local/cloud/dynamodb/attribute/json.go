package attribute

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ValidationError is a refusal that the wire answers as ValidationException with this message.
type ValidationError struct{ Message string }

// Error returns the message.
func (e *ValidationError) Error() string { return e.Message }

func invalidf(format string, args ...any) error {
	return &ValidationError{Message: fmt.Sprintf(format, args...)}
}

var emptySet = map[Kind]string{
	SS: "An string set  may not be empty",
	NS: "An number set  may not be empty",
	BS: "Binary sets should not be empty",
}

func duplicateIn(kind Kind, members []Value) error {
	if kind == NS {
		return invalidf("Input collection contains duplicates")
	}
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = m.Text
		if kind == BS {
			texts[i] = base64.StdEncoding.EncodeToString([]byte(m.Text))
		}
	}
	suffix := " contains duplicates."
	if kind == BS {
		suffix = "of type BS contains duplicates."
	}
	return invalidf("One or more parameter values were invalid: Input collection [%s]%s", strings.Join(texts, ", "), suffix)
}

// UnmarshalJSON reads the typed JSON of the wire, {"S":"…"}. A malformed value gives a *ValidationError;
// a JSON value of the wrong type gives the error of encoding/json.
func (v *Value) UnmarshalJSON(data []byte) error {
	var tagged map[string]json.RawMessage
	if err := json.Unmarshal(data, &tagged); err != nil {
		return err
	}
	for tag := range tagged {
		if _, known := ParseKind(tag); !known || bytes.Equal(tagged[tag], []byte("null")) {
			delete(tagged, tag)
		}
	}
	if len(tagged) == 0 {
		return invalidf("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	}
	if len(tagged) > 1 {
		return invalidf("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	}
	for tag, content := range tagged {
		kind, _ := ParseKind(tag)
		parsed, err := parse(kind, content)
		if err != nil {
			return err
		}
		*v = parsed
	}
	return nil
}

func parse(kind Kind, content json.RawMessage) (Value, error) {
	switch kind {
	case S, N, B:
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return Value{}, err
		}
		return parseScalar(kind, text)
	case BOOL:
		var b bool
		err := json.Unmarshal(content, &b)
		return Bool(b), err
	case NULL:
		var null bool
		if err := json.Unmarshal(content, &null); err != nil || !null {
			return Value{}, invalidf("One or more parameter values were invalid: Null attribute value types must have the value of true")
		}
		return Null(), nil
	case L:
		list := []Value{}
		err := json.Unmarshal(content, &list)
		return List(list...), err
	case M:
		var fields map[string]Value
		err := json.Unmarshal(content, &fields)
		return Map(fields), err
	}
	return parseSet(kind, content)
}

func parseScalar(kind Kind, text string) (Value, error) {
	switch kind {
	case N:
		n, err := ParseNumber(text)
		return Num(n), err
	case B:
		raw, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return Value{}, &json.UnsupportedValueError{Str: "invalid base64: " + err.Error()}
		}
		return Bytes(raw), nil
	}
	return String(text), nil
}

func parseSet(kind Kind, content json.RawMessage) (Value, error) {
	var texts []string
	if err := json.Unmarshal(content, &texts); err != nil {
		return Value{}, err
	}
	members := make([]Value, len(texts))
	for i, text := range texts {
		m, err := parseScalar(kind.MemberKind(), text)
		if err != nil {
			return Value{}, err
		}
		members[i] = m
	}
	return Set(kind, members)
}

// MarshalJSON writes the typed JSON of the wire, with map keys in order. An absent value is an error.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.IsAbsent() {
		return nil, fmt.Errorf("write an attribute value: it is absent")
	}
	return v.append(nil), nil
}

func (v Value) append(to []byte) []byte {
	to = append(to, '{', '"')
	to = append(to, v.Kind.String()...)
	to = append(to, '"', ':')
	switch v.Kind {
	case BOOL:
		to = fmt.Appendf(to, "%t", v.Bool)
	case NULL:
		to = append(to, "true"...)
	case L:
		to = appendJoined(to, '[', v.List, Value.append, ']')
	case SS, NS, BS:
		to = appendJoined(to, '[', v.Set, Value.appendText, ']')
	case M:
		names := slices.Sorted(maps.Keys(v.Map))
		to = appendJoined(to, '{', names, func(name string, to []byte) []byte {
			to = append(appendQuoted(to, name), ':')
			return v.Map[name].append(to)
		}, '}')
	default:
		to = v.appendText(to)
	}
	return append(to, '}')
}

// appendText writes the JSON string of an S, N or B without its tag.
func (v Value) appendText(to []byte) []byte {
	switch v.Kind {
	case N:
		return appendQuoted(to, v.Number.String())
	case B:
		to = append(to, '"')
		to = base64.StdEncoding.AppendEncode(to, []byte(v.Text))
		return append(to, '"')
	}
	return appendQuoted(to, v.Text)
}

func appendJoined[T any](to []byte, open byte, elements []T, write func(T, []byte) []byte, end byte) []byte {
	to = append(to, open)
	for i, e := range elements {
		if i > 0 {
			to = append(to, ',')
		}
		to = write(e, to)
	}
	return append(to, end)
}

// appendQuoted writes a text as json.Marshal does.
func appendQuoted(to []byte, text string) []byte {
	start := len(to)
	to = append(to, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			to = append(to, '\\', c)
		case c < ' ' || c > '~' || c == '<' || c == '>' || c == '&': // seldom
			quoted, err := json.Marshal(text)
			if err != nil {
				panic(err) // a string always marshals
			}
			return append(to[:start], quoted...)
		default:
			to = append(to, c)
		}
	}
	return append(to, '"')
}

// AppendItems writes items as an array, as json.Marshal does; nil is null.
func AppendItems(to []byte, items []Item) ([]byte, error) {
	if items == nil {
		return append(to, "null"...), nil
	}
	var failed error
	to = appendJoined(to, '[', items, func(it Item, to []byte) []byte {
		names := slices.Sorted(maps.Keys(it))
		return appendJoined(to, '{', names, func(name string, to []byte) []byte {
			value := it[name]
			if value.IsAbsent() {
				failed = fmt.Errorf("write attribute %s: it is absent", name)
				return to
			}
			return value.append(append(appendQuoted(to, name), ':'))
		}, '}')
	}, ']')
	return to, failed
}
