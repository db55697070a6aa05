package ec2

import (
	"context"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeRegionsInput struct {
	RegionNames []string `query:"RegionName"`
	AllRegions  bool
}

type regionView struct {
	RegionName  string `xml:"regionName"`
	Endpoint    string `xml:"regionEndpoint"`
	OptInStatus string `xml:"optInStatus"`
}

type describeRegionsOutput struct {
	Regions wire.Set[regionView] `xml:"regionInfo"`
}

// regions are some of those there are, with whether an account has them that opted in to none. Source: EC2 user guide, "Available Regions".
var regions = []regionView{
	{"af-south-1", "ec2.af-south-1.amazonaws.com", "not-opted-in"},
	{"eu-central-1", "ec2.eu-central-1.amazonaws.com", "opt-in-not-required"},
	{"us-east-1", "ec2.us-east-1.amazonaws.com", "opt-in-not-required"},
	{"us-west-2", "ec2.us-west-2.amazonaws.com", "opt-in-not-required"},
}

// describeRegions answers of those the account has, or of all of them where it is asked to.
func (m *Model) describeRegions(_ context.Context, in *describeRegionsInput) (*describeRegionsOutput, error) {
	var out []regionView
	for _, r := range regions {
		if (len(in.RegionNames) == 0 || slices.Contains(in.RegionNames, r.RegionName)) && (in.AllRegions || r.OptInStatus != "not-opted-in") {
			out = append(out, r)
		}
	}
	for _, name := range in.RegionNames {
		if !slices.ContainsFunc(regions, func(r regionView) bool { return r.RegionName == name }) {
			return nil, wire.Errorf("InvalidParameterValue", "Invalid region provided: %s", name)
		}
	}
	return &describeRegionsOutput{wire.SetOf(out)}, nil
}
