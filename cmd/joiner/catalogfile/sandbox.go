package catalogfile

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

//go:generate go run github.com/joiner-sh/joiner/testenv/repository/sandboxcatalog sandbox.json.gz

//go:embed sandbox.json.gz
var sandboxFile []byte

// Region is the instance types that can be bought in one region.
type Region struct {
	Name          string                   `json:"region"`
	InstanceTypes []model.InstanceTypeInfo `json:"machines"` // by name

	// Settings are the operator's words on what instances hold; the region in them is Name.
	Settings offering.Settings `json:"-"`
}

// BuiltIn returns the catalog built in.
func BuiltIn() (*Region, error) {
	text, err := read.Uncompressed(bytes.NewReader(sandboxFile))
	if err != nil {
		return nil, fmt.Errorf("read the built-in catalog: %w", err)
	}
	out := &Region{}
	if err := json.UnmarshalRead(text, out); err != nil {
		return nil, fmt.Errorf("read the built-in catalog: %w", err)
	}
	return out, nil
}

// Zones returns the zones anything is offered in, sorted.
func (r *Region) Zones() []string {
	var zones []string
	for i := range r.InstanceTypes {
		for _, o := range r.InstanceTypes[i].Offerings {
			if !slices.Contains(zones, o.Zone) {
				zones = append(zones, o.Zone)
			}
		}
	}
	slices.Sort(zones)
	return zones
}

// WithZones returns the region as if it were one with these zones, sorted: the first is sold what the first here is, and so
// on, beginning again where there are more. Prices stay what they are. Where the zones are all of this region, or none
// are given, it is this region itself.
func (r *Region) WithZones(zones []string) *Region {
	here := r.Zones()
	if !slices.ContainsFunc(zones, func(zone string) bool { return !slices.Contains(here, zone) }) {
		return r
	}
	out := &Region{Name: regionOf(zones[0]), InstanceTypes: slices.Clone(r.InstanceTypes), Settings: r.Settings}
	for i := range out.InstanceTypes {
		m := &out.InstanceTypes[i]
		all := m.Offerings
		m.Offerings = nil
		for z, zone := range zones {
			for _, o := range all {
				if o.Zone == here[z%len(here)] {
					o.Zone, o.ZoneID = zone, ""
					m.Offerings = append(m.Offerings, o)
				}
			}
		}
	}
	return out
}

// zoneName is how AWS names the zones of a region.
var zoneName = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]+[a-z]$`)

// Elsewhere returns those zones if all of them are of one other region, and none else: a zone of this region that is
// not offered, or one that is none, is a mistake of whoever asks for it.
func (r *Region) Elsewhere(zones []string) []string {
	for _, zone := range zones {
		region := regionOf(zone)
		if !zoneName.MatchString(zone) || region == r.Name || region != regionOf(zones[0]) {
			return nil
		}
	}
	return zones
}

// regionOf returns the region of a zone such as eu-west-1a.
func regionOf(zone string) string {
	if last := len(zone) - 1; last > 0 && zone[last] >= 'a' && zone[last] <= 'z' {
		return zone[:last]
	}
	return zone
}

// Types returns the instance types that nodes of a class see. A class that was never resolved, as a manifest is, has a
// subnet in every zone.
func (r *Region) Types(class model.Class) []model.InstanceType {
	if len(class.Status.Subnets) == 0 {
		for _, zone := range r.Zones() {
			class.Status.Subnets = append(class.Status.Subnets, model.Subnet{ID: "subnet-" + zone, Zone: zone})
		}
	}
	return offering.Catalog(r.InstanceTypes, class, r.settings())
}

// ClassProblems says why nothing can be bought for a class, as far as that is the instances' matter; empty where something can.
func (r *Region) ClassProblems(class model.Class) []model.ClassProblem {
	return offering.ClassProblems(r.InstanceTypes, class, r.settings())
}

func (r *Region) settings() offering.Settings {
	settings := r.Settings
	settings.Region = r.Name
	return settings
}
