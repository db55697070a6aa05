package wire

import (
	"bytes"
	"encoding/json"
	"testing"
)

// pair writes itself by EncodeJSON, as values with amounts do.
type pair struct{ Left, Right string }

func (p pair) MarshalJSON() ([]byte, error) {
	type plain pair
	return EncodeJSON(plain(p))
}

// TestEncodeJSONLeavesEscapingToTheWhole: a value alone has no escapes, and as a part of another it has those of the encoder that writes it.
func TestEncodeJSONLeavesEscapingToTheWhole(t *testing.T) {
	v := map[string]pair{"x": {"a<b", "c&d"}}
	const plain, escaped = `{"x":{"Left":"a<b","Right":"c&d"}}`, `{"x":{"Left":"a\u003cb","Right":"c\u0026d"}}`
	got, err := EncodeJSON(v)
	if err != nil || string(got) != plain+"\n" {
		t.Errorf("EncodeJSON: %s, %v", got, err)
	}
	if got, err = json.Marshal(v); err != nil || string(got) != escaped {
		t.Errorf("json.Marshal: %s, %v", got, err)
	}
	if got, err = EncodeJSON(func() {}); err == nil || len(bytes.TrimSpace(got)) > 0 {
		t.Errorf("of a function: %s, %v", got, err)
	}
}
