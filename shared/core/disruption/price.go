package disruption

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// instanceTypes finds what classes can buy by name.
type instanceTypes struct {
	catalogs map[string][]model.InstanceType
	byName   map[string]map[string]*model.InstanceType // as catalogs, as far as asked for
}

// of returns the instance types of a pool with the class by name.
func (t *instanceTypes) of(class, pool string) map[string]*model.InstanceType {
	key := model.CatalogName(t.catalogs, class, pool)
	known := t.byName[key]
	if known == nil {
		list := t.catalogs[key]
		known = make(map[string]*model.InstanceType, len(list))
		for i := range list {
			known[list[i].Name] = &list[i]
		}
		if t.byName == nil {
			t.byName = make(map[string]map[string]*model.InstanceType, len(t.catalogs))
		}
		t.byName[key] = known
	}
	return known
}

// prices are today's, whether or not an offering can be had.
type prices struct {
	types instanceTypes
	known map[priceKey]model.MicroUSD // of one reservation each; −1 = the catalog has none
}

// priceKey is what the price of an instance depends on.
type priceKey struct {
	class, pool string
	model.OfferingKey
	reservation string
}

// keyOf returns what a claim was bought as, whatever the reservation.
func keyOf(claim *model.Claim) priceKey {
	return priceKey{class: claim.Class, pool: claim.Pool, OfferingKey: model.OfferingKey{
		InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType,
	}}
}

// of returns what a claim's instance costs per hour today; what it cost at launch where the catalog does not know the
// offering. 0 = not known.
func (p *prices) of(claim *model.Claim) model.MicroUSD {
	key := keyOf(claim)
	key.reservation = claim.Reservation
	price, known := p.known[key]
	if !known {
		price = -1
		if t := p.types.of(claim.Class, claim.Pool)[claim.InstanceType]; t != nil {
			price = priceAmong(t.Offerings, &key)
		}
		if p.known == nil {
			p.known = make(map[priceKey]model.MicroUSD)
		}
		p.known[key] = price
	}
	if price < 0 {
		return claim.Price
	}
	return price
}

// priceAmong returns the price of the offering, −1 where it is not among them.
func priceAmong(offerings []model.Offering, key *priceKey) model.MicroUSD {
	for i := range offerings {
		o := &offerings[i]
		if o.Zone == key.Zone && o.CapacityType == key.CapacityType &&
			(o.CapacityType != model.Reserved || o.ReservationID == key.reservation) {
			return o.Price
		}
	}
	return -1
}

// lowest returns the lowest price of an offering, whatever the reservation, and whether it can be had now.
func (p *prices) lowest(key priceKey) (price model.MicroUSD, available bool) {
	t := p.types.of(key.class, key.pool)[key.InstanceType]
	if t == nil {
		return 0, false
	}
	known := false
	for i := range t.Offerings {
		if o := &t.Offerings[i]; o.Zone == key.Zone && o.CapacityType == key.CapacityType {
			if !known || o.Price < price {
				price, known = o.Price, true
			}
			available = available || o.Available
		}
	}
	return price, available
}

// replacement returns the lowest price of the offerings that a replacement may be bought as and that can be had; false
// where there is none.
func (p *prices) replacement(planned *model.PlannedClaim) (price model.MicroUSD, found bool) {
	types := p.types.of(planned.Class, planned.Pool)
	for _, name := range planned.InstanceTypes {
		t := types[name]
		if t == nil {
			continue
		}
		for i := range t.Offerings {
			o := &t.Offerings[i]
			if o.Available && slices.Contains(planned.Zones, o.Zone) &&
				slices.Contains(planned.CapacityTypes, o.CapacityType) && (!found || o.Price < price) {
				price, found = o.Price, true
			}
		}
	}
	return price, found
}
