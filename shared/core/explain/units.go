package explain

import (
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// In JSON an amount of money has its unit in its name: millionths of a dollar, by the hour where it is a price. The members without a unit
// are those of earlier versions; they are written beside the others for one release.

// MarshalJSON writes amounts with their units, too.
func (f Fit) MarshalJSON() ([]byte, error) {
	type plain Fit
	return wire.EncodeJSON(struct {
		plain
		WithPrice model.MicroUSD `json:"priceMicroUSDPerHour,omitempty"`
	}{plain(f), f.Price})
}

// MarshalJSON writes amounts with their units, too.
func (c Cost) MarshalJSON() ([]byte, error) {
	type plain Cost
	return wire.EncodeJSON(struct {
		plain
		WithTotal  model.MicroUSD `json:"totalMicroUSD"`
		WithIdle   model.MicroUSD `json:"idleMicroUSD"`
		WithUnseen model.MicroUSD `json:"unseenMicroUSD"`
	}{plain(c), c.Total, c.Idle, c.Unseen})
}

// MarshalJSON writes amounts with their units, too.
func (c PoolCost) MarshalJSON() ([]byte, error) {
	type plain PoolCost
	return wire.EncodeJSON(struct {
		plain
		WithCost   model.MicroUSD `json:"costMicroUSD"`
		WithIdle   model.MicroUSD `json:"idleMicroUSD"`
		WithUnseen model.MicroUSD `json:"unseenMicroUSD"`
	}{plain(c), c.Cost, c.Idle, c.Unseen})
}

// MarshalJSON writes amounts with their units, too.
func (c NamespaceCost) MarshalJSON() ([]byte, error) {
	type plain NamespaceCost
	return wire.EncodeJSON(struct {
		plain
		WithCost model.MicroUSD `json:"costMicroUSD"`
	}{plain(c), c.Cost})
}

// MarshalJSON writes amounts with their units, too.
func (c WorkloadCost) MarshalJSON() ([]byte, error) {
	type plain WorkloadCost
	return wire.EncodeJSON(struct {
		plain
		WithCost model.MicroUSD `json:"costMicroUSD"`
		WithFair model.MicroUSD `json:"fairMicroUSD,omitempty"`
	}{plain(c), c.Cost, c.Fair})
}

// MarshalJSON writes amounts with their units, too.
func (c NodeCost) MarshalJSON() ([]byte, error) {
	type plain NodeCost
	return wire.EncodeJSON(struct {
		plain
		WithPrice model.MicroUSD `json:"priceMicroUSDPerHour"`
		WithIdle  model.MicroUSD `json:"idleMicroUSDPerHour"`
	}{plain(c), c.Price, c.Idle})
}

// MarshalJSON writes amounts with their units, too.
func (d Decided) MarshalJSON() ([]byte, error) {
	type plain Decided
	return wire.EncodeJSON(struct {
		plain
		WithSavings model.MicroUSD `json:"savingsMicroUSDPerHour,omitempty"`
	}{plain(d), d.Savings})
}

// MarshalJSON writes amounts with their units, too.
func (l InstanceLifetime) MarshalJSON() ([]byte, error) {
	type plain InstanceLifetime
	return wire.EncodeJSON(struct {
		plain
		WithPrice model.MicroUSD `json:"priceMicroUSDPerHour"`
	}{plain(l), l.Price})
}

// MarshalJSON writes amounts with their units, too.
func (l Launch) MarshalJSON() ([]byte, error) {
	type plain Launch
	return wire.EncodeJSON(struct {
		plain
		WithPlanned model.MicroUSD `json:"plannedMicroUSDPerHour"`
	}{plain(l), l.Planned})
}

// MarshalJSON writes amounts with their units, too.
func (a Alternative) MarshalJSON() ([]byte, error) {
	type plain Alternative
	return wire.EncodeJSON(struct {
		plain
		WithPrice model.MicroUSD `json:"priceMicroUSDPerHour,omitempty"`
	}{plain(a), a.Price})
}

// MarshalJSON writes amounts with their units, too.
func (s Saving) MarshalJSON() ([]byte, error) {
	type plain Saving
	return wire.EncodeJSON(struct {
		plain
		WithSpent   model.MicroUSD `json:"spentMicroUSD"`
		WithSaved   model.MicroUSD `json:"savedMicroUSD"`
		WithPerHour model.MicroUSD `json:"savedMicroUSDPerHour"`
	}{plain(s), s.Spent, s.Saved, s.PerHour})
}

// MarshalJSON writes amounts with their units, too.
func (m CommandSaving) MarshalJSON() ([]byte, error) {
	type plain CommandSaving
	return wire.EncodeJSON(struct {
		plain
		WithPlanned model.MicroUSD `json:"plannedMicroUSDPerHour"`
		WithPerHour model.MicroUSD `json:"savedMicroUSDPerHour"`
		WithSaved   model.MicroUSD `json:"savedMicroUSD"`
	}{plain(m), m.Planned, m.PerHour, m.Saved})
}
