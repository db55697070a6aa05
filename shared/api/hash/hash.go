package hash

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// Of returns the hash of v, a decimal number below 2^64 as text. v is made of structs, pointers, slices, maps with
// string keys, strings, numbers and booleans. Of panics on anything else, which is a mistake in the program and not in
// its input.
func Of(v any) string {
	sum := sha256.Sum256(canonical(reflect.ValueOf(v)))
	return strconv.FormatUint(binary.BigEndian.Uint64(sum[:8]), 10)
}

// canonical returns bytes that are equal exactly where two values mean the same, and nil for zero. Each value is
// written with its kind and length first, so that no two different values run into the same bytes.
func canonical(v reflect.Value) []byte {
	if !v.IsValid() {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return canonical(v.Elem())
	case reflect.Struct:
		return ofStruct(v)
	case reflect.Map:
		return ofMap(v)
	case reflect.Slice, reflect.Array:
		return ofList(v)
	case reflect.String:
		return scalar('s', v.String())
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if v.IsZero() {
			return nil
		}
		return scalar('n', fmt.Sprint(v.Interface()))
	}
	panic(fmt.Sprintf("hash: no rule for %s", v.Type()))
}

// ofStruct writes the fields that are not zero, each after its name, so that a field added later changes no hash until
// somebody sets it.
func ofStruct(v reflect.Value) []byte {
	var parts [][]byte
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			panic(fmt.Sprintf("hash: field %s of %s is not exported", field.Name, v.Type()))
		}
		if value := canonical(v.Field(i)); value != nil {
			parts = append(parts, append(scalar('f', field.Name), value...))
		}
	}
	return join('{', parts)
}

// ofMap writes every entry: a label with an empty value is not the same as no label.
func ofMap(v reflect.Value) []byte {
	var parts [][]byte
	for entries := v.MapRange(); entries.Next(); {
		parts = append(parts, append(scalar('k', entries.Key().String()), canonical(entries.Value())...))
	}
	return join('{', parts)
}

func ofList(v reflect.Value) []byte {
	parts := make([][]byte, 0, v.Len())
	for i := range v.Len() {
		parts = append(parts, canonical(v.Index(i)))
	}
	return join('[', parts)
}

// join writes parts in sorted order; nothing at all where there are none.
func join(kind byte, parts [][]byte) []byte {
	if len(parts) == 0 {
		return nil
	}
	slices.SortFunc(parts, bytes.Compare)
	b := append([]byte{kind}, strconv.Itoa(len(parts))...)
	for _, part := range parts {
		b = append(b, ':')
		b = append(b, strconv.Itoa(len(part))...)
		b = append(b, ' ')
		b = append(b, part...)
	}
	return b
}

// scalar writes text after its kind and length; nothing at all where a value is empty.
func scalar(kind byte, text string) []byte {
	if text == "" && kind != 'k' && kind != 'f' {
		return nil
	}
	return append([]byte{kind}, strconv.Itoa(len(text))+" "+text...)
}
