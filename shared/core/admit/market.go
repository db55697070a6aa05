package admit

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// matches returns what of the types meets everything a template asks.
func (t *template) matches(types []model.InstanceType) []offering.Match {
	wanted, err := requirement.From(t.requested)
	if err != nil {
		return nil
	}
	return offering.Matches(types, wanted)
}

// found says how many instance types match and from what price, or why none does.
func (t *template) found(types []model.InstanceType, matches []offering.Match, region string) model.Finding {
	if len(matches) > 0 {
		name, best := cheapest(matches)
		return model.Finding{Field: t.requirements, Message: fmt.Sprintf("%d of the %d instance types that %s has for this class match, from $%.4f per hour (%s, %s, %s)",
			len(matches), len(types), region, best.Price.USD(), name, best.CapacityType, best.Zone)}
	}
	f := model.Finding{Field: t.requirements, Message: "nothing matches, no node can be launched", Remedy: "Widen the requirements."}
	if len(types) == 0 {
		f.Field, f.Value = t.class, t.ClassName
		f.Message = "the EC2NodeClass can launch no instance type in " + region + ", no node can be launched"
		f.Remedy = "Check that its subnets are in zones of the region and that its images boot there."
		return f
	}
	e, found := offering.Excludes(types, t.requested)
	if !found {
		return f
	}
	f.Field, f.Message = t.field(e.Index), "nothing matches, no node can be launched: "+e.Why(t.requested)
	switch {
	case len(e.Values) > 0:
		f.Remedy = "Allow one of those here, or remove it."
	case e.With >= 0:
		f.Remedy = "Remove this or " + t.field(e.With) + "."
	default:
		f.Remedy = "Remove it."
	}
	return f
}

// cheapest returns the cheapest offering of all that match and its type; of equals the first.
func cheapest(matches []offering.Match) (name string, best *model.Offering) {
	for _, m := range matches {
		for _, o := range m.Offerings {
			if best == nil || o.Price < best.Price {
				name, best = m.Type.Name, o
			}
		}
	}
	return name, best
}

// holding returns the matches whose instances have room for the requests.
func holding(matches []offering.Match, requests model.Resources) []offering.Match {
	return slices.DeleteFunc(slices.Clone(matches), func(m offering.Match) bool {
		room := m.Type.Allocatable()
		for name, amount := range requests { // whether any is too much does not depend on the order
			if amount > room[name] {
				return true
			}
		}
		return false
	})
}

// typeOffering names an offering of a type whatever class buys it.
type typeOffering struct {
	model.OfferingKey
	reservation string
}

// offeringsOf returns a set of all offerings that match.
func offeringsOf(matches []offering.Match) map[typeOffering]bool {
	count := 0
	for _, m := range matches {
		count += len(m.Offerings)
	}
	out := make(map[typeOffering]bool, count)
	for _, m := range matches {
		for _, o := range m.Offerings {
			out[typeOffering{model.OfferingKey{InstanceType: m.Type.Name, Zone: o.Zone, CapacityType: o.CapacityType}, o.ReservationID}] = true
		}
	}
	return out
}

// regionName is how the region is called in sentences.
func (k *Facts) regionName() string {
	if k.Settings.Region == "" {
		return "the region"
	}
	return k.Settings.Region
}
