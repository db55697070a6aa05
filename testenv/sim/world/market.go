package world

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// Market is the world's catalog as it is read anew, part by part. The zero value of Failing fails nothing.
type Market struct {
	Catalog *Catalog
	Failing model.CatalogParts // these cannot be read
	NoList  bool               // there is no price list
	Denied  bool               // nothing can be read for want of rights
	Asked   []model.CatalogParts
}

// Connect returns the market with the rights of any cluster.
func (m *Market) Connect(context.Context, model.Registration) (catalog.CatalogSource, error) {
	return m, nil
}

// HasPriceList reports whether on-demand prices can be read.
func (m *Market) HasPriceList() bool { return !m.NoList }

// Refresh reads parts of the catalog again.
func (m *Market) Refresh(ctx context.Context, known model.InstanceCatalog, parts model.CatalogParts) (model.InstanceCatalog, error) {
	m.Asked = append(m.Asked, parts)
	if m.Denied {
		return known, fault.New(fault.Denied, "UnauthorizedOperation", "not with these rights")
	}
	now, err := m.Catalog.InstanceTypes(ctx)
	if err != nil {
		return known, err
	}
	read := func(asked, failing bool, what string, unix *int64) bool {
		if !asked {
			return false
		}
		if failing {
			err = errors.Join(err, fault.New(fault.Internal, "InternalError", "%s cannot be read", what))
			return false
		}
		*unix = now.ReadUnix
		return true
	}
	next := known
	types := known.Types
	if read(parts.Types, m.Failing.Types, "types", &next.ReadUnix) {
		types = now.Types
	}
	freshPrices := parts.Prices && !m.NoList && read(true, m.Failing.Prices, "prices", &next.PriceUnix)
	freshSpot := read(parts.Spot, m.Failing.Spot, "spot prices", &next.SpotUnix)
	next.Types = slices.Clone(types)
	for i := range next.Types {
		t := &next.Types[i]
		t.LearnedMiB = learnedOf(known.Types, t.Name)
		t.Offerings = slices.Clone(t.Offerings)
		for j := range t.Offerings {
			m.price(t.Name, &t.Offerings[j], known, next, freshPrices, freshSpot)
		}
	}
	next.Version = versionOf(next)
	if len(next.Types) == 0 && err == nil {
		err = fault.New(fault.Invalid, "NoTypes", "read types first")
	}
	return next, err
}

// price is the price that was read now, else the one known, else the one that stands in.
func (m *Market) price(name string, o *model.Offering, known, next model.InstanceCatalog, freshPrices, freshSpot bool) {
	key := model.OfferingKey{InstanceType: name, Zone: o.Zone, CapacityType: o.CapacityType}
	onDemand := key
	onDemand.CapacityType = model.OnDemand
	switch spot := o.CapacityType == model.Spot && next.SpotUnix != 0; {
	case spot && freshSpot, !spot && freshPrices:
		if !spot {
			key = onDemand
		}
		o.Price = m.Catalog.Price(key)
	case next.PriceUnix == 0 && !spot:
		o.Price = m.Catalog.Price(onDemand) * 5 / 4 // the built-in table's
	default:
		if !spot {
			key = onDemand
		}
		o.Price = knownPrice(known.Types, key)
	}
	o.Available = o.Price > 0
}

func find(types []model.InstanceTypeInfo, name string) *model.InstanceTypeInfo {
	for i := range types {
		if types[i].Name == name {
			return &types[i]
		}
	}
	return nil
}

func learnedOf(known []model.InstanceTypeInfo, name string) []model.Learned {
	if t := find(known, name); t != nil {
		return t.LearnedMiB
	}
	return nil
}

func knownPrice(known []model.InstanceTypeInfo, key model.OfferingKey) model.MicroUSD {
	if t := find(known, key.InstanceType); t != nil {
		for _, o := range t.Offerings {
			if o.Zone == key.Zone && o.CapacityType == key.CapacityType {
				return o.Price
			}
		}
	}
	return 0
}

// versionOf changes with prices and with what was learned, which is all that changes here.
func versionOf(catalog model.InstanceCatalog) string {
	var sum int64
	for i, t := range catalog.Types {
		for j, o := range t.Offerings {
			sum = sum*31 + int64(o.Price)*int64(i+j+1)
		}
		for _, l := range t.LearnedMiB {
			sum = sum*31 + l.MiB + l.SeenUnix
		}
	}
	return strconv.FormatInt(sum, 16)
}

// Region returns the flow of the region pass with the world behind its ports.
func (w *World) Region(market port.Connector[catalog.CatalogSource], now func() time.Time) *catalog.Region {
	return &catalog.Region{
		Registry: w.Ledger, Ledgers: w.Ledger, Snapshots: w.Store, Losses: Losses{w.Ledger}, Catalogs: w.RegionCatalogs, CatalogSources: market, Learnings: w.Ledger, Allowances: w.Ledger, Now: now,
	}
}
