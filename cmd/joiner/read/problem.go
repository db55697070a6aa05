package read

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// place is where in the input something is.
type place struct {
	source string
	doc    int    // from 1
	items  string // ", item 3" for each list around it
}

func (p place) item(n int) place {
	p.items += ", item " + strconv.Itoa(n)
	return p
}

func (p place) String() string {
	if p.doc == 0 {
		return p.source
	}
	return fmt.Sprintf("%s: document %d%s", p.source, p.doc, p.items)
}

// Problem is something in the input that cannot be read.
type Problem struct {
	At    place
	Kind  string // of the object; empty = not known
	Name  string // namespace/name of the object; empty = not known
	Field string // empty = the whole object
	What  string // what is wrong with it and what to write instead
}

// Error returns place, object, field and what is wrong, from the outside in.
func (p *Problem) Error() string {
	parts := []string{p.At.String()}
	if about := strings.TrimSpace(p.Kind + " " + p.Name); about != "" {
		parts = append(parts, about)
	}
	if p.Field != "" {
		parts = append(parts, p.Field)
	}
	return strings.Join(append(parts, p.What), ": ")
}

// complaint returns the field an object cannot be read for, and what is wrong with it.
func complaint(err *json.SemanticError, raw []byte) (field, what string) {
	return FieldPath(err.JSONPointer), excerpt(at(raw, err.JSONPointer)) + ": " + remedy(err)
}

// remedy says what a value of the type a field has looks like.
func remedy(err *json.SemanticError) string {
	if err.GoType == nil {
		return err.Error()
	}
	t := err.GoType
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		return "not a quantity; write a number with or without a unit, such as 500m, 2 or 4Gi"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "not a time; write one such as 2026-01-02T15:04:05Z"
	}
	if err.Err != nil && !errors.Is(err.Err, strconv.ErrRange) {
		return err.Err.Error() // of the type's own reading
	}
	switch t.Kind() {
	case reflect.String:
		return "not a string; put it in quotes"
	case reflect.Bool:
		return "not a boolean; write true or false, without quotes"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("not a whole number of %d bits; write one without quotes", t.Bits())
	case reflect.Float32, reflect.Float64:
		return "not a number; write one without quotes"
	case reflect.Slice, reflect.Array:
		return "not a list; write one item to a line, each after a dash"
	case reflect.Map, reflect.Struct:
		return "not an object; write its fields below it, indented"
	}
	return err.Error()
}

// FieldPath writes a JSON pointer as Kubernetes writes fields: spec.containers[0].image, metadata.labels["a.b/c"].
func FieldPath(manifest jsontext.Pointer) string {
	var out strings.Builder
	for token := range manifest.Tokens() {
		_, err := strconv.Atoi(token)
		switch {
		case err == nil:
			fmt.Fprintf(&out, "[%s]", token)
		case strings.ContainsAny(token, "./[] \"\\"):
			fmt.Fprintf(&out, "[%q]", token)
		default:
			if out.Len() > 0 {
				out.WriteByte('.')
			}
			out.WriteString(token)
		}
	}
	return out.String()
}

// at returns the value a pointer leads to, nil where it leads nowhere. Of repeated names it is the first.
func at(raw []byte, manifest jsontext.Pointer) []byte {
	decoder := jsontext.NewDecoder(bytes.NewReader(raw), lenient)
	for token := range manifest.Tokens() {
		opened, err := decoder.ReadToken()
		if err != nil || opened.Kind() != '{' && opened.Kind() != '[' {
			return nil
		}
		for i := 0; ; i++ {
			if end := decoder.PeekKind(); end == '}' || end == ']' || end == 0 {
				return nil
			}
			name := strconv.Itoa(i)
			if opened.Kind() == '{' {
				key, err := decoder.ReadToken()
				if err != nil {
					return nil
				}
				name = key.String()
			}
			if name == token {
				break
			}
			if decoder.SkipValue() != nil {
				return nil
			}
		}
	}
	value, err := decoder.ReadValue()
	if err != nil {
		return nil
	}
	return value
}

// excerpt keeps a message readable whatever is written in the field.
func excerpt(value []byte) string {
	const most = 60
	text := strings.ToValidUTF8(string(value[:min(len(value), 4*most)]), "?")
	text = strings.Join(strings.Fields(text), " ")
	if short := []rune(text); len(short) > most {
		return string(short[:most]) + "…"
	}
	return text
}
