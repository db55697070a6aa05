package disruption

import (
	"maps"
	"math/big"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// balancedPools are the pools whose consolidation policy is Balanced.
type balancedPools struct {
	percent int64             // that a command must score; see approves
	pools   map[string]totals // by name
}

// totals are of all nodes of a pool.
type totals struct {
	price model.MicroUSD // per hour
	cost  int64          // of disturbing all of them, in thousandths of a pod
}

func newBalanced(c *cluster) balancedPools {
	out := balancedPools{percent: c.set.BalancedPercent, pools: make(map[string]totals)}
	for _, node := range c.poolNodes {
		if node.Pool != nil && node.Pool.Disruption.Policy == "Balanced" {
			known := out.pools[node.Pool.Name]
			out.pools[node.Pool.Name] = totals{known.price + node.Price, known.cost + node.CostMilli}
		}
	}
	return out
}

// approves returns why a Balanced pool of the nodes does not want them disrupted for the savings, per hour; nil where
// all do.
//
// A pool's score is its share of the savings in what all its nodes cost, divided by the share of these nodes in what
// disturbing all of them would cost. It has to be BalancedPercent of one. Savings are shared out by what the pools'
// nodes cost. Source: Karpenter's consolidation policy Balanced, whose threshold is a half.
func (b balancedPools) approves(nodes []*poolNode, savings model.MicroUSD) *model.KeptReason {
	if len(b.pools) == 0 {
		return nil
	}
	of := make(map[string]totals)
	for _, node := range nodes {
		pool := node.Node.Pool()
		of[pool] = totals{of[pool].price + node.Price, of[pool].cost + node.CostMilli}
	}
	total := priceOf(nodes)
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all, is := b.pools[name]
		if !is {
			continue
		}
		share := int64(0)
		if savings > 0 && total > 0 {
			share = quotient(int64(savings), int64(of[name].price), int64(total))
		}
		score := quotient(share, all.cost*100, int64(all.price)) // times the cost of the move it is hundredths
		if cost := of[name].cost; score <= 0 || score < b.percent*cost {
			return because(SavingsTooSmall,
				"NodePool %s is Balanced: the savings score %d %% for what is disrupted, and %d %% are required",
				name, score/max(1, cost), b.percent)
		}
	}
	return nil
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
