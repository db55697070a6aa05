package wire

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Weight is what decoding something takes of memory, in bytes: what is made and, where a list grows, what it grows
// from. It is known before anything is made, so that whoever reads what others wrote can refuse it.
const (
	textOverhead = 16  // of a text: allocations come in steps
	entryFactor  = 2   // of an element: a list that grows is there twice for a moment
	mapOverhead  = 16  // of a map's entry, beside key and value
	anyBytes     = 128 // of a value whose type the text decides: a map of one entry has room for eight
	ownFactor    = 16  // of each byte of what a type decodes by itself
)

// form says what JSON makes of a type.
type form struct {
	list, dict, text, own, open bool // what it is; a struct where none is set and fields is; else a number or a truth

	size   int64 // of the value itself, where it lies in a list, a map or behind a pointer
	boxed  bool  // it lies behind a pointer
	elem   *form // of list and dict
	fields map[string]*form
	most   int // elements that a list may have; 0 = the weight alone bounds it
}

var (
	ownJSON = reflect.TypeFor[json.Unmarshaler]()
	ownText = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// formOf returns the form of a type and remembers it in known, so that a type may hold itself.
func formOf(t reflect.Type, known map[reflect.Type]*form) *form {
	if f := known[t]; f != nil {
		return f
	}
	f := &form{size: int64(t.Size())}
	known[t] = f
	if p := reflect.PointerTo(t); p.Implements(ownJSON) || p.Implements(ownText) {
		f.own = true
		return f
	}
	switch t.Kind() {
	case reflect.Pointer:
		elem := formOf(t.Elem(), known)
		*f = *elem
		f.boxed = true
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			f.text = true
			break
		}
		f.list, f.elem = true, formOf(t.Elem(), known)
	case reflect.Map:
		f.dict, f.elem = true, formOf(t.Elem(), known)
	case reflect.String:
		f.text = true
	case reflect.Interface:
		f.open = true
	case reflect.Struct:
		f.fields = map[string]*form{}
		addFields(f.fields, t, known)
	}
	return f
}

func addFields(fields map[string]*form, t reflect.Type, known map[reflect.Type]*form) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Tag.Get("json") == "-":
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			addFields(fields, field.Type, known)
		case field.IsExported() && name == "":
			fields[field.Name] = formOf(field.Type, known)
		case field.IsExported():
			fields[name] = formOf(field.Type, known)
		}
	}
}

// Form is what JSON makes of a type, for whoever reads what others wrote.
type Form struct{ of *form }

// FormOf returns the form of a type.
func FormOf(t reflect.Type) *Form { return &Form{formOf(t, map[reflect.Type]*form{})} }

// Weigh returns what a text takes in memory, in bytes, once it is decoded into a value of the type. Invalid where that
// is more than room; the error calls the text by the name. What is no JSON is left to the decoder.
func (f *Form) Weigh(name string, text []byte, budget int64) (int64, error) {
	return weigh(name, text, f.of, budget)
}

// headForm is the form of a head. Each of its lists, and of those of its structs, has a bound: the one of its path,
// such as gone.pods, or else other.
func headForm(t reflect.Type, bounds map[string]int, other int) *form {
	return bounded(formOf(t, map[reflect.Type]*form{}), "", bounds, other)
}

func bounded(f *form, path string, bounds map[string]int, other int) *form {
	out := *f
	switch {
	case f.list:
		if out.most = bounds[path]; out.most == 0 {
			out.most = other
		}
	case f.fields != nil:
		out.fields = make(map[string]*form, len(f.fields))
		for name, field := range f.fields {
			out.fields[name] = bounded(field, join(path, name), bounds, other)
		}
	}
	return &out
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// weigher reads a JSON text without making anything of it. It takes the text to be JSON: where it is not, what it says
// is of no meaning, and the decoder refuses the text before it makes anything.
type weigher struct {
	text   []byte
	at     int
	left   int64
	budget int64
	object string // what the text is of, for errors
}

// weigh returns the weight of a text that is decoded into a value of a form, Invalid where it is more than room or a
// list has too many elements.
func weigh(object string, text []byte, f *form, budget int64) (int64, error) {
	if !utf8.Valid(text) { // each byte that belongs to no letter would become three
		return 0, fault.New(fault.Invalid, "Malformed", "%s is not valid UTF-8", object)
	}
	w := &weigher{text: text, left: budget, budget: budget, object: object}
	if err := w.value(f, ""); err != nil {
		return 0, err
	}
	return budget - w.left, nil
}

func (w *weigher) charge(bytes int64) error {
	if w.left -= bytes; w.left < 0 {
		return tooHeavy(w.object, w.budget)
	}
	return nil
}

func tooHeavy(object string, budget int64) error {
	return fault.New(fault.Invalid, "TooLarge",
		"%s takes more than the %d MiB of memory that this program has for one", object, budget>>20)
}

// next returns the next byte that is no white space, 0 at the end.
func (w *weigher) next() byte {
	for ; w.at < len(w.text); w.at++ {
		switch c := w.text[w.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// value weighs the next value as one of the form. path is the field it is in.
func (w *weigher) value(f *form, path string) error {
	c, start := w.next(), w.at
	if f.boxed && c != 'n' {
		if err := w.charge(f.size); err != nil {
			return err
		}
	}
	switch {
	case f.own:
		w.skip()
		return w.charge(ownFactor * int64(w.at-start))
	case f.open:
		return w.anything()
	case f.text && c == '"':
		return w.charge(int64(len(w.quoted())) + textOverhead)
	case f.list && c == '[':
		return w.list(f, path)
	case f.dict && c == '{':
		return w.members(func([]byte) (*form, string) { return f.elem, path },
			mapOverhead+entryFactor*(textHeader+f.elem.size))
	case f.fields != nil && c == '{':
		return w.members(func(name []byte) (*form, string) { return f.field(name, path) }, 0)
	}
	w.skip()
	return nil
}

// textHeader is the size of a string without what it holds.
const textHeader = 16

func (w *weigher) list(f *form, path string) error {
	for n := 0; w.more(']'); n++ {
		if f.most > 0 && n == f.most {
			return fault.New(fault.Invalid, "TooLarge", "%s has more than %d %s", w.object, f.most, path)
		}
		if err := w.charge(entryFactor * f.elem.size); err != nil {
			return err
		}
		if err := w.value(f.elem, path); err != nil {
			return err
		}
	}
	return nil
}

// members weighs an object, each member as of says of its name. Each costs so much beside its value, and its name where
// it does.
func (w *weigher) members(of func(name []byte) (*form, string), each int64) error {
	for w.more('}') {
		name := w.quoted()
		if w.next() == ':' {
			w.at++
		}
		if each > 0 {
			if err := w.charge(each + int64(len(name)) + textOverhead); err != nil {
				return err
			}
		}
		f, path := of(name)
		if f == nil {
			w.next()
			w.skip()
			continue
		}
		if err := w.value(f, path); err != nil {
			return err
		}
	}
	return nil
}

// more reports whether a list or an object goes on, and stands at its next element then, else after its end.
func (w *weigher) more(end byte) bool {
	switch c := w.next(); c {
	case '[', '{', ',':
		w.at++
		if w.next() != end {
			return w.at < len(w.text)
		}
		w.at++
	case end:
		w.at++
	default:
		w.at = len(w.text) // no JSON
	}
	return false
}

// field returns the form of a member by its name, as package json finds it: as written, or else whatever the case of
// its letters.
func (f *form) field(name []byte, path string) (*form, string) {
	if bytes.IndexByte(name, '\\') >= 0 {
		var plain string
		if json.Unmarshal(append(append([]byte{'"'}, name...), '"'), &plain) != nil {
			return nil, path
		}
		name = []byte(plain)
	}
	if found := f.fields[string(name)]; found != nil {
		return found, join(path, string(name))
	}
	for have, found := range f.fields {
		if strings.EqualFold(have, string(name)) {
			return found, join(path, have)
		}
	}
	return nil, path
}

// quoted passes a text and returns what is between its quotes, as written; nothing where there is none.
func (w *weigher) quoted() []byte {
	if w.next() != '"' {
		w.at = len(w.text)
		return nil
	}
	w.at++
	start := w.at
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case '\\':
			w.at++
		case '"':
			w.at++
			return w.text[start : w.at-1]
		}
		w.at++
	}
	w.at = len(w.text)
	return nil
}

// skip passes a value.
func (w *weigher) skip() {
	_ = w.pass(0) // nothing is charged
}

// anything passes a value whose type the text decides.
func (w *weigher) anything() error { return w.pass(anyBytes) }

// pass passes a value, and charges each for it and for everything in it.
func (w *weigher) pass(each int64) error {
	for depth := 0; w.at < len(w.text); {
		switch w.next() {
		case '"':
			if text := w.quoted(); each > 0 {
				if err := w.charge(each + int64(len(text))); err != nil {
					return err
				}
			}
		case '{', '[':
			depth++
			w.at++
		case '}', ']':
			if depth == 0 {
				return nil // of whatever this value is in
			}
			depth--
			w.at++
		case ',', ':':
			if depth == 0 {
				return nil
			}
			w.at++
			continue
		default: // a number or a word
			for w.at < len(w.text) && strings.IndexByte(" \t\n\r,:]}[{\"", w.text[w.at]) < 0 {
				w.at++
			}
		}
		if err := w.charge(each); err != nil {
			return err
		}
		if depth == 0 {
			return nil
		}
	}
	return nil
}

// weightOfPods is what the reader charges for pods, or a little more.
func weightOfPods(pods []model.Pod) int64 {
	weight := int64(len(pods)) * int64(podSize+1+8+entryFactor*(32+len(uuidText)))
	for i := range pods {
		p := &pods[i]
		weight += int64(entryFactor*len(p.Name) + len(p.UID) + len(p.Namespace) + len(p.NodeName) +
			len(p.NominatedNode) + 5*textOverhead)
		for _, claim := range p.Claims {
			weight += int64(entryFactor*textHeader + len(claim) + textOverhead)
		}
	}
	return weight
}
