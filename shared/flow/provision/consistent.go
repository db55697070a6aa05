package provision

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// compareEvery is how often a claim is compared with its node, in minutes. Each has its own minute.
const compareEvery = 10

// shortPercent is how much of what was launched a node must have for the difference to be none.
const shortPercent = 90

// checkConsistency tells where an initialized node has much less than was launched, of anything its pods asked for. It
// changes nothing about the node.
func (g *registrar) checkConsistency(ctx context.Context) {
	nodes := g.nodesByProvider()
	var due []model.Claim
	var found []string
	for _, claim := range g.ledger.Claims {
		joined := nodes[claim.ProviderID]
		if claim.State != model.Initialized || len(joined) != 1 || joined[0].DeletedUnix != 0 ||
			g.now()/60%compareEvery != minuteOf(claim.Name) {
			continue
		}
		text := shortfall(&claim, joined[0])
		if text != "" {
			g.warn(kindClaim, claim.Name, claim.ObjectUID, "FailedConsistencyCheck", text)
		}
		if text != claim.Inconsistent {
			due, found = append(due, claim), append(found, text)
		}
	}
	const problem = "show whether the node of claim %s is consistent with its instance type: %v"
	g.each(due, problem, func(i int) (model.Claim, error) {
		next := due[i]
		next.Inconsistent, next.InconsistentUnix = found[i], g.now()
		if err := g.show(ctx, next); err != nil {
			return due[i], err
		}
		if err := g.advance(ctx, &next); err != nil {
			return due[i], err
		}
		return next, nil
	})
}

// minuteOf returns the minute of every ten in which a claim is compared, so that not all are at once.
func minuteOf(name string) int64 {
	h := fnv.New32a()
	h.Write([]byte(name)) // never fails
	return int64(h.Sum32() % compareEvery)
}

// shortfall says of which of the resources a claim's pods asked for its node has less than nine tenths of what was
// launched; "" = of none.
func shortfall(claim *model.Claim, node *model.Node) string {
	var short []string
	for _, name := range slices.Sorted(maps.Keys(claim.Requests)) {
		launched, has := claim.Capacity[name], node.Capacity[name]
		if claim.Requests[name] > 0 && launched > 0 && float64(has) < float64(launched)*shortPercent/100 {
			short = append(short, fmt.Sprintf("%s %d of %d", name, has, launched))
		}
	}
	if len(short) == 0 {
		return ""
	}
	return fmt.Sprintf("node %s has less than %d %% of what its instance type should have: %s", node.Name, shortPercent,
		strings.Join(short, ", "))
}
