package offering

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// reservedDiscount is what the price of reserved capacity is divided by: it is paid for already, so that it is all but free,
// and still ordered as what it is worth.
const reservedDiscount = 10_000_000

// reserved returns an offering for each of the class's reservations of the instance.
func (v *view) reserved(m *model.InstanceTypeInfo) []model.Offering {
	var out []model.Offering
	for i := range v.class.Status.Reservations {
		r := &v.class.Status.Reservations[i]
		if r.InstanceType != m.Name || listed(m, r.ID) {
			continue
		}
		price, zoneID := onDemandIn(m, r.Zone)
		ended := r.EndUnix != 0 && v.settings.NowUnix >= r.EndUnix || r.Expiring(v.settings.NowUnix)
		out = append(out, model.Offering{
			Zone: r.Zone, ZoneID: zoneID, CapacityType: model.Reserved, Price: price / reservedDiscount, ListPrice: price, Available: !ended,
			ReservationID: r.ID, ReservationCapacity: r.Free, ReservationBlock: r.Block, Interruptible: r.Interruptible,
		})
	}
	return out
}

// listed reports whether the instance's own offerings have the reservation, as those of a written catalog may.
func listed(m *model.InstanceTypeInfo, reservation string) bool {
	return slices.ContainsFunc(m.Offerings, func(o model.Offering) bool { return o.ReservationID == reservation })
}

// onDemandIn returns the instance's on-demand price, in the zone or else anywhere, 0 where it has none, and the zone's id as far
// as offerings there say it.
func onDemandIn(m *model.InstanceTypeInfo, zone string) (price model.MicroUSD, zoneID string) {
	for _, o := range m.Offerings {
		here := o.Zone == zone
		if here && o.ZoneID != "" {
			zoneID = o.ZoneID
		}
		if o.CapacityType == model.OnDemand && o.Price > 0 && (here || price == 0) {
			price = o.Price
		}
	}
	return price, zoneID
}
