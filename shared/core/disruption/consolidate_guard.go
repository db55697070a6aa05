package disruption

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// SpotToSpot is the code of spot nodes that only other spot nodes could take the place of.
const SpotToSpot = "SpotToSpot"

// guard narrows a replacement so that whatever it is launched as, the price does not rise.
type guard struct {
	spotTypes int                            // that must be cheaper where spot replaces spot
	types     map[string]*model.InstanceType // of the claim's class, by name
	group     []*candidate                   // that are disrupted for it, among others
	claim     model.PlannedClaim
	ceiling   model.MicroUSD // the most it may cost per hour
}

// narrow leaves of the claim the capacity type of its cheapest offering, the zones where that is cheap enough and the
// types whose most expensive offering there is; else it says why nothing is left. Where what it replaces is spot,
// enough types must be left to fall back on, and for a single node only the cheapest so many are, or as many more as
// minValues need.
func (g *guard) narrow() *model.KeptReason {
	kind, first := g.claim.Offering.CapacityType, g.claim.Offering.InstanceType
	zones := slices.DeleteFunc(slices.Clone(g.claim.Zones), func(zone string) bool {
		return zone != g.claim.Offering.Zone && highest(g.types[first], kind, []string{zone}) > g.ceiling
	})
	var kept []string // types that nodes of the group could as well be kept as
	for _, a := range g.group {
		if a.mayReplace(&g.claim) {
			kept = append(kept, a.Claim.InstanceType)
		}
	}
	if slices.Contains(kept, first) {
		return because(NoSavings, "its replacement would be of type %s too and no cheaper", first)
	}
	var names []string
	for _, name := range g.claim.InstanceTypes {
		price := highest(g.types[name], kind, zones)
		if price >= 0 && price <= g.ceiling && !slices.Contains(kept, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		const message = "at worst its replacement would cost more than $%.4f per hour, below which it saves something"
		return because(NoSavings, message, g.ceiling.USD())
	}
	if g.ofSpot() && kind == model.Spot {
		if len(names) < g.spotTypes {
			const message = "only %d cheaper instance types could replace it as spot, and %d are required"
			return because(SpotToSpot, message, len(names), g.spotTypes)
		}
		if len(g.group) == 1 { // the cheapest so many, or as many more as minValues asks for
			for n := g.spotTypes; n < len(names); n++ {
				if g.write(kind, zones, names[:n]) == nil {
					return nil
				}
			}
		}
	}
	return g.write(kind, zones, names)
}

// ofSpot reports whether all that is disrupted is spot.
func (g *guard) ofSpot() bool {
	return !slices.ContainsFunc(g.group, func(a *candidate) bool { return a.Claim.CapacityType != model.Spot })
}

// highest returns the price of the most expensive offering of the type that can be had as the capacity type in one of
// the zones; −1 where there is none.
func highest(t *model.InstanceType, kind string, zones []string) model.MicroUSD {
	price := model.MicroUSD(-1)
	if t == nil {
		return price
	}
	for i := range t.Offerings {
		if o := &t.Offerings[i]; o.Available && o.CapacityType == kind && slices.Contains(zones, o.Zone) {
			price = max(price, o.Price)
		}
	}
	return price
}

// write narrows the claim to the capacity type, zones and types, if those still have as many values as the pool asks
// for.
func (g *guard) write(kind string, zones, names []string) *model.KeptReason {
	g.claim.CapacityTypes, g.claim.Zones, g.claim.InstanceTypes = []string{kind}, zones, names
	byName := slices.Sorted(slices.Values(names))
	for i := range g.claim.Requirements {
		r := &g.claim.Requirements[i]
		switch r.Key {
		case model.LabelInstanceType:
			r.Operator, r.Values = model.In, byName
		case model.LabelZone:
			r.Operator, r.Values = model.In, slices.Clone(zones)
		case model.LabelCapacityType:
			r.Operator, r.Values = model.In, []string{kind}
		}
	}
	for _, r := range g.claim.Requirements {
		if r.MinValues == 0 {
			continue
		}
		if n := g.values(r.Key); n < r.MinValues {
			const message = "minValues of %s requires %d values, and the cheaper instance types have %d"
			return because(NoSavings, message, r.Key, r.MinValues, n)
		}
	}
	return nil
}

// values counts the values of a label among the claim's types.
func (g *guard) values(key string) int {
	seen := make(map[string]bool)
	for _, name := range g.claim.InstanceTypes {
		t := g.types[name]
		switch key {
		case model.LabelInstanceType:
			seen[t.Name] = true
		case model.LabelZone, model.LabelCapacityType:
			for _, o := range t.Offerings {
				value := o.Zone
				if key == model.LabelCapacityType {
					value = o.CapacityType
				}
				if o.Available && slices.Contains(g.claim.CapacityTypes, o.CapacityType) &&
					slices.Contains(g.claim.Zones, o.Zone) {
					seen[value] = true
				}
			}
		default:
			for _, value := range t.Labels[key] {
				seen[value] = true
			}
		}
	}
	return len(seen)
}
