package wire

import (
	"bytes"
	"encoding/json"
)

// EncodeJSON returns a value as one line of JSON with a line break at its end. Characters that mean something in HTML
// are written as they are: a value whose MarshalJSON returns these bytes has them escaped only if the encoder of the
// whole value escapes them.
func EncodeJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return out.Bytes(), err
}
