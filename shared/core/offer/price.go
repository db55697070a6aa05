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

// Usual returns the lowest price of one machine that meets the requirements, its instance type aside, holds the requests and
// is bought by the capacity type, and the machine's type: what would be paid if everything for sale could be had. Types are
// given without regard to marks. 0 where there is none.
func Usual(types []model.InstanceType, requirements []model.Requirement, requests model.Resources, capacityType string) (model.MicroUSD, string) {
	requirements = slices.DeleteFunc(slices.Clone(requirements), func(r model.Requirement) bool { return r.Key == model.LabelInstanceType })
	best, name := model.MicroUSD(0), ""
	for i := range types {
		t := &types[i]
		o, found := Cheapest(*t, func(o model.Offer) bool { return o.CapacityType == capacityType && offerMeets(&o, requirements) })
		if !found || best != 0 && o.Price >= best || !typeMeets(t, requirements) || !holds(t, requests) {
			continue
		}
		best, name = o.Price, t.Name
	}
	return best, name
}

// holds reports whether a node of the type has room for the requests.
func holds(t *model.InstanceType, requests model.Resources) bool {
	room := t.Allocatable()
	for name, amount := range requests {
		if amount > room[name] {
			return false
		}
	}
	return true
}
