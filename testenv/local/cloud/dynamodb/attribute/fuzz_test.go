package attribute

import (
	"encoding/json"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/bounds"
)

// FuzzValue: a value that can be read is written and read back the same.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{
		`{"S":"a"}`, `{"N":"-1.5E10"}`, `{"B":"AQI="}`, `{"BOOL":true}`, `{"NULL":true}`, `{"SS":["a","b"]}`, `{"NS":["1","1.0"]}`,
		`{"L":[{"S":""},{"M":{"a":{"N":"0"}}}]}`, `{"M":{}}`, `{"S":null,"N":"1"}`, `{"N":"1e126"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		bounds.Check(t, len(data), func() {
			var v Value
			if json.Unmarshal(data, &v) != nil || v.IsAbsent() {
				return
			}
			written, err := json.Marshal(v)
			if err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			}
			var again Value
			if err := json.Unmarshal(written, &again); err != nil {
				t.Fatalf("what was written cannot be read: %v\n%s", err, written)
			}
			if back, err := json.Marshal(again); err != nil || string(back) != string(written) {
				t.Errorf("written %s, read back and written %s (%v)", written, back, err)
			}
		})
	})
}
