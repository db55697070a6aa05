package ec2

import (
	"context"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Strategies of placement groups.
const (
	PlaceCluster   = "cluster"
	PlacePartition = "partition"
	PlaceSpread    = "spread"
)

// Limits of placement groups. Source: user guide, "Placement groups".
const (
	maxSpread     = 7 // running instances per zone of a group of strategy spread
	maxPartitions = 7 // per zone of a group of strategy partition
)

// PlacementGroup says where instances stand towards each other.
type PlacementGroup struct {
	ID, Name   string // made up when empty
	Strategy   string // PlaceCluster, PlacePartition or PlaceSpread
	Partitions int    // of PlacePartition; 0 means 2 there
	Tags       map[string]string
}

type placementGroup struct {
	PlacementGroup
}

// AddPlacementGroup makes a placement group and returns its id.
func (m *Model) AddPlacementGroup(g PlacementGroup) string {
	m.lock()
	defer m.unlock()
	return m.addPlacementGroup(g).ID
}

func (m *Model) addPlacementGroup(g PlacementGroup) *placementGroup {
	if g.ID == "" {
		g.ID = m.newID("pg")
	}
	if g.Name == "" {
		g.Name = g.ID
	}
	if g.Strategy == PlacePartition && g.Partitions == 0 {
		g.Partitions = 2
	}
	added := &placementGroup{g}
	m.placements = append(m.placements, added)
	m.tags.set(g.ID, g.Tags, m.now())
	return added
}

// RemovePlacementGroup deletes a placement group whatever is in it, and reports whether there was one of that id.
func (m *Model) RemovePlacementGroup(id string) bool {
	m.lock()
	defer m.unlock()
	before := len(m.placements)
	m.placements = slices.DeleteFunc(m.placements, func(g *placementGroup) bool { return g.ID == id })
	return len(m.placements) < before
}

func unknownPlacementGroup(name string) *wire.Error {
	return wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name)
}

// members returns the instances of a group that have not ended, by launch.
func (m *Model) members(g *placementGroup) []*instance {
	var in []*instance
	for _, id := range m.order {
		if i := m.instances[id]; i.placement == g && (i.facts.State == Pending || i.facts.State == Running) {
			in = append(in, i)
		}
	}
	return in
}

// resolvePlacement finds the group of a launch and refuses what EC2 refuses before it looks for room in it.
func (m *Model) resolvePlacement(spec *launchSpec) *wire.Error {
	p := value(spec.data.Placement)
	if !slices.Contains([]string{"", "default", "dedicated"}, p.Tenancy) {
		return wire.Errorf("UnsupportedOperation", "Tenancy '%s' is not modelled", p.Tenancy)
	}
	if p.GroupName == "" && p.GroupID == "" {
		if p.PartitionNumber != nil {
			return wire.Errorf("InvalidParameterCombination", "The parameter PartitionNumber needs a placement group of the strategy 'partition'.")
		}
		return nil
	}
	if p.GroupName != "" && p.GroupID != "" {
		return wire.Errorf("InvalidParameterCombination", "The parameters GroupName and GroupId cannot be used together")
	}
	at := slices.IndexFunc(m.placements, func(g *placementGroup) bool {
		return p.GroupID != "" && g.ID == p.GroupID || p.GroupName != "" && g.Name == p.GroupName
	})
	if at < 0 {
		return unknownPlacementGroup(p.GroupName + p.GroupID)
	}
	g := m.placements[at]
	n := value(p.PartitionNumber)
	switch {
	case !slices.Contains(spec.typ.Strategies(), g.Strategy):
		return wire.Errorf("InvalidParameterCombination", "%s placement groups are not supported by the '%s' instance type. Specify a supported instance type or change the placement group strategy, and try again.",
			strings.ToUpper(g.Strategy[:1])+g.Strategy[1:], spec.typ.Name)
	case g.Strategy == PlaceSpread && spec.tenancy() != "default":
		return wire.Errorf("InvalidParameterCombination", "The tenancy '%s' is not supported for spread placement groups.", spec.tenancy())
	case p.PartitionNumber != nil && g.Strategy != PlacePartition:
		return wire.Errorf("InvalidParameterCombination", "The parameter PartitionNumber needs a placement group of the strategy 'partition'.")
	case p.PartitionNumber != nil && (n < 1 || n > g.Partitions):
		return wire.Errorf("InvalidParameterValue", "Value (%d) for parameter PartitionNumber is invalid. The placement group '%s' has %d partitions.", n, g.Name, g.Partitions)
	}
	spec.placement = g
	return nil
}

// placementRoom returns how many instances of a launch its group takes in the launch's zone, at most want, and why not more.
func (m *Model) placementRoom(b *book, spec *launchSpec, want int) (int, *wire.Error) {
	g := spec.placement
	switch {
	case g == nil:
	case g.Strategy == PlaceCluster:
		for _, i := range m.members(g) {
			b.clusters[g.ID] = i.facts.Zone
		}
		if zone, taken := b.clusters[g.ID]; taken && zone != spec.pool.Zone {
			return 0, noCapacity(spec.pool) // the group is in another zone
		}
	case g.Strategy == PlaceSpread:
		n := b.spread[g.ID+"/"+spec.pool.Zone]
		for _, i := range m.members(g) {
			if i.facts.Zone == spec.pool.Zone {
				n++
			}
		}
		return min(want, maxSpread-n), wire.Errorf("InsufficientInstanceCapacity",
			"The spread placement group '%s' has its maximum of %d running instances in the Availability Zone %s.", g.Name, maxSpread, spec.pool.Zone)
	}
	return want, nil
}

// notePlacement books n instances of a launch in its group.
func (b *book) notePlacement(spec *launchSpec, n int) {
	if g := spec.placement; g != nil && n > 0 {
		b.spread[g.ID+"/"+spec.pool.Zone] += n
		if g.Strategy == PlaceCluster {
			b.clusters[g.ID] = spec.pool.Zone
		}
	}
}

// enterPlacement puts a new instance into the group of its launch: into the partition asked for, or the emptiest one.
func (m *Model) enterPlacement(i *instance, spec *launchSpec) {
	g := spec.placement
	if g == nil {
		return
	}
	if g.Strategy == PlacePartition {
		i.partition = value(value(spec.data.Placement).PartitionNumber)
		if i.partition == 0 {
			i.partition = m.emptiest(g)
		}
	}
	i.placement = g
	i.facts.PlacementGroupID, i.facts.Partition = g.ID, i.partition
}

// emptiest returns the partition of a group with the fewest instances, the first of equals.
func (m *Model) emptiest(g *placementGroup) int {
	count := make([]int, g.Partitions+1)
	for _, i := range m.members(g) {
		count[i.partition]++
	}
	best := 1
	for n := 2; n <= g.Partitions; n++ {
		if count[n] < count[best] {
			best = n
		}
	}
	return best
}

type describePlacementGroupsInput struct {
	GroupIDs   []string `query:"GroupId"`
	GroupNames []string `query:"GroupName"`
	Filters    []Filter `query:"Filter"`
}

type describePlacementGroupsOutput struct {
	Groups wire.Set[placementGroupView] `xml:"placementGroupSet"`
}

type placementGroupView struct {
	GroupName      string        `xml:"groupName"`
	Strategy       string        `xml:"strategy"`
	State          string        `xml:"state"`
	GroupID        string        `xml:"groupId"`
	GroupARN       string        `xml:"groupArn"`
	PartitionCount int           `xml:"partitionCount,omitempty"`
	SpreadLevel    string        `xml:"spreadLevel,omitempty"`
	Tags           wire.Set[Tag] `xml:"tagSet"`
}

func (m *Model) viewPlacement(g *placementGroup) placementGroupView {
	v := placementGroupView{GroupName: g.Name, Strategy: g.Strategy, State: "available", GroupID: g.ID, GroupARN: m.arn("placement-group/" + g.Name),
		PartitionCount: g.Partitions, Tags: wire.SetOf(tagList(m.tags.seen(g.ID, m.now())))}
	if g.Strategy == PlaceSpread {
		v.SpreadLevel = "rack"
	}
	return v
}

var placementFields = fields[placementGroupView]{
	"group-arn":    func(g placementGroupView) []string { return one(g.GroupARN) },
	"group-name":   func(g placementGroupView) []string { return one(g.GroupName) },
	"spread-level": func(g placementGroupView) []string { return one(g.SpreadLevel) },
	"state":        func(g placementGroupView) []string { return one(g.State) },
	"strategy":     func(g placementGroupView) []string { return one(g.Strategy) },
}

func (m *Model) describePlacementGroups(_ context.Context, in *describePlacementGroupsInput) (*describePlacementGroupsOutput, error) {
	m.lock()
	defer m.unlock()
	views := []placementGroupView{}
	for _, g := range m.placements {
		views = append(views, m.viewPlacement(g))
	}
	slices.SortFunc(views, func(a, b placementGroupView) int { return strings.Compare(a.GroupName, b.GroupName) })
	views, err := pickByID(views, in.GroupIDs, func(g placementGroupView) string { return g.GroupID }, "InvalidPlacementGroup.Unknown", "placement group")
	if err == nil {
		views, err = pickByID(views, in.GroupNames, func(g placementGroupView) string { return g.GroupName }, "InvalidPlacementGroup.Unknown", "placement group")
	}
	if err != nil {
		return nil, unknownPlacementGroup(strings.Join(append(in.GroupIDs, in.GroupNames...), ", "))
	}
	views, err = filter(views, in.Filters, placementFields, func(g placementGroupView) map[string]string { return m.tags.seen(g.GroupID, m.now()) })
	if err != nil {
		return nil, err
	}
	return &describePlacementGroupsOutput{wire.SetOf(views)}, nil
}

type createPlacementGroupInput struct {
	GroupName         string
	Strategy          string
	PartitionCount    *int
	SpreadLevel       string
	TagSpecifications []TagSpecification `query:"TagSpecification"`
}

type createPlacementGroupOutput struct {
	Return bool               `xml:"return"`
	Group  placementGroupView `xml:"placementGroup"`
}

func (m *Model) createPlacementGroup(_ context.Context, in *createPlacementGroupInput) (*createPlacementGroupOutput, error) {
	m.lock()
	defer m.unlock()
	if err := checkTagSpecifications(in.TagSpecifications, "placement-group"); err != nil {
		return nil, err
	}
	n := value(in.PartitionCount)
	switch {
	case in.GroupName == "":
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter GroupName")
	case !slices.Contains([]string{PlaceCluster, PlacePartition, PlaceSpread}, in.Strategy):
		return nil, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for Strategy", in.Strategy)
	case in.PartitionCount != nil && (in.Strategy != PlacePartition || n < 1 || n > maxPartitions):
		return nil, wire.Errorf("InvalidParameterValue", "Value (%d) for parameter PartitionCount is invalid. It must be between 1 and %d, for the strategy 'partition' only.", n, maxPartitions)
	case in.SpreadLevel != "" && (in.Strategy != PlaceSpread || in.SpreadLevel != "rack"):
		return nil, wire.Errorf("UnsupportedOperation", "Spread level '%s' is not modelled", in.SpreadLevel)
	case slices.ContainsFunc(m.placements, func(g *placementGroup) bool { return g.Name == in.GroupName }):
		return nil, wire.Errorf("InvalidPlacementGroup.Duplicate", "The Placement Group '%s' already exists.", in.GroupName)
	}
	g := m.addPlacementGroup(PlacementGroup{Name: in.GroupName, Strategy: in.Strategy, Partitions: n, Tags: tagsFor("placement-group", in.TagSpecifications...)})
	return &createPlacementGroupOutput{true, m.viewPlacement(g)}, nil
}

type deletePlacementGroupInput struct{ GroupName string }

func (m *Model) deletePlacementGroup(_ context.Context, in *deletePlacementGroupInput) (*returnOutput, error) {
	m.lock()
	defer m.unlock()
	at := slices.IndexFunc(m.placements, func(g *placementGroup) bool { return g.Name == in.GroupName || g.ID == in.GroupName })
	if at < 0 {
		return nil, unknownPlacementGroup(in.GroupName)
	}
	if len(m.members(m.placements[at])) > 0 {
		return nil, wire.Errorf("InvalidPlacementGroup.InUse", "The placement group '%s' is in use and may not be deleted.", in.GroupName)
	}
	m.placements = slices.Delete(m.placements, at, at+1)
	return &returnOutput{true}, nil
}
