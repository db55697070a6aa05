package interruption

import (
	"github.com/joiner-sh/joiner/shared/model"
)

// taken is the unavailable offering of what a claim's instance was bought as and EC2 took back at a time; false where it is none that can be
// marked, or that was too long ago.
func taken(claim *model.Claim, kind model.NoticeKind, atUnix, nowUnix int64) (model.UnavailableOffering, bool) {
	const backOff, forgetAfter = 3 * 60, 20 * 3 * 60 // seconds, as for a launch that gave nothing
	unavailable := model.UnavailableOffering{Reason: string(kind), Failures: 1, AtUnix: atUnix}
	switch {
	case kind == model.NoticeSpotInterrupted && claim.CapacityType == model.Spot:
		unavailable.Reason = model.EndedSpotInterrupted
		unavailable.OfferingKey = model.OfferingKey{InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: model.Spot}
	case kind == model.NoticeReservationInterrupted && claim.Reservation != "":
		unavailable.Reason, unavailable.Reservation = model.EndedReservationInterrupted, claim.Reservation
	default:
		return unavailable, false
	}
	unavailable.UntilUnix = unavailable.AtUnix + backOff
	unavailable.ForgetUnix = unavailable.UntilUnix + forgetAfter
	return unavailable, unavailable.UntilUnix > nowUnix && (unavailable.Reservation != "" || unavailable.InstanceType != "" && unavailable.Zone != "")
}
