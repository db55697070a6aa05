package input

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/cmd/joiner/catalogfile"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/overlay"
	"github.com/joiner-sh/joiner/shared/model"
)

// Offered is what can be bought: of a catalog file, the same for every class, or of the region built in.
type Offered struct {
	types    []model.InstanceType // of the file
	region   *catalogfile.Region  // nil where there is a file
	Warnings []string
}

// ReadOffered reads what can be bought for the clusters' classes; path is empty where no catalog is given.
func ReadOffered(path string, snapshot *model.Snapshot, settings offering.Settings) (Offered, error) {
	if path != "" {
		types, err := catalogfile.Read(path)
		g := Offered{types: types}
		g.Warnings = g.overlaysLeftOut(snapshot)
		return g, err
	}
	region, err := catalogfile.BuiltIn()
	if err != nil {
		return Offered{}, err
	}
	region.Settings = settings
	zones := zonesOf(snapshot)
	if len(zones) == 0 {
		zones = region.Elsewhere(wantedZones(snapshot))
	}
	moved := region.WithZones(zones)
	g := Offered{region: moved}
	if moved != region {
		g.Warnings = append(g.Warnings,
			fmt.Sprintf("without --catalog, %s is taken to offer what %s offers, at its prices",
				strings.Join(zones, ", "), region.Name))
	}
	for i := range snapshot.Classes {
		class := &snapshot.Classes[i]
		if class.PlacementGroup != nil || len(class.Reservations) > 0 {
			g.Warnings = append(g.Warnings,
				fmt.Sprintf("without --catalog, the placement group and capacity reservations of EC2NodeClass %s are "+
					"unknown: it is planned without them", class.Name))
		}
	}
	g.Warnings = append(g.Warnings, g.overlaysLeftOut(snapshot)...)
	return g, nil
}

// InstanceTypes are those of the region that is built in; nil where a catalog file is used.
func (g *Offered) InstanceTypes() []model.InstanceTypeInfo {
	if g.region == nil {
		return nil
	}
	return g.region.InstanceTypes
}

// Everything is what can be bought: of a catalog file, or of the region by a class of Amazon Linux 2023.
func (g *Offered) Everything() []model.InstanceType {
	if g.region == nil {
		return g.types
	}
	return g.region.Types(model.Class{Family: "AL2023"})
}

// Region is its name; "" where a catalog file is used.
func (g *Offered) Region() string {
	if g.region == nil {
		return ""
	}
	return g.region.Name
}

// overlaysLeftOut says which NodeOverlays are not applied, and why.
func (g *Offered) overlaysLeftOut(snapshot *model.Snapshot) []string {
	if len(snapshot.Overlays) == 0 {
		return nil
	}
	catalogs, _ := g.Catalogs(snapshot, nil)
	problems := overlay.Apply(snapshot.Overlays, snapshot.Pools, catalogs).Problems
	var out []string
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		out = append(out, fmt.Sprintf("NodeOverlay %s is not applied (%s): %s", name, problems[name].Reason,
			problems[name].Message))
	}
	return out
}

// zonesOf returns the zones of the cluster's subnets, as far as they are resolved, and of its nodes, sorted.
func zonesOf(snapshot *model.Snapshot) []string {
	var zones []string
	for i := range snapshot.Classes {
		for _, subnet := range snapshot.Classes[i].Status.Subnets {
			zones = append(zones, subnet.Zone)
		}
	}
	for i := range snapshot.Nodes {
		if zone := snapshot.Nodes[i].Labels[model.LabelZone]; zone != "" {
			zones = append(zones, zone)
		}
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// wantedZones returns the zones that NodePools ask for, sorted.
func wantedZones(snapshot *model.Snapshot) []string {
	var zones []string
	for i := range snapshot.Pools {
		for _, r := range snapshot.Pools[i].Template.Requirements {
			if r.Key == model.LabelZone && r.Operator == model.In {
				zones = append(zones, r.Values...)
			}
		}
	}
	slices.Sort(zones)
	return slices.Compact(zones)
}

// Catalogs returns what each class can buy, and why one cannot be used, by class name. From a catalog file every class
// that anything names can buy everything, whether or not it is there itself.
func (g *Offered) Catalogs(
	snapshot *model.Snapshot, claims []model.Claim,
) (map[string][]model.InstanceType, map[string]string) {
	catalogs, problems := map[string][]model.InstanceType{}, map[string]string{}
	if g.region == nil {
		for i := range snapshot.Pools {
			catalogs[snapshot.Pools[i].Template.ClassName] = g.types
		}
		for i := range claims {
			catalogs[claims[i].Class] = g.types
		}
		overlay.AddTo(catalogs, catalogs, snapshot, nil)
		return catalogs, problems
	}
	for i := range snapshot.Classes {
		class := &snapshot.Classes[i]
		if why := classProblem(class); why != "" {
			problems[class.Name] = why
			continue
		}
		if wrong := g.region.ClassProblems(*class); len(wrong) > 0 {
			problems[class.Name] = wrong[0].Condition + ": " + wrong[0].Message
			continue
		}
		without := *class
		without.PlacementGroup, without.Status.Reservations = nil, nil // see ReadOffered
		catalogs[class.Name] = g.region.Types(without)
	}
	overlay.AddTo(catalogs, catalogs, snapshot, nil)
	return catalogs, problems
}

// classProblem says why nothing may be launched from a class, and "" where something may.
func classProblem(class *model.Class) string {
	why := slices.Clone(class.Unsupported)
	for _, problem := range slices.Concat(class.Invalid, class.Status.Problems) {
		// the status may say the same
		if text := problem.Condition + ": " + problem.Message; !slices.Contains(why, text) {
			why = append(why, text)
		}
	}
	if class.DeletedUnix != 0 {
		why = append(why, "it is being deleted")
	}
	return strings.Join(why, "; ")
}
