package ec2catalog

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/pricing/types"
	"golang.org/x/sync/errgroup"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// PricingRegion returns the region whose price list API serves a region.
func PricingRegion(region string) string {
	switch {
	case strings.HasPrefix(region, "ap-"):
		return "ap-south-1"
	case strings.HasPrefix(region, "cn-"):
		return "cn-northwest-1"
	case strings.HasPrefix(region, "eu-"):
		return "eu-central-1"
	}
	return "us-east-1"
}

// readOnDemand reads list prices of shared instances and of bare metal, which are two product families.
func (c *Types) readOnDemand(ctx context.Context) (map[string]model.MicroUSD, error) {
	families := []struct{ family, tenancy string }{{"Compute Instance", "Shared"},
		{"Compute Instance (bare metal)", "Dedicated"}}
	found := make([]map[string]model.MicroUSD, len(families))
	group, ctx := errgroup.WithContext(ctx)
	for i, f := range families {
		group.Go(func() (err error) { found[i], err = c.readProducts(ctx, f.family, f.tenancy); return err })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, f := range families {
		if len(found[i]) == 0 {
			return nil, fault.New(fault.Internal, "EmptyPriceList", "the price list of %s has no products of family %q",
				c.settings.Region, f.family)
		}
	}
	maps.Copy(found[0], found[1])
	return found[0], nil
}

func (c *Types) readProducts(ctx context.Context, family, tenancy string) (map[string]model.MicroUSD, error) {
	var filters []types.Filter
	for _, f := range [][2]string{
		{"regionCode", c.settings.Region}, {"preInstalledSw", "NA"}, {"operatingSystem", "Linux"},
		{"capacitystatus", "Used"}, {"marketoption", "OnDemand"}, {"productFamily", family}, {"tenancy", tenancy},
	} {
		filters = append(filters,
			types.Filter{Field: aws.String(f[0]), Type: types.FilterTypeTermMatch, Value: aws.String(f[1])})
	}
	pages := pricing.NewGetProductsPaginator(c.clients.Pricing,
		&pricing.GetProductsInput{ServiceCode: aws.String("AmazonEC2"), Filters: filters})
	prices := map[string]model.MicroUSD{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, translate(err, "read the price list of %s", c.settings.Region)
		}
		for _, text := range page.PriceList {
			if name, price, ok := c.product(text); ok {
				prices[name] = price
			}
		}
	}
	return prices, nil
}

// product reads one entry of the price list; false where it holds no price above zero.
func (c *Types) product(text string) (string, model.MicroUSD, bool) {
	var entry struct {
		Product struct {
			Attributes struct {
				InstanceType string `json:"instanceType"`
			} `json:"attributes"`
		} `json:"product"`
		Terms struct {
			OnDemand map[string]struct {
				PriceDimensions map[string]struct {
					PricePerUnit map[string]string `json:"pricePerUnit"`
				} `json:"priceDimensions"`
			} `json:"OnDemand"`
		} `json:"terms"`
	}
	if err := json.Unmarshal([]byte(text), &entry); err != nil {
		return "", 0, false
	}
	currency := "USD"
	if strings.HasPrefix(c.settings.Region, "cn-") {
		currency = "CNY"
	}
	var highest model.MicroUSD
	for _, term := range entry.Terms.OnDemand {
		for _, dimension := range term.PriceDimensions {
			highest = max(highest, micro(dimension.PricePerUnit[currency]))
		}
	}
	return entry.Product.Attributes.InstanceType, highest, highest > 0 && entry.Product.Attributes.InstanceType != ""
}

// micro reads a decimal price; 0 for anything that is none.
func micro(text string) model.MicroUSD {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(value) || value <= 0 || value > 1e6 {
		return 0
	}
	return model.MicroUSD(math.Round(value * 1e6))
}

type typeZone struct{ instanceType, zone string }

// readSpot reads the newest spot price of every type and zone. An answer without any is an error.
func (c *Types) readSpot(ctx context.Context) (map[typeZone]model.MicroUSD, error) {
	pages := ec2.NewDescribeSpotPriceHistoryPaginator(c.clients.EC2, &ec2.DescribeSpotPriceHistoryInput{
		StartTime: aws.Time(c.settings.Now()), ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"},
		MaxResults: aws.Int32(1000),
	})
	prices := map[typeZone]model.MicroUSD{}
	newest := map[typeZone]time.Time{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, translate(err, "read spot prices of %s", c.settings.Region)
		}
		for i := range page.SpotPriceHistory {
			noteSpot(&page.SpotPriceHistory[i], prices, newest)
		}
	}
	if len(prices) == 0 {
		return nil, fault.New(fault.Internal, "NoSpotPrices", "the spot price history of %s is empty",
			c.settings.Region)
	}
	return prices, nil
}

func noteSpot(record *ec2types.SpotPrice, prices map[typeZone]model.MicroUSD, newest map[typeZone]time.Time) {
	key := typeZone{string(record.InstanceType), aws.ToString(record.AvailabilityZone)}
	price := micro(aws.ToString(record.SpotPrice))
	if record.Timestamp == nil || price == 0 || record.Timestamp.Before(newest[key]) {
		return
	}
	prices[key], newest[key] = price, *record.Timestamp
}
