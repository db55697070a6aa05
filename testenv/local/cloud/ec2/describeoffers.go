package ec2

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeInstanceTypeOfferingsInput struct {
	LocationType string   // "region" when absent
	Filters      []Filter `query:"Filter"`
	NextToken    string
	MaxResults   *int
}

type describeInstanceTypeOfferingsOutput struct {
	Offerings wire.Set[offeringView] `xml:"instanceTypeOfferingSet"`
	NextToken string                 `xml:"nextToken,omitempty"`
}

type offeringView struct {
	InstanceType string `xml:"instanceType"`
	LocationType string `xml:"locationType"`
	Location     string `xml:"location"`
}

var offeringFields = fields[offeringView]{
	"instance-type": func(o offeringView) []string { return one(o.InstanceType) },
	"location":      func(o offeringView) []string { return one(o.Location) },
}

func (m *Model) describeInstanceTypeOfferings(_ context.Context, in *describeInstanceTypeOfferingsInput) (*describeInstanceTypeOfferingsOutput, error) {
	m.lock()
	defer m.unlock()
	kind := cmp.Or(in.LocationType, "region")
	views := []offeringView{}
	for _, name := range m.names {
		switch kind {
		case "region":
			views = append(views, offeringView{name, kind, catalog.Region})
		case "availability-zone", "availability-zone-id":
			for _, zone := range m.types[name].Zones {
				if kind == "availability-zone-id" {
					zone = catalog.ZoneID(zone)
				}
				views = append(views, offeringView{name, kind, zone})
			}
		default:
			return nil, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for LocationType", in.LocationType)
		}
	}
	views, err := filter(views, in.Filters, offeringFields, nil)
	if err != nil {
		return nil, err
	}
	key := func(o offeringView) string { return o.InstanceType + "/" + o.Location }
	slices.SortFunc(views, func(a, b offeringView) int { return strings.Compare(key(a), key(b)) })
	views, next, err := page(views, key, pages{5, 1000, 1000}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &describeInstanceTypeOfferingsOutput{wire.SetOf(views), next}, nil
}

type describeSpotPriceHistoryInput struct {
	StartTime, EndTime  time.Time
	InstanceTypes       []string `query:"InstanceType"`
	ProductDescriptions []string `query:"ProductDescription"`
	Filters             []Filter `query:"Filter"`
	AvailabilityZone    string
	AvailabilityZoneID  string `query:"AvailabilityZoneId"`
	NextToken           string
	MaxResults          *int
}

type describeSpotPriceHistoryOutput struct {
	NextToken string                  `xml:"nextToken,omitempty"`
	History   wire.Set[spotPriceView] `xml:"spotPriceHistorySet"`
}

type spotPriceView struct {
	AvailabilityZone   string    `xml:"availabilityZone"`
	AvailabilityZoneID string    `xml:"availabilityZoneId"`
	InstanceType       string    `xml:"instanceType"`
	Product            string    `xml:"productDescription"`
	SpotPrice          string    `xml:"spotPrice"`
	Timestamp          wire.Time `xml:"timestamp"`
}

const linux = "Linux/UNIX"

var spotPriceFields = fields[spotPriceView]{
	"availability-zone":    func(p spotPriceView) []string { return one(p.AvailabilityZone) },
	"availability-zone-id": func(p spotPriceView) []string { return one(p.AvailabilityZoneID) },
	"instance-type":        func(p spotPriceView) []string { return one(p.InstanceType) },
	"product-description":  func(p spotPriceView) []string { return one(p.Product) },
	"spot-price":           func(p spotPriceView) []string { return one(p.SpotPrice) },
}

// describeSpotPriceHistory answers with the prices that held between StartTime
// and EndTime, for every type and zone; without a StartTime with the one that
// holds now, where EC2 would give three months of them.
func (m *Model) describeSpotPriceHistory(_ context.Context, in *describeSpotPriceHistoryInput) (*describeSpotPriceHistoryOutput, error) {
	m.lock()
	defer m.unlock()
	wanted := func(list []string, s string) bool { return len(list) == 0 || slices.Contains(list, s) }
	views := []spotPriceView{}
	if wanted(in.ProductDescriptions, linux) || slices.Contains(in.ProductDescriptions, linux+" (Amazon VPC)") {
		for _, name := range m.names {
			if wanted(in.InstanceTypes, name) {
				views = append(views, m.spotPricesOf(m.types[name], in.StartTime, in.EndTime)...)
			}
		}
	}
	views = slices.DeleteFunc(views, func(p spotPriceView) bool {
		return in.AvailabilityZone != "" && p.AvailabilityZone != in.AvailabilityZone ||
			in.AvailabilityZoneID != "" && p.AvailabilityZoneID != in.AvailabilityZoneID
	})
	views, err := filter(views, in.Filters, spotPriceFields, nil)
	if err != nil {
		return nil, err
	}
	latest := time.Unix(1<<33, 0)
	key := func(p spotPriceView) string { // newest first
		return p.InstanceType + "/" + p.AvailabilityZone + "/" + leftPad(latest.UnixNano()-p.Timestamp.UnixNano())
	}
	slices.SortFunc(views, func(a, b spotPriceView) int { return strings.Compare(key(a), key(b)) })
	views, next, err := page(views, key, pages{0, 10000, 1000}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	return &describeSpotPriceHistoryOutput{next, wire.SetOf(views)}, nil
}

func (m *Model) spotPricesOf(t catalog.Type, from, to time.Time) []spotPriceView {
	var out []spotPriceView
	if t.NoSpot {
		return nil
	}
	for _, zone := range t.Zones {
		for _, p := range m.spotPricesBetween(t, zone, from, to) {
			out = append(out, spotPriceView{zone, catalog.ZoneID(zone), t.Name, linux, dollars(p.microUSD), wire.Time{Time: p.since}})
		}
	}
	return out
}
