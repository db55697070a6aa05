package offering

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// CT-07: a zonal shift names a zone by its ID, closes all there is in it, and is about no offering outside.
func TestCT07ZonalShiftClosesAZoneByItsID(t *testing.T) {
	shift := model.UnavailableOffering{ZoneID: "usw2-az1", UntilUnix: now + 1, Reason: model.ReasonZonalShift}
	for _, capacity := range []string{model.OnDemand, model.Spot, model.Reserved} {
		inside := model.Offering{Zone: "us-west-2b", ZoneID: "usw2-az1", CapacityType: capacity}
		outside := model.Offering{Zone: "us-west-2a", ZoneID: "usw2-az2", CapacityType: capacity}
		if !Closes(shift, "m5.large", &inside) || Closes(shift, "m5.large", &outside) {
			t.Errorf("%s: closed inside %v, outside %v", capacity, Closes(shift, "m5.large", &inside), Closes(shift,
				"m5.large", &outside))
		}
		if Covers(shift, model.OfferingKey{InstanceType: "m5.large", Zone: inside.Zone, CapacityType: capacity}) {
			t.Error("an offering's key has no ID of a zone")
		}
	}
	if shift.About() != (model.UnavailableOffering{ZoneID: "usw2-az1"}) || shift.HalfOpen(now+2) ||
		!shift.Forgotten(now+1) {
		t.Errorf("it is about %+v; nobody probes a zonal shift", shift.About())
	}
}
