package consolecmd

import (
	"slices"
	"testing"
	"time"
)

// TestRecordsAreAskedForOnce: a console that is open all day asks the store for what is new, and a little of what was before.
func TestRecordsAreAskedForOnce(t *testing.T) {
	type record struct {
		key string
		at  int64
	}
	there := []record{{"b", 1100}, {"a", 1000}}
	var asked [][2]int64
	var k kept[record]
	read := func(from, to int64) []string {
		t.Helper()
		found, err := k.read(from, to, func(r *record) (string, int64) { return r.key, r.at }, func(from, to int64) ([]record, error) {
			asked = append(asked, [2]int64{from, to})
			var out []record
			for _, r := range there {
				if from <= r.at && r.at < to {
					out = append(out, r)
				}
			}
			return out, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, r := range found {
			keys = append(keys, r.key)
		}
		return keys
	}
	if got := read(900, 2000); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("got %v", got)
	}
	there = append(there, record{"late", 1900}, record{"new", 2100})
	if got := read(900, 2001); !slices.Equal(got, []string{"a", "b"}) || len(asked) != 1 {
		t.Fatalf("a moment later: got %v, asked %v", got, asked)
	}
	k.at = time.Time{} // some seconds pass
	if got := read(900, 2200); !slices.Equal(got, []string{"a", "b", "late", "new"}) {
		t.Fatalf("got %v", got)
	}
	if want := [][2]int64{{900, 2000}, {2000 - lateRecords, 2200}}; !slices.Equal(asked, want) {
		t.Errorf("asked %v, want %v", asked, want)
	}
	k.at = time.Time{}
	if got := read(1050, 2200); !slices.Equal(got, []string{"b", "late", "new"}) || len(asked) != 2 {
		t.Errorf("a shorter span: got %v, asked %v", got, asked)
	}
	k.at = time.Now()
	if got := read(500, 2200); len(got) != 4 || asked[len(asked)-1][0] != 500 {
		t.Errorf("a longer span: got %v, asked %v", got, asked)
	}
}
