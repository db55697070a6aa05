package offer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Cheapest returns the type's cheapest available offer that allow accepts (nil = every one); false where there is none.
// Ties go to the first in the type's order.
func Cheapest(t model.InstanceType, allow func(model.Offer) bool) (model.Offer, bool) {
	best, found := model.Offer{}, false
	for _, o := range t.Offers {
		if o.Available && (allow == nil || allow(o)) && (!found || o.Price < best.Price) {
			best, found = o, true
		}
	}
	return best, found
}

// ByPrice returns the types that have an available offer allow accepts, cheapest first, then by name.
func ByPrice(types []model.InstanceType, allow func(model.Offer) bool) []model.InstanceType {
	type priced struct {
		instance model.InstanceType
		price    model.MicroUSD
	}
	var list []priced
	for _, t := range types {
		if o, found := Cheapest(t, allow); found {
			list = append(list, priced{t, o.Price})
		}
	}
	slices.SortStableFunc(list, func(a, b priced) int {
		return cmp.Or(cmp.Compare(a.price, b.price), strings.Compare(a.instance.Name, b.instance.Name))
	})
	out := make([]model.InstanceType, len(list))
	for i := range list {
		out[i] = list[i].instance
	}
	return out
}
