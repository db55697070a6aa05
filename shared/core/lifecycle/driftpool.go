package lifecycle

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// requirementsDrift compares a claim's labels with what its pool asks for now, strictly: a label that is asked for and
// is not there does not meet. minValues are about what may be launched and say nothing of an instance. Requirements
// that cannot be read are a problem of the pool and no drift.
func requirementsDrift(v DriftView) Drift {
	wanted, err := requirement.From(v.Pool.Template.Requirements)
	if err != nil {
		return Drift{}
	}
	key, value, has := unmet(&v, wanted)
	if key == "" {
		return Drift{}
	}
	what := fmt.Sprintf("is %q", value)
	if !has {
		what = "is missing"
	}
	return Drift{RequirementsDrifted,
		fmt.Sprintf("NodePool %s: spec.template.spec.requirements require %s; the instance's label %s",
			v.Pool.Name, wanted[key].Text(key), what)}
}

// unmet returns the first key of wanted that the label of an instance is known not to meet, and that label; "" where
// there is none.
func unmet(v *DriftView, wanted requirement.Requirements) (key, value string, has bool) {
	for _, key := range wanted.Keys() {
		value, has, known := labelOf(v, key)
		set := wanted[key]
		if known && !(has && set.Has(value)) && (has || !set.AllowsAbsent()) {
			return key, value, has
		}
	}
	return "", "", false
}

// labelOf returns the label an instance has by its claim. known is false where that is unknown: a label nodes have by
// what they are is absent only where the type is known not to have it.
func labelOf(v *DriftView, key string) (value string, has, known bool) {
	if value, has = requirement.Label(v.Claim.Labels, key); has && (value != "" || !requirement.WellKnown(key)) {
		return value, true, true
	}
	if key == model.LabelHostname {
		return "", false, false // every instance's own
	}
	if !requirement.WellKnown(key) {
		return "", false, true
	}
	if value = ownLabel(&v.Claim, key); value != "" {
		return value, true, true
	}
	if has || v.Type == nil { // has: an empty one is not decided yet, as the partition of a placement group
		return "", false, false
	}
	switch values := v.Type.Labels[key]; len(values) {
	case 0:
		return "", false, true
	case 1:
		return values[0], true, true
	}
	return "", false, false
}

// ownLabel is what a claim itself says of a label; "" where it does not.
func ownLabel(claim *model.Claim, key string) string {
	switch key {
	case model.LabelInstanceType:
		return claim.InstanceType
	case model.LabelZone:
		return claim.Zone
	case model.LabelZoneID:
		return claim.ZoneID
	case model.LabelCapacityType:
		return claim.CapacityType
	case model.LabelReservationID:
		return claim.Reservation
	case model.LabelNodePool:
		return claim.Pool
	case model.LabelNodeClass:
		return claim.Class
	}
	return ""
}

// settleSeconds is for how long after its launch an instance's type is not asked about: catalogs differ while one is
// refreshed.
const settleSeconds = 3600

// typeDrift is about an instance whose type nobody could launch any more as it was: it is not listed, or not sold in
// its zone in the way it was bought, be it that nothing of it is left now. A reserved instance is asked about as
// reserved or on-demand, of any reservation: where its reservation is gone it runs on as on-demand. What is not known
// concludes nothing.
func typeDrift(v DriftView) Drift {
	claim := &v.Claim
	since := cmp.Or(claim.CreatedUnix, claim.LaunchedUnix)
	if !v.Sold || since == 0 || v.NowUnix-since < settleSeconds || claim.InstanceType == "" || claim.Zone == "" || claim.CapacityType == "" {
		return Drift{}
	}
	if v.Type == nil {
		return Drift{TypeDrifted, fmt.Sprintf("instance type %s is not sold any more in the region", claim.InstanceType)}
	}
	alike := func(o model.Offering) bool {
		return o.Zone == claim.Zone &&
			(o.CapacityType == claim.CapacityType || claim.CapacityType == model.Reserved && o.CapacityType == model.OnDemand)
	}
	if slices.ContainsFunc(v.Type.Offerings, alike) {
		return Drift{}
	}
	return Drift{TypeDrifted, fmt.Sprintf("instance type %s is not sold any more in %s as %s", claim.InstanceType, claim.Zone, claim.CapacityType)}
}
