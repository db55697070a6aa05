package overlay

import (
	"math/big"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// maxPrice bounds what an overlay can make of a price, a million dollars per hour: sums of prices cannot overflow.
const maxPrice = model.MicroUSD(1_000_000_000_000)

// maxDigits bounds the text of a price.
const maxDigits = 64

// change is what an overlay makes of a price; zero = nothing.
type change struct {
	kind   kind
	amount string // of the kind, a decimal number
}

type kind int

const (
	replaces kind = iota + 1 // dollars per hour in the place of the price
	adds                     // dollars per hour, signed
	scales                   // percent of the price, signed
)

// changeOf returns what the overlay makes of prices.
func changeOf(o *model.Overlay) (change, error) {
	var c change
	field, text := "spec.price", o.Price
	switch {
	case o.Price != "":
		c = change{replaces, o.Price}
	case strings.HasSuffix(o.PriceAdjustment, "%"):
		c = change{scales, strings.TrimSuffix(o.PriceAdjustment, "%")}
	case o.PriceAdjustment != "":
		c = change{adds, o.PriceAdjustment}
	default:
		return c, nil
	}
	if c.kind != replaces {
		field, text = "spec.priceAdjustment", o.PriceAdjustment
	}
	if _, ok := decimal(c.amount); !ok {
		return c, fault.New(fault.Invalid, "",
			"%s: %.80q: not an amount; write digits such as 0.085, with a sign in spec.priceAdjustment", field, text)
	}
	return c, nil
}

// decimal reads a decimal number.
func decimal(text string) (*big.Rat, bool) {
	digits := strings.TrimLeft(text, "+-")
	if text == "" || len(text) > maxDigits || len(text)-len(digits) > 1 || strings.Trim(digits, "0123456789.") != "" {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// apply changes the price of an offering. One whose price alone was missing can be bought where the price is replaced.
func (c change) apply(o *model.Offering) {
	o.Price = c.of(o.Price)
	o.Overlaid = true
	if o.Unpriced && c.kind == replaces {
		o.Available, o.Unpriced = true, false
	}
}

// of returns what becomes of a price, from 0 to maxPrice, rounded to the nearest micro-dollar.
func (c change) of(price model.MicroUSD) model.MicroUSD {
	amount, ok := decimal(c.amount)
	if !ok {
		return price
	}
	const micro = 1_000_000
	before, result := big.NewRat(int64(price), 1), new(big.Rat)
	switch c.kind {
	case replaces:
		result.Mul(amount, big.NewRat(micro, 1))
	case adds:
		result.Mul(amount, big.NewRat(micro, 1))
		result.Add(before, result)
	case scales:
		result.Mul(before, amount.Quo(amount, big.NewRat(100, 1)))
		result.Add(before, result)
	default:
		return price
	}
	result.Add(result, big.NewRat(1, 2))
	if result.Sign() <= 0 {
		return 0
	}
	whole := new(big.Int).Quo(result.Num(), result.Denom())
	if !whole.IsInt64() || whole.Int64() > int64(maxPrice) {
		return maxPrice
	}
	return model.MicroUSD(whole.Int64())
}
