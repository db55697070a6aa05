package hash

import (
	"testing"
)

type device struct {
	Name string
	Size *int64
	Root *bool
}

type spec struct {
	Text    string
	Map     map[string]string
	Devices []device
	Nested  *spec
	Count   int
}

func ptr[T any](v T) *T { return &v }

func TestSameMeaningSameHash(t *testing.T) {
	tests := []struct {
		name string
		a, b any
	}{
		{"order of a list", spec{Devices: []device{{Name: "a"}, {Name: "b"}}}, spec{Devices: []device{{Name: "b"}, {Name: "a"}}}},
		{"nil and empty list", spec{Devices: nil}, spec{Devices: []device{}}},
		{"nil and empty map", spec{Map: nil}, spec{Map: map[string]string{}}},
		{"nil and zero struct", spec{Nested: nil}, spec{Nested: &spec{}}},
		{"nil and false", device{Root: nil}, device{Root: ptr(false)}},
		{"nil and 0", device{Size: nil}, device{Size: ptr(int64(0))}},
		{"pointer and value", spec{Text: "a"}, &spec{Text: "a"}},
		{"absent field", struct{ A string }{"a"}, struct{ A, B string }{A: "a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if a, b := Of(tt.a), Of(tt.b); a != b {
				t.Errorf("Of(%+v) = %s, Of(%+v) = %s, want the same", tt.a, a, tt.b, b)
			}
		})
	}
}

func TestOtherMeaningOtherHash(t *testing.T) {
	tests := []struct {
		name string
		a, b any
	}{
		{"text", spec{Text: "a"}, spec{Text: "b"}},
		{"same text in another field", struct{ A, B string }{A: "x"}, struct{ A, B string }{B: "x"}},
		{"repeated item", spec{Devices: []device{{Name: "a"}}}, spec{Devices: []device{{Name: "a"}, {Name: "a"}}}},
		{"two repeated items", spec{Devices: []device{{Name: "a"}, {Name: "a"}}}, spec{Devices: []device{{Name: "b"}, {Name: "b"}}}},
		{"empty map value", spec{Map: map[string]string{"a": ""}}, spec{}},
		{"key and value swapped", spec{Map: map[string]string{"a": "b"}}, spec{Map: map[string]string{"b": "a"}}},
		{"text split elsewhere", spec{Map: map[string]string{"ab": "c"}}, spec{Map: map[string]string{"a": "bc"}}},
		{"nesting", spec{Nested: &spec{Text: "a"}}, spec{Nested: &spec{Nested: &spec{Text: "a"}}}},
		{"number", spec{Count: 1}, spec{Count: 2}},
		{"list item with nothing in it", spec{Devices: []device{{}}}, spec{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if a, b := Of(tt.a), Of(tt.b); a == b {
				t.Errorf("Of(%+v) and Of(%+v) are both %s, want different", tt.a, tt.b, a)
			}
		})
	}
}

// Hashes are stored in clusters: this one may change only together with the versions of the hashes made from it.
func TestHashesOfStoredVersionsStay(t *testing.T) {
	got := Of(spec{Text: "a", Map: map[string]string{"k": "v"}, Devices: []device{{Name: "/dev/xvda", Size: ptr(int64(20))}}})
	const want = "4056012761890239625"
	if got != want {
		t.Errorf("Of = %s, want %s", got, want)
	}
}

func TestValuesWithoutARulePanic(t *testing.T) {
	for _, v := range []any{struct{ A float64 }{1}, struct{ a int }{1}, struct{ C chan int }{make(chan int)}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Of(%T) did not panic", v)
				}
			}()
			Of(v)
		}()
	}
}
