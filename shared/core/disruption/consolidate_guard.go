package disruption

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// guard narrows a replacement so that whatever it is launched as, the price does not rise.
type guard struct {
	v       *planner
	types   map[string]*model.InstanceType // of the claim's class, by name
	group   []*candidate                   // that are disrupted for it, among others
	claim   model.PlannedClaim
	ceiling model.MicroUSD // the most it may cost per hour
	kept    []string       // types that nodes of the group could as well be kept as
}

// narrow leaves of the claim the capacity type of its cheapest offering, the zones where that is cheap enough and the types whose
// most expensive offering there is; else it says why nothing is left. Where what it replaces is spot, enough types must be left to fall
// back on, and for a single node only the cheapest so many are, or as many more as minValues need.
func (g *guard) narrow() (code, why string) {
	kind := g.claim.Offering.CapacityType
	types := g.types
	first := types[g.claim.Offering.InstanceType]
	zones := slices.DeleteFunc(slices.Clone(g.claim.Zones), func(zone string) bool {
		return zone != g.claim.Offering.Zone && g.highest(first, kind, []string{zone}) > g.ceiling
	})
	for _, a := range g.group {
		if rivals(a, &g.claim, a.Claim.InstanceType) {
			g.kept = append(g.kept, a.Claim.InstanceType)
		}
	}
	if slices.Contains(g.kept, g.claim.Offering.InstanceType) {
		return NoSavings, fmt.Sprintf("its replacement would be of type %s too and no cheaper", g.claim.Offering.InstanceType)
	}
	var names []string
	for _, name := range g.claim.InstanceTypes {
		if price := g.highest(types[name], kind, zones); price >= 0 && price <= g.ceiling && !slices.Contains(g.kept, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return NoSavings, fmt.Sprintf("at worst its replacement would cost more than $%.4f per hour, below which it saves something", g.ceiling.USD())
	}
	if g.ofSpot() && kind == model.Spot {
		if len(names) < g.v.set.SpotTypes {
			return SpotToSpot, fmt.Sprintf("only %d cheaper instance types could replace it as spot, and %d are required", len(names), g.v.set.SpotTypes)
		}
		if len(g.group) == 1 { // the cheapest so many, or as many more as minValues asks for
			for n := g.v.set.SpotTypes; n < len(names); n++ {
				if code, _ := g.write(kind, zones, names[:n]); code == "" {
					return "", ""
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

// rivals reports whether the candidate could as well be kept in place of a claim that was launched as the type: it is what the claim
// may be, and no more expensive than what that was planned as.
func rivals(a *candidate, claim *model.PlannedClaim, instanceType string) bool {
	return a.Claim.InstanceType == instanceType && a.Claim.CapacityType == claim.Offering.CapacityType && a.Price <= claim.Price && slices.Contains(claim.Zones, a.Claim.Zone)
}

// highest returns the price of the most expensive offering of the type that can be had as the capacity type in one of the zones; −1 where
// there is none.
func (g *guard) highest(t *model.InstanceType, kind string, zones []string) model.MicroUSD {
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

// write narrows the claim to the capacity type, zones and types, if those still have as many values as the pool asks for.
func (g *guard) write(kind string, zones, names []string) (code, why string) {
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
			return NoSavings, fmt.Sprintf("minValues of %s requires %d values, and the cheaper instance types have %d", r.Key, r.MinValues, n)
		}
	}
	return "", ""
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
				if o.Available && slices.Contains(g.claim.CapacityTypes, o.CapacityType) && slices.Contains(g.claim.Zones, o.Zone) {
					seen[map[string]string{model.LabelZone: o.Zone, model.LabelCapacityType: o.CapacityType}[key]] = true
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
