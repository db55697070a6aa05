package console

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/model"
)

// PricePoint is what the nodes of NodePools cost per hour from a time on.
type PricePoint struct {
	AtUnix int64          `json:"t"`
	Price  model.MicroUSD `json:"d"`
}

// change is an instance that came or went.
type change struct {
	atUnix int64
	price  model.MicroUSD // below 0 where it went
}

// mostPoints is how many points a curve keeps; of more the oldest go.
const mostPoints = 4000

// PriceCurve returns what nodes cost since fromUnix, by what is there now and the changes that are known: going back in time a
// instance that came is taken off and one that went is put back. It is exact as far as the changes are complete.
func PriceCurve(nowUnix, fromUnix int64, now model.MicroUSD, changes []change) []PricePoint {
	changes = slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return c.atUnix <= fromUnix || c.atUnix > nowUnix || c.price == 0 })
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(b.atUnix, a.atUnix) })
	price, points := now, []PricePoint{{nowUnix, now}}
	for _, c := range changes {
		if points[len(points)-1].AtUnix != c.atUnix {
			points = append(points, PricePoint{c.atUnix, price})
		}
		price -= c.price
	}
	points = append(points, PricePoint{fromUnix, price})
	slices.Reverse(points)
	return points[max(0, len(points)-mostPoints):]
}

// came returns the changes that the nodes that are there made, where nothing is recorded.
func came(rows []Row) []change {
	var out []change
	for i := range rows {
		if row := &rows[i]; row.Pool != "" && row.Price > 0 && row.Since > 0 {
			out = append(out, change{row.Since, row.Price})
		}
	}
	return out
}

// lived returns the changes that instances made of which records or the ledger speak: each came, and those that ended went.
func lived(lives []explain.InstanceLifetime) []change {
	var out []change
	for i := range lives {
		life := &lives[i]
		out = append(out, change{life.LaunchedUnix, life.Price})
		if life.EndUnix > 0 {
			out = append(out, change{life.EndUnix, -life.Price})
		}
	}
	return out
}

// requested returns the changes that claims without an instance made: they count from when they were made.
func requested(c *Cluster) []change {
	var out []change
	claims := c.ledger().Claims
	for i := range claims {
		if claim := &claims[i]; claim.Live() && claim.LaunchedUnix == 0 {
			out = append(out, change{claim.CreatedUnix, c.price(claim)})
		}
	}
	return out
}
