package pricing

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

// charge makes the offering's shares sum to 1 and its rates follow.
func (p *Rates) charge(o int) {
	shares, room := p.shares[o], p.rooms[o]
	sum := 0.0
	for d := range shares {
		if room[d] <= 0 {
			shares[d] = 0
		}
		sum += shares[d]
	}
	price := float64(p.pool.Market.Columns[p.columns[o]].Price)
	for d := range shares {
		if shares[d] /= sum; shares[d] > 0 {
			p.rates[o][d] = float64(shares[d]*price) / room[d]
		}
	}
}

// adjust moves the rates, round by round, and keeps those at which units cost most.
func (p *Rates) adjust(rounds int, from float64) {
	most := -1.0
	p.used = p.used[:0]
	used := vector.NewBitset(len(p.columns))
	for round := range rounds {
		scale := from - float64((from-atLast)*float64(round))/float64(rounds)
		for o := range p.load {
			clear(p.load[o])
		}
		if round == outlook {
			p.narrow()
		}
		total := 0.0
		for i := range p.cohorts {
			if c := &p.cohorts[i]; c.count > 0 && len(c.offerings) > 0 {
				total += float64(c.count * p.spread(c, float64(nearly*scale)))
			}
		}
		if total > most {
			most = total
			for o := range p.best {
				copy(p.best[o], p.rates[o])
			}
		}
		for o := range p.load {
			if p.move(o, float64(step*scale)) && round*2 >= rounds {
				used.Set(o)
			}
		}
	}
	for o := used.Next(0); o >= 0; o = used.Next(o + 1) {
		p.used = append(p.used, int32(o))
	}
	for i := range p.cohorts {
		c := &p.cohorts[i]
		cost := 0.0
		for n, o := range c.offerings {
			if by := p.cost(c.request, c.slots, p.best[o]); n == 0 || by < cost {
				cost = by
			}
		}
		c.trend = 1
		if c.cost > 0 && cost > 0 {
			c.trend = cost / c.cost
		}
		c.cost = cost
	}
}

// narrow has every cohort compare those offerings only that may yet be the cheapest for it.
func (p *Rates) narrow() {
	for i := range p.cohorts {
		c := &p.cohorts[i]
		if len(c.offerings) <= fewOfferings {
			continue
		}
		costs := p.costsOf(c)
		limit := float64(slices.Min(costs) * hopeless)
		kept := 0
		for n, o := range c.offerings {
			if costs[n] < limit {
				c.offerings[kept] = o
				kept++
			}
		}
		c.offerings = c.offerings[:kept]
	}
}

// costsOf returns what one of the cohort costs on each of its offerings, until it is called again.
func (p *Rates) costsOf(c *cohort) []float64 {
	p.costs = p.costs[:0]
	for _, o := range c.offerings {
		p.costs = append(p.costs, p.cost(c.request, c.slots, p.rates[o]))
	}
	return p.costs
}

// spread divides the cohort among the offerings that are nearly the cheapest, the cheaper the more, and returns the
// least one of it costs.
func (p *Rates) spread(c *cohort, nearly float64) float64 {
	costs := p.costsOf(c)
	least := slices.Min(costs)
	limit := float64(least * (1 + nearly))
	sum := 0.0
	for _, cost := range costs {
		if cost < limit {
			sum += float64((limit - cost) * (limit - cost))
		}
	}
	for n, cost := range costs {
		if cost >= limit {
			continue
		}
		units := float64((limit-cost)*(limit-cost)) / sum * c.count
		load := p.load[c.offerings[n]]
		for d, amount := range c.request {
			load[d] += float64(amount * units)
		}
		for _, s := range c.slots {
			load[p.resources+s] += units
		}
	}
	return least
}

// move shifts the offering's shares towards the resources that are short by what went to it; false where nothing did.
func (p *Rates) move(o int, step float64) bool {
	load, room, shares := p.load[o], p.rooms[o], p.shares[o]
	mean := 0.0
	for d := range load {
		if room[d] > 0 {
			load[d] /= room[d]
			mean += float64(load[d] * shares[d])
		}
	}
	if mean <= 0 {
		return false
	}
	for d := range shares {
		shares[d] = max(leastShare, float64(shares[d]*(1+float64(step*(min(mostShort, load[d]/mean)-1)))))
	}
	p.charge(o)
	return true
}
