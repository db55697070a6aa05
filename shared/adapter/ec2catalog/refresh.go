package ec2catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/joiner-sh/joiner/shared/model"
)

// Refresh reads parts of the region's catalog again and returns known with them. What could not be read stays as it
// was, with its own time, and the error says what that is; prices are merged over those known and never disappear. So
// the catalog returned is good whether or not there is an error, unless it has no types at all. Known is left alone.
//
// Where there is no price list to be read (Settings.Isolated, and partitions without one) asking for prices reads none
// and is no error: a built-in table stands in for them.
func (c *Types) Refresh(ctx context.Context, known model.InstanceCatalog,
	parts model.CatalogParts) (model.InstanceCatalog, error) {
	now := c.settings.Now().Unix()
	var instanceTypes []model.InstanceTypeInfo
	onDemand, spot := knownPrices(known)
	var newOnDemand map[string]model.MicroUSD
	var newSpot map[typeZone]model.MicroUSD
	var typesErr, pricesErr, spotErr error
	var group sync.WaitGroup
	if parts.Types {
		group.Go(func() { instanceTypes, typesErr = c.readTypesAndZones(ctx) })
	}
	if parts.Prices && c.HasPriceList() {
		group.Go(func() { newOnDemand, pricesErr = c.readOnDemand(ctx) })
	}
	if parts.Spot {
		group.Go(func() { newSpot, spotErr = c.readSpot(ctx) })
	}
	group.Wait()

	next := known
	if instanceTypes == nil {
		instanceTypes = known.Types
	} else {
		next.ReadUnix = now
	}
	if newOnDemand != nil {
		maps.Copy(onDemand, newOnDemand)
		next.PriceUnix = now
	}
	if newSpot != nil {
		maps.Copy(spot, newSpot)
		next.SpotUnix = now
	}
	next.Types = c.price(instanceTypes, onDemand, spot, next)
	learned(next.Types, known.Types)
	next.Version = versionOf(next.Types)
	err := errors.Join(typesErr, pricesErr, spotErr)
	if len(next.Types) == 0 && err == nil {
		err = fmt.Errorf("the catalog of %s has no instance types: read them first", c.settings.Region)
	}
	return next, err
}

// HasPriceList reports whether the price list of the region can be read at all.
func (c *Types) HasPriceList() bool {
	for _, prefix := range []string{"us-gov-", "us-iso", "eu-iso", "eusc-"} { // partitions without the API
		if strings.HasPrefix(c.settings.Region, prefix) {
			return false
		}
	}
	return !c.settings.Isolated
}

// knownPrices returns the prices of a catalog that were really read: not those that stood in for them.
func knownPrices(known model.InstanceCatalog) (onDemand map[string]model.MicroUSD, spot map[typeZone]model.MicroUSD) {
	onDemand, spot = map[string]model.MicroUSD{}, map[typeZone]model.MicroUSD{}
	for i := range known.Types {
		m := &known.Types[i]
		for _, o := range m.Offerings {
			switch {
			case o.Price == 0:
			case o.CapacityType == model.OnDemand && known.PriceUnix != 0:
				onDemand[m.Name] = o.Price
			case o.CapacityType == model.Spot && known.SpotUnix != 0:
				spot[typeZone{m.Name, o.Zone}] = o.Price
			}
		}
	}
	return onDemand, spot
}

// price returns the instances with the price on each offering. One without a price is not available: nothing is bought
// blindly. Until spot prices were read they are the on-demand ones, so that a region whose price history cannot be read
// can still launch; and until those were read they are estimates.
func (c *Types) price(instanceTypes []model.InstanceTypeInfo, onDemand map[string]model.MicroUSD,
	spot map[typeZone]model.MicroUSD, ages model.InstanceCatalog) []model.InstanceTypeInfo {
	priced := slices.Clone(instanceTypes)
	for i := range priced {
		m := &priced[i]
		perHour := onDemand[m.Name]
		if ages.PriceUnix == 0 {
			perHour = estimate(m, c.settings.Region)
		}
		m.Offerings = slices.Clone(m.Offerings)
		for j := range m.Offerings {
			o := &m.Offerings[j]
			o.Price = perHour
			if o.CapacityType == model.Spot && ages.SpotUnix != 0 {
				o.Price = spot[typeZone{m.Name, o.Zone}]
			}
			o.Available = o.Price > 0
		}
	}
	return priced
}

// learned carries what was learned of types over to their new facts.
func learned(instanceTypes, known []model.InstanceTypeInfo) {
	for i := range instanceTypes {
		at, found := slices.BinarySearchFunc(known, instanceTypes[i].Name,
			func(m model.InstanceTypeInfo, name string) int { return strings.Compare(m.Name, name) })
		if found {
			instanceTypes[i].LearnedMiB = known[at].LearnedMiB
		}
	}
}

// versionOf is equal for the same content.
func versionOf(instanceTypes []model.InstanceTypeInfo) string {
	text, err := json.Marshal(instanceTypes)
	if err != nil {
		panic(fmt.Sprintf("instance types cannot be encoded: %v", err)) // plain data always can
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:8])
}
