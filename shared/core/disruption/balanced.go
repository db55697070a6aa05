package disruption

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// approves returns why a Balanced pool of the nodes does not want them disrupted for the savings, per hour; nil where all do.
//
// A pool's score is its share of the savings in what all its nodes cost, divided by the share of these nodes in what disturbing all
// of them would cost. It has to be BalancedPercent of one. Savings are shared out by what the pools' nodes cost. Source: Karpenter's
// consolidation policy Balanced, whose threshold is a half.
func (v *planner) approves(nodes []*poolNode, savings model.MicroUSD) *model.KeptReason {
	total := model.MicroUSD(0)
	price, cost := make(map[string]model.MicroUSD), make(map[string]int64)
	for _, node := range nodes {
		pool := node.Node.Pool()
		price[pool], cost[pool], total = price[pool]+node.Price, cost[pool]+node.CostMilli, total+node.Price
	}
	for _, name := range slices.Sorted(maps.Keys(price)) {
		if pool := v.pools[name]; pool == nil || pool.Disruption.Policy != "Balanced" {
			continue
		}
		share := int64(0)
		if savings > 0 && total > 0 {
			share = quotient(int64(savings), int64(price[name]), int64(total))
		}
		poolPrice, poolCost := v.whole(name)
		score := quotient(share, poolCost*100, int64(poolPrice)) // times the cost of the move it is hundredths
		if score <= 0 || score < v.set.BalancedPercent*cost[name] {
			return &model.KeptReason{Code: SavingsTooSmall, Message: fmt.Sprintf(
				"NodePool %s is Balanced: the savings score %d %% for what is disrupted, and %d %% are required", name, score/max(1, cost[name]), v.set.BalancedPercent)}
		}
	}
	return nil
}

// whole returns what all nodes of a pool cost per hour, and what disturbing all of them would, in thousandths of a pod.
func (v *planner) whole(pool string) (price model.MicroUSD, cost int64) {
	known, counted := v.totals[pool]
	if !counted {
		for _, node := range v.poolNodes {
			if node.Node.Pool() == pool {
				known.price, known.cost = known.price+node.Price, known.cost+node.CostMilli
			}
		}
		if v.totals == nil {
			v.totals = make(map[string]totals)
		}
		v.totals[pool] = known
	}
	return known.price, known.cost
}

// totals are of all nodes of a pool.
type totals struct {
	price model.MicroUSD
	cost  int64
}

// quotient returns a × b / c, towards 0, however large the product; 0 where c is 0.
func quotient(a, b, c int64) int64 {
	if c == 0 {
		return 0
	}
	product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	if product.Quo(product, big.NewInt(c)); product.IsInt64() {
		return product.Int64()
	}
	return 1<<63 - 1
}
