package world_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

func TestCacheKeepsTheContract(t *testing.T) {
	conform.Instances(t, func(*testing.T) conform.InstancesPort { return world.NewCache(time.Now) })
}

func TestMarketKeepsTheContract(t *testing.T) {
	conform.Market(t, func(*testing.T) conform.MarketUnderTest {
		w := world.New(world.Options{})
		m := &world.Market{Catalog: w.Catalog}
		return conform.MarketUnderTest{
			CatalogSource: m, Now: w.Clock.Now, Advance: w.Clock.Advance, Fail: func(parts model.CatalogParts) { m.Failing = parts },
			SetSpot: func(instanceType, zone string, price model.MicroUSD) {
				w.Catalog.SetPrice(model.OfferingKey{InstanceType: instanceType, Zone: zone, CapacityType: model.Spot}, price)
			},
		}
	})
}
