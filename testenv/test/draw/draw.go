package draw

import (
	"reflect"

	"pgregory.net/rapid"
)

// Options say what a value is made of. The zero value is ready.
type Options struct {
	// Texts are what a string is one of; nil = a few, from the empty one to one with quotes and a zero byte.
	Texts []string
	// Deep is how many levels down pointers, lists and maps are absent most of the time; 0 = at none.
	Deep int
	// Types draw the values of types that hold more than meets the eye, by type; a nil function leaves them zero.
	Types map[reflect.Type]func(t *rapid.T, label string) reflect.Value
}

var texts = []string{"", "a", "In", "kubernetes.io/hostname", "é \"\\\n\x00", "-"}

// Any makes a value. Lists and maps are absent or have one or two entries, never empty. Interfaces, functions and fields
// that are not exported stay zero.
func Any[T any](t *rapid.T, label string, o Options) T {
	var out T
	Fill(t, label, reflect.ValueOf(&out).Elem(), o)
	return out
}

// Fill draws what v holds; it must be settable.
func Fill(t *rapid.T, label string, v reflect.Value, o Options) {
	if o.Texts == nil {
		o.Texts = texts
	}
	o.fill(t, label, v, 0)
}

func (o *Options) fill(t *rapid.T, label string, v reflect.Value, depth int) {
	if special, ok := o.Types[v.Type()]; ok {
		if special != nil {
			v.Set(special(t, label))
		}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				o.fill(t, label+"."+v.Type().Field(i).Name, v.Field(i), depth)
			}
		}
	case reflect.String:
		v.SetString(rapid.SampledFrom(o.Texts).Draw(t, label))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, label))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(integer(t, label, v.Type().Bits()))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(rapid.Uint8().Draw(t, label)))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(0, 1e6).Draw(t, label))
	case reflect.Pointer:
		if o.some(t, label, depth) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			o.fill(t, label, v.Elem(), depth+1)
		}
	case reflect.Slice:
		for range o.some(t, label, depth) {
			entry := reflect.New(v.Type().Elem()).Elem()
			o.fill(t, label, entry, depth+1)
			v.Set(reflect.Append(v, entry))
		}
	case reflect.Map:
		o.fillMap(t, label, v, depth)
	}
}

func (o *Options) fillMap(t *rapid.T, label string, v reflect.Value, depth int) {
	for range o.some(t, label, depth) {
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		key, entry := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		o.fill(t, label, key, depth+1)
		o.fill(t, label, entry, depth+1)
		v.SetMapIndex(key, entry)
	}
}

// some draws how many entries there are: 0 to 2, and mostly none from Deep levels down.
func (o *Options) some(t *rapid.T, label string, depth int) int {
	if o.Deep > 0 && depth >= o.Deep && rapid.IntRange(0, 7).Draw(t, label) > 0 {
		return 0
	}
	return rapid.IntRange(0, 2).Draw(t, label)
}

// integer draws any number of so many bits, small ones and the ends more often.
func integer(t *rapid.T, label string, bits int) int64 {
	least, most := int64(-1)<<(bits-1), int64(1)<<(bits-1)-1
	return rapid.OneOf(rapid.Int64Range(-1, 3), rapid.Int64Range(least, most)).Draw(t, label)
}
