package wire

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Form is a decoded Query request: a tree over the dots of its parameter names,
// so that "Filter.1.Value.2=a" is Form.Children["Filter"].Children["1"]….
type Form struct {
	Value    string
	Set      bool             // a parameter with exactly this name was sent
	Children map[string]*Form // keyed by the next name segment; nil for a leaf
}

// ParseForm builds the tree of form. Of a parameter sent twice the first value counts.
func ParseForm(form url.Values) *Form {
	root := &Form{}
	for name, values := range form {
		node := root
		for segment := range strings.SplitSeq(name, ".") {
			if node.Children == nil {
				node.Children = map[string]*Form{}
			}
			child := node.Children[segment]
			if child == nil {
				child = &Form{}
				node.Children[segment] = child
			}
			node = child
		}
		node.Set = true
		if len(values) > 0 {
			node.Value = values[0]
		}
	}
	return root
}

// Get returns the value at a dotted path, or "" when it was not sent.
func (f *Form) Get(path string) string {
	for segment := range strings.SplitSeq(path, ".") {
		if f = f.Children[segment]; f == nil {
			return ""
		}
	}
	return f.Value
}

// Decode fills the struct dst points to. A field takes the parameter of its
// own name or of its `query:"Name"` tag; "-" leaves it out. Fields may be
// strings, booleans, integers, floats, time.Time (ISO 8601), []byte (base64),
// structs, pointers to these (nil when absent), slices and maps with string
// keys. Slices are read flattened as EC2 sends them ("Filter.1") and wrapped as
// Query sends them ("Filter.member.1"); maps as "Tags.entry.1.key/value" or
// flattened. Numbers of a list may have gaps; their order counts.
//
// It returns an *Error: UnknownParameter for a parameter dst has no field for,
// InvalidParameterValue for a value that does not fit its field.
func (f *Form) Decode(dst any) error {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("decode form into %T: want a pointer to a struct", dst)
	}
	return f.decode(v.Elem(), "")
}

var (
	timeType  = reflect.TypeFor[time.Time]()
	bytesType = reflect.TypeFor[[]byte]()
)

func (f *Form) decode(v reflect.Value, path string) error {
	switch {
	case v.Type() == timeType:
		return f.decodeTime(v, path)
	case v.Type() == bytesType:
		data, err := base64.StdEncoding.DecodeString(f.Value)
		if err != nil {
			return invalidValue(path, f.Value, "base64")
		}
		v.SetBytes(data)
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return f.decode(v.Elem(), path)
	case reflect.Struct:
		return f.decodeStruct(v, path)
	case reflect.Slice:
		return f.decodeList(v, path)
	case reflect.Map:
		return f.decodeMap(v, path)
	}
	if len(f.Children) > 0 {
		return unknownParameter(path + "." + firstKey(f.Children))
	}
	return setScalar(v, f.Value, path)
}

func (f *Form) decodeStruct(v reflect.Value, path string) error {
	if f.Set && f.Value != "" {
		return invalidValue(path, f.Value, "structure")
	}
	fields := map[string]reflect.Value{}
	for _, field := range reflect.VisibleFields(v.Type()) { // those of embedded structs are the struct's own
		name := field.Name
		if tag := field.Tag.Get("query"); tag != "" {
			name = tag
		}
		if field.IsExported() && !field.Anonymous && name != "-" {
			fields[name] = v.FieldByIndex(field.Index)
		}
	}
	for _, name := range sortedKeys(f.Children) {
		at := join(path, name)
		field, ok := fields[name]
		if !ok {
			return unknownParameter(at)
		}
		if err := f.Children[name].decode(field, at); err != nil {
			return err
		}
	}
	return nil
}

func (f *Form) decodeList(v reflect.Value, path string) error {
	items, path, err := f.items(path)
	if err != nil {
		return err
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if err := item.node.decode(list.Index(i), join(path, strconv.Itoa(item.number))); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func (f *Form) decodeMap(v reflect.Value, path string) error {
	items, path, err := f.items(path)
	if err != nil {
		return err
	}
	m := reflect.MakeMap(v.Type())
	for _, item := range items {
		at := join(path, strconv.Itoa(item.number))
		key, value := item.node.child("key", "Key", "Name"), item.node.child("value", "Value")
		if key == nil || value == nil {
			return invalidValue(at, "", "pair of key and value")
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := value.decode(elem, join(at, "value")); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), elem)
	}
	v.Set(m)
	return nil
}

func (f *Form) child(names ...string) *Form {
	for _, name := range names {
		if c := f.Children[name]; c != nil {
			return c
		}
	}
	return nil
}

type formItem struct {
	number int
	node   *Form
}

// items returns the numbered children in order, looking through one wrapping
// segment ("member", "entry", an item name), and the path they hang from.
func (f *Form) items(path string) ([]formItem, string, error) {
	if len(f.Children) == 1 {
		if name := firstKey(f.Children); !isNumber(name) {
			path, f = join(path, name), f.Children[name]
		}
	}
	var items []formItem
	for name, node := range f.Children {
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 {
			return nil, "", unknownParameter(join(path, name))
		}
		items = append(items, formItem{n, node})
	}
	if len(items) == 0 && f.Value != "" {
		return nil, "", invalidValue(path, f.Value, "list")
	}
	slices.SortFunc(items, func(a, b formItem) int { return a.number - b.number })
	return items, path, nil
}

func (f *Form) decodeTime(v reflect.Value, path string) error {
	t, err := time.Parse(time.RFC3339Nano, f.Value)
	if err != nil {
		return invalidValue(path, f.Value, "timestamp")
	}
	v.Set(reflect.ValueOf(t))
	return nil
}

func setScalar(v reflect.Value, s, path string) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return invalidValue(path, s, "boolean")
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(s, 10, v.Type().Bits())
		if err != nil {
			return invalidValue(path, s, "integer")
		}
		v.SetInt(n)
	case reflect.Float32, reflect.Float64:
		n, err := strconv.ParseFloat(s, v.Type().Bits())
		if err != nil {
			return invalidValue(path, s, "number")
		}
		v.SetFloat(n)
	default:
		return fmt.Errorf("decode form: parameter %s has a field of unsupported type %s", path, v.Type())
	}
	return nil
}

func unknownParameter(path string) error {
	return Errorf("UnknownParameter", "The parameter %s is not recognized", path)
}

func invalidValue(path, value, want string) error {
	return Errorf("InvalidParameterValue", "Invalid value '%s' for %s. Expecting: %s.", value, path, want)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

func firstKey(m map[string]*Form) string { return sortedKeys(m)[0] }

func sortedKeys(m map[string]*Form) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
