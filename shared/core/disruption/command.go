package disruption

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// outcome is what becomes of the pods of nodes that are disrupted.
type outcome struct {
	claims   []model.PlannedClaim  // to be launched for them
	moves    []model.Nomination    // those that go to nodes that exist
	homeless []model.Unschedulable // those without a place, and those that would lose theirs
	price    model.MicroUSD        // of claims, per hour
}

// command puts into words that nodes are disrupted together.
func (c *cluster) command(reason string, nodes []*poolNode, o outcome) model.PlannedCommand {
	out := model.PlannedCommand{
		Reason: reason, Savings: priceOf(nodes) - o.price, Workloads: c.workloads(nodes),
		Replacements: append([]model.PlannedClaim{}, o.claims...), Moves: append([]model.Nomination{}, o.moves...),
	}
	for i := range out.Replacements { // launched later: should the pool be changed in between, they will have drifted
		if pool := c.pools[out.Replacements[i].Pool]; pool != nil {
			out.Replacements[i].PoolHash = pool.Hash
		}
	}
	for _, i := range podsOf(nodes) {
		if c.in.Snapshot.Pods[i].Buffer == "" {
			out.PodsMoved++
		}
	}
	for _, node := range nodes {
		out.Nodes = append(out.Nodes, node.name())
	}
	slices.Sort(out.Nodes)
	out.Inputs = c.inputs(nodes, out.Replacements)
	return out
}

// workloads returns the owners of the pods of nodes, as a command remembers them.
func (c *cluster) workloads(nodes []*poolNode) []string {
	var out []string
	seen := make(map[int]bool)
	for _, i := range podsOf(nodes) {
		pod := &c.in.Snapshot.Pods[i]
		if pod.Buffer != "" {
			continue
		}
		if shape := c.in.Snapshot.ShapeOf(pod); !seen[pod.Shape] || shape.OwnerKind == "" {
			seen[pod.Shape] = true
			out = append(out, workload(pod, shape))
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), model.MaxWorkloads)]
}

// workload returns namespace/kind/name of a pod's owner; of the pod itself where it has none.
func workload(pod *model.Pod, shape *model.PodShape) string {
	if shape.OwnerKind == "" {
		return pod.Namespace + "/Pod/" + pod.Name
	}
	return pod.Namespace + "/" + shape.OwnerKind + "/" + shape.OwnerName
}

// inputs digests what a command depends on: its pools, and how its nodes and their replacements are bought.
func (c *cluster) inputs(nodes []*poolNode, replacements []model.PlannedClaim) string {
	var offerings []priceKey
	var pools []string
	for _, node := range nodes {
		offerings = append(offerings, keyOf(node.Claim))
		pools = append(pools, node.Node.Pool())
	}
	return c.digest(pools, offerings, replacements)
}

// inputsOf digests what an earlier command depends on as it is now.
func (c *cluster) inputsOf(command *model.Command) string {
	var offerings []priceKey
	var pools []string
	for i := range command.Targets {
		t := &command.Targets[i]
		offerings = append(offerings, priceKey{class: t.Class, pool: t.Pool, OfferingKey: offeringOf(t)})
		pools = append(pools, t.Pool)
	}
	return c.digest(pools, offerings, command.Replacements)
}

func offeringOf(t *model.Target) model.OfferingKey {
	return model.OfferingKey{InstanceType: t.InstanceType, Zone: t.Zone, CapacityType: t.CapacityType}
}

// digest stands for pools and offerings as they are: another means that what was decided by them may be decided
// otherwise now.
func (c *cluster) digest(pools []string, offerings []priceKey, replacements []model.PlannedClaim) string {
	type bought struct {
		Class string
		Offer model.OfferingKey
		Price model.MicroUSD
		Has   bool
	}
	var what struct {
		Pools  []model.Pool
		Offers []bought
	}
	for i := range replacements {
		r := &replacements[i]
		offerings = append(offerings, priceKey{class: r.Class, pool: r.Pool, OfferingKey: r.Offering})
		pools = append(pools, replacements[i].Pool)
	}
	slices.Sort(pools)
	for _, name := range slices.Compact(pools) {
		pool := model.Pool{Name: name}
		if known := c.pools[name]; known != nil {
			pool = *known
			pool.Generation = 0
		}
		what.Pools = append(what.Pools, pool)
	}
	for i := range offerings { // of pools that see the same there is one
		if o := &offerings[i]; model.CatalogName(c.in.Catalogs, o.class, o.pool) == o.class {
			o.pool = ""
		}
	}
	slices.SortFunc(offerings, compareKeys)
	for _, key := range slices.Compact(offerings) {
		price, has := c.prices.lowest(key)
		what.Offers = append(what.Offers, bought{key.class, key.OfferingKey, roughly(price), has})
	}
	text, err := json.Marshal(what)
	if err != nil { // nothing in it can fail
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

func compareKeys(a, b priceKey) int {
	return cmp.Or(strings.Compare(a.class, b.class), strings.Compare(a.InstanceType, b.InstanceType),
		strings.Compare(a.Zone, b.Zone), strings.Compare(a.CapacityType, b.CapacityType),
		strings.Compare(a.pool, b.pool))
}

// roughly rounds a price down to two digits that count: less is no reason to think again.
func roughly(price model.MicroUSD) model.MicroUSD {
	unit := model.MicroUSD(1)
	for price/unit >= 100 {
		unit *= 10
	}
	return price / unit * unit
}
