package shadow

import (
	"bytes"
	"encoding/json"

	"github.com/joiner-sh/joiner/shared/model"
)

// encode writes a value without escaping it for HTML: whoever encodes the whole does that, or not.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return out.Bytes(), err
}

// MarshalJSON writes amounts with their units, too.
func (t Total) MarshalJSON() ([]byte, error) {
	type plain Total
	return encode(struct {
		plain
		WithLive   model.MicroUSD `json:"liveMicroUSDPerHour"`
		WithShadow model.MicroUSD `json:"shadowMicroUSDPerHour"`
	}{plain(t), t.Live, t.Shadow})
}

// MarshalJSON writes amounts with their units, too.
func (o DifferentDecision) MarshalJSON() ([]byte, error) {
	type plain DifferentDecision
	return encode(struct {
		plain
		WithLive   model.MicroUSD `json:"liveMicroUSDPerHour"`
		WithShadow model.MicroUSD `json:"shadowMicroUSDPerHour"`
	}{plain(o), o.Live, o.Shadow})
}
