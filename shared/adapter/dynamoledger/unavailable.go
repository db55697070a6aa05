package dynamoledger

import (
	"context"
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Regions are what all clusters of an account and region share: offerings that are unavailable, calls of EC2's API, and
// what was learned of instance types.
type Regions struct{ *table }

// MarkUnavailable notes offerings, capacity types or subnets that are to be left alone, for every cluster of the
// account and region. An unavailable offering of more failures stays, or one of as many that lasts longer, unless it is
// forgotten by now.
func (r Regions) MarkUnavailable(ctx context.Context, reg model.Registration,
	unavailableOfferings []model.UnavailableOffering) error {
	for _, unavailable := range unavailableOfferings {
		err := r.putUnavailable(ctx, reg, unavailable,
			"attribute_not_exists(PK) OR #ttl <= :at OR #failures < :failures"+
				" OR (#failures = :failures AND #until < :until)",
			item{":until": number(unavailable.UntilUnix), ":failures": number(int64(unavailable.Failures)),
				":at": number(unavailable.AtUnix)})
		if _, stays := unmet(err); err != nil && !stays {
			return translate(err, "record the unavailable offering %s", unavailableName(unavailable))
		}
	}
	return nil
}

// TakeProbe moves the time of an unavailable offering that is still as given.
func (r Regions) TakeProbe(ctx context.Context, reg model.Registration, unavailable model.UnavailableOffering,
	untilUnix int64) (model.UnavailableOffering, error) {
	next := unavailable
	next.UntilUnix, next.ForgetUnix = untilUnix, max(unavailable.ForgetUnix, untilUnix)
	err := r.putUnavailable(ctx, reg, next, ifUnchanged, asStored(unavailable))
	if _, changed := unmet(err); changed {
		return unavailable, fault.New(fault.Conflict, "ProbeTaken", "the unavailable offering %s has changed",
			unavailableName(unavailable))
	}
	if err != nil {
		return unavailable, translate(err, "reserve the probe of the unavailable offering %s",
			unavailableName(unavailable))
	}
	return next, nil
}

// Clear removes an unavailable offering that is still as given.
func (r Regions) Clear(ctx context.Context, reg model.Registration, unavailable model.UnavailableOffering) error {
	err := r.remove(ctx, unavailableKey(reg, unavailable), ifUnchanged, asStored(unavailable))
	if _, changed := unmet(err); changed {
		return nil
	}
	return translate(err, "delete the unavailable offering %s", unavailableName(unavailable))
}

// ifUnchanged is the condition that an unavailable offering is stored with a time and failures.
const ifUnchanged = "#until = :was AND #failures = :failures"

// asStored are the values of ifUnchanged.
func asStored(unavailable model.UnavailableOffering) item {
	return item{":was": number(unavailable.UntilUnix), ":failures": number(int64(unavailable.Failures))}
}

func (r Regions) putUnavailable(ctx context.Context, reg model.Registration, unavailable model.UnavailableOffering,
	condition string, values item) error {
	entry, err := withDoc(unavailableKey(reg, unavailable), "mark", unavailable)
	if err != nil {
		return err
	}
	entry["until"], entry["failures"] = number(unavailable.UntilUnix), number(int64(unavailable.Failures))
	entry["ttl"] = number(max(unavailable.UntilUnix, unavailable.ForgetUnix))
	return r.write(ctx, r.put(entry, condition, values))
}

func unavailableKey(reg model.Registration, unavailable model.UnavailableOffering) item {
	return key(regionPK(reg.Account, reg.Region), unavailableSK+unavailableName(unavailable))
}

func unavailableName(unavailable model.UnavailableOffering) string {
	switch {
	case unavailable.SubnetID != "":
		return "subnet#" + unavailable.SubnetID
	case unavailable.Reservation != "":
		return "reservation#" + unavailable.Reservation
	case unavailable.PlacementGroup != "":
		within := unavailable
		within.PlacementGroup = ""
		return "placement#" + unavailable.PlacementGroup + "#" + unavailableName(within)
	case unavailable.Group != "":
		return strings.Join([]string{unavailable.CapacityType, "group", unavailable.Group, unavailable.InstanceType,
			unavailable.Zone}, "#")
	}
	return unavailable.CapacityType + "#" + unavailable.InstanceType + "#" + unavailable.Zone
}
