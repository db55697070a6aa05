package draw

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type inner struct{ Number int32 }

type sample struct {
	Text     string
	On       bool
	Manifest *inner
	List     []inner
	Map      map[string][]inner
	When     time.Time
	hidden   int
}

func TestEveryFieldIsDrawn(t *testing.T) {
	seen := map[string]bool{}
	when := reflect.TypeFor[time.Time]()
	o := Options{Types: map[reflect.Type]func(*rapid.T, string) reflect.Value{
		when: func(t *rapid.T, label string) reflect.Value {
			return reflect.ValueOf(time.Unix(rapid.Int64Range(0, 5).Draw(t, label), 0))
		},
	}}
	rapid.Check(t, func(t *rapid.T) {
		s := Any[sample](t, "sample", o)
		seen["text"] = seen["text"] || s.Text != ""
		seen["on"] = seen["on"] || s.On
		seen["pointer"] = seen["pointer"] || s.Manifest != nil && s.Manifest.Number != 0
		seen["no pointer"] = seen["no pointer"] || s.Manifest == nil
		seen["list"] = seen["list"] || len(s.List) == 2
		seen["map"] = seen["map"] || len(s.Map) > 0
		seen["when"] = seen["when"] || s.When.Unix() == 5
		if s.hidden != 0 || s.List != nil && len(s.List) == 0 || s.Map != nil && len(s.Map) == 0 {
			t.Fatalf("got %+v", s)
		}
	})
	for _, what := range []string{"text", "on", "pointer", "no pointer", "list", "map", "when"} {
		if !seen[what] {
			t.Errorf("never drawn: %s", what)
		}
	}
}
