package ec2catalog

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

func TestMarketKeepsTheContract(t *testing.T) {
	conform.Market(t, func(t *testing.T) conform.MarketUnderTest {
		r := start(t)
		mend := []func(){}
		return conform.MarketUnderTest{
			CatalogSource: r.catalog, Now: r.clock.Now, Advance: r.clock.Advance,
			Fail: func(parts model.CatalogParts) {
				for _, m := range mend {
					m()
				}
				mend = nil
				for _, f := range []struct {
					fails           bool
					service, action string
				}{{parts.Types, "ec2", "DescribeInstanceTypeOfferings"}, {parts.Prices, "pricing", "GetProducts"}, {parts.Spot, "ec2", "DescribeSpotPriceHistory"}} {
					if f.fails {
						mend = append(mend, r.fail(f.service, f.action, "InternalError"))
					}
				}
			},
			SetSpot: func(instanceType, zone string, price model.MicroUSD) {
				r.ec2.SetSpotPrice(instanceType, zone, int64(price))
			},
		}
	})
}
