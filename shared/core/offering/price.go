package offering

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Cheapest returns the type's cheapest available offering that allow accepts (nil = every one); false where there is none.
// Ties go to the first in the type's order.
func Cheapest(t model.InstanceType, allow func(model.Offering) bool) (model.Offering, bool) {
	best, found := model.Offering{}, false
	for _, o := range t.Offerings {
		if o.Available && (allow == nil || allow(o)) && (!found || o.Price < best.Price) {
			best, found = o, true
		}
	}
	return best, found
}

// Priced is a type and the price of its cheapest available offering.
type Priced struct {
	Type  *model.InstanceType
	Price model.MicroUSD // per hour
}

// PriceList returns the types that have an available offering, cheapest first, then by name. It refers to what it is given.
func PriceList(types []model.InstanceType) []Priced {
	list := make([]Priced, 0, len(types))
	for i := range types {
		if o, found := Cheapest(types[i], nil); found {
			list = append(list, Priced{&types[i], o.Price})
		}
	}
	slices.SortStableFunc(list, func(a, b Priced) int {
		return cmp.Or(cmp.Compare(a.Price, b.Price), strings.Compare(a.Type.Name, b.Type.Name))
	})
	return list
}

// Usual returns the lowest price below the bound of one instance that meets the requirements, holds the requests and is bought
// by the capacity type, and the instance's type: what would be paid if everything on the list could be had. 0 where there is
// none.
func Usual(list []Priced, requirements []model.Requirement, requests model.Resources, capacityType string, below model.MicroUSD) (model.MicroUSD, string) {
	best, name := model.MicroUSD(0), ""
	for _, p := range list {
		if p.Price >= below {
			break
		}
		if !fits(p.Type, requests) || !typeMeets(p.Type, requirements) {
			continue
		}
		o, found := Cheapest(*p.Type, func(o model.Offering) bool { return o.CapacityType == capacityType && offeringMeets(&o, requirements) })
		if found && o.Price < below {
			best, name, below = o.Price, p.Type.Name, o.Price
		}
	}
	return best, name
}

// fits reports whether a node of the type has room for the requests.
func fits(t *model.InstanceType, requests model.Resources) bool {
	for name, amount := range requests {
		if amount > t.Capacity[name]-t.Overhead[name] {
			return false
		}
	}
	return true
}
