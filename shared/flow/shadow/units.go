package shadow

import (
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// MarshalJSON writes amounts with their units, too.
func (t Total) MarshalJSON() ([]byte, error) {
	type plain Total
	return wire.EncodeJSON(struct {
		plain
		WithLive   model.MicroUSD `json:"liveMicroUSDPerHour"`
		WithShadow model.MicroUSD `json:"shadowMicroUSDPerHour"`
	}{plain(t), t.Live, t.Shadow})
}

// MarshalJSON writes amounts with their units, too.
func (o DifferentDecision) MarshalJSON() ([]byte, error) {
	type plain DifferentDecision
	return wire.EncodeJSON(struct {
		plain
		WithLive   model.MicroUSD `json:"liveMicroUSDPerHour"`
		WithShadow model.MicroUSD `json:"shadowMicroUSDPerHour"`
	}{plain(o), o.Live, o.Shadow})
}
