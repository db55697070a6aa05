package ec2

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

// spotHistory is how far back DescribeSpotPriceHistory looks. Source: API reference, DescribeSpotPriceHistory.
const spotHistory = 90 * 24 * time.Hour

// SpotMarketOptions say how spot prices move. The zero value lets them stand still.
type SpotMarketOptions struct {
	// Every is how often a price may change; each type and zone changes at a moment of its own within it. 0: never.
	Every time.Duration
	// SwingPermille is how far a price strays from that of the catalog at most, either way, in thousandths.
	SwingPermille int64
}

// MoveSpotPrices lets spot prices move from now on, and as if they always had. The same clock and seed give the same prices.
func (m *Model) MoveSpotPrices(o SpotMarketOptions) {
	m.lock()
	defer m.unlock()
	m.market = o
}

type spotPrice struct {
	microUSD int64
	since    time.Time
}

// SetSpotPrice changes the spot price of a type in a zone from now on, in
// micro-dollars per hour. It stays as it is set, however the market moves.
func (m *Model) SetSpotPrice(typeName, zone string, microUSD int64) {
	m.lock()
	defer m.unlock()
	p := Pool{typeName, zone, Spot}
	m.spotPrices[p] = append(m.spotPrices[p], spotPrice{microUSD, m.now()})
}

// spotPriceOf returns the spot price that holds at a time and since when it does.
func (m *Model) spotPriceOf(t catalog.Type, zone string, at time.Time) spotPrice {
	for _, p := range slices.Backward(m.spotPrices[Pool{t.Name, zone, Spot}]) {
		if !p.since.After(at) {
			return p
		}
	}
	return m.marketPrice(t, zone, at)
}

// marketPrice returns what the market asks. Prices that do not move hold since the start of the hour before.
func (m *Model) marketPrice(t catalog.Type, zone string, at time.Time) spotPrice {
	base := t.SpotMicroUSDPerHour(zone)
	if m.market.Every <= 0 {
		return spotPrice{base, at.Truncate(time.Hour).Add(-time.Hour)}
	}
	key := fmt.Sprintf("%d/%s/%s", m.seed, t.Name, zone)
	shift := time.Duration(spread(key) % uint64(m.market.Every))
	since := at.Add(-shift).Truncate(m.market.Every).Add(shift)
	swing := int64(spread(fmt.Sprintf("%s/%d", key, since.UnixNano()))%uint64(2*m.market.SwingPermille+1)) - m.market.SwingPermille
	price := base * (1000 + swing) / 1000
	return spotPrice{max(100, (price+50)/100*100), since} // EC2 quotes four decimals
}

// spread hashes a text evenly.
func spread(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// spotPricesBetween returns the prices that held in a span, newest first: each change in it and the one that held when it
// began. A span without a start is now.
func (m *Model) spotPricesBetween(t catalog.Type, zone string, from, to time.Time) []spotPrice {
	now := m.now()
	if to.IsZero() || to.After(now) {
		to = now
	}
	if from.IsZero() || from.After(to) {
		from = to
	}
	if oldest := now.Add(-spotHistory); from.Before(oldest) {
		from = oldest
	}
	var out []spotPrice
	for at := to; ; {
		p := m.spotPriceOf(t, zone, at)
		out = append(out, p)
		still := m.market.Every <= 0 && p == m.marketPrice(t, zone, at) // has held as long as anybody remembers
		if still || !p.since.After(from) {
			return out
		}
		at = p.since.Add(-1)
	}
}
