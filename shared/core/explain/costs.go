package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// Sample is the cluster as it is taken to have been for some seconds.
type Sample struct {
	FromUnix int64
	Seconds  int64
	Snapshot *model.Snapshot
}

// Cost is what instances cost in a span of time and whom it is due to, in millionths of a dollar, at the prices instances were launched at.
//
// An instance's price is shared out among its pods by their requests: a pod's share is the largest of its parts of what the node has for
// pods, of CPU, of memory, and of each device (resources with a / in their name). That is the dominant share of Ghodsi and others
// ("Dominant Resource Fairness", NSDI 2011). Where the shares of a node come to more than the whole they are scaled down to it; what
// they leave is idle, and is counted apart. Between samples requests are taken to stay as they are; when instances came and went is
// exact. What an instance costs while no sample shows its node is Unseen: it was joining, or on its way out.
type Cost struct {
	FromUnix int64          `json:"from"`
	ToUnix   int64          `json:"to"`
	Samples  int            `json:"samples"`
	Total    model.MicroUSD `json:"total"` // = what pods cost + Idle + Unseen
	Idle     model.MicroUSD `json:"idle"`
	Unseen   model.MicroUSD `json:"unseen"`
	Unpriced int            `json:"unpriced,omitempty"` // nodes of NodePools whose price is not known: they are not in it

	Pools      []PoolCost      `json:"nodePools"` // the most expensive first; never nil
	Namespaces []NamespaceCost `json:"namespaces"`
	Workloads  []WorkloadCost  `json:"workloads"`
	Nodes      []NodeCost      `json:"nodes"` // of the last sample, the one that wastes most first
}

// PoolCost is what a NodePool's instances cost.
type PoolCost struct {
	Pool        string         `json:"nodePool"`
	Cost        model.MicroUSD `json:"cost"`
	Idle        model.MicroUSD `json:"idle"`
	Unseen      model.MicroUSD `json:"unseen"`
	NodeSeconds int64          `json:"nodeSeconds"`
}

// NamespaceCost is what a namespace's pods cost.
type NamespaceCost struct {
	Namespace  string         `json:"namespace"`
	Cost       model.MicroUSD `json:"cost"`
	PodSeconds int64          `json:"podSeconds"`
}

// WorkloadCost is what a workload's pods cost. Of a ReplicaSet's that is the Deployment's, of a Job's the CronJob's, as far as names tell.
type WorkloadCost struct {
	Namespace  string         `json:"namespace"`
	Kind       string         `json:"kind,omitempty"` // of the owner; empty = a pod by itself
	Name       string         `json:"name"`
	Cost       model.MicroUSD `json:"cost"`
	PodSeconds int64          `json:"podSeconds"`
	// Fair is what the same requests would cost as a part of the cheapest instance for them that the classes sell, bought as theirs was: a
	// workload that costs far more is on instances of another shape than its own. 0 = not known.
	Fair model.MicroUSD `json:"fair,omitempty"`
}

// NodeCost is what a node costs, and how much of it nobody uses.
type NodeCost struct {
	Node    string             `json:"node"`
	Pool    string             `json:"nodePool"`
	Price   model.MicroUSD     `json:"pricePerHour"`
	Idle    model.MicroUSD     `json:"idlePerHour"`
	Blocked []model.KeptReason `json:"blocked,omitempty"` // why it stays
}

// ppm is the whole of a share.
const ppm = int64(1_000_000)

// Costs shares out what instances cost. Samples are by time and do not overlap. Types is what each class can buy, by name; nil = nothing
// is said of what would be fair.
func Costs(lives []InstanceLifetime, samples []Sample, types map[string][]model.InstanceType) *Cost {
	c := &costing{
		out:   &Cost{Pools: []PoolCost{}, Namespaces: []NamespaceCost{}, Workloads: []WorkloadCost{}, Nodes: []NodeCost{}, Samples: len(samples)},
		lives: lives, types: types, pools: map[string]*PoolCost{}, spaces: map[string]*NamespaceCost{}, works: map[WorkloadCost]*WorkloadCost{},
	}
	for i := range samples {
		s := &samples[i]
		if i == 0 {
			c.out.FromUnix = s.FromUnix
		}
		c.out.ToUnix = s.FromUnix + s.Seconds
		c.sample(s, i == len(samples)-1)
	}
	return c.sorted()
}

// costing is the sum so far.
type costing struct {
	out     *Cost
	lives   []InstanceLifetime
	types   map[string][]model.InstanceType
	pools   map[string]*PoolCost
	classes map[string]string // by pool, as the sample has them
	spaces  map[string]*NamespaceCost
	works   map[WorkloadCost]*WorkloadCost // by namespace, kind and name
}

// sample adds what instances cost while the cluster was as the sample shows it.
func (c *costing) sample(s *Sample, last bool) {
	nodes := map[string]*model.Node{} // by provider id, and by name
	for i := range s.Snapshot.Nodes {
		node := &s.Snapshot.Nodes[i]
		nodes[node.Name] = node
		if node.ProviderID != "" {
			nodes[node.ProviderID] = node
		}
	}
	pods := map[string][]int{} // by node
	for i := range s.Snapshot.Pods {
		if pod := &s.Snapshot.Pods[i]; pod.NodeName != "" && !pod.Terminal() && pod.Buffer == "" {
			pods[pod.NodeName] = append(pods[pod.NodeName], i)
		}
	}
	c.classes = map[string]string{}
	for i := range s.Snapshot.Pools {
		c.classes[s.Snapshot.Pools[i].Name] = s.Snapshot.Pools[i].Template.ClassName
	}
	priced := map[string]bool{}
	for i := range c.lives {
		life := &c.lives[i]
		seconds := life.seconds(s.FromUnix, s.FromUnix+s.Seconds)
		node := nodes[cmp.Or(life.ProviderID, life.Node)]
		if node != nil {
			priced[node.Name] = priced[node.Name] || life.Price > 0
		}
		if seconds == 0 {
			continue
		}
		cost := over(life.Price, seconds)
		pool := c.pool(life.Pool)
		pool.Cost, pool.NodeSeconds, c.out.Total = pool.Cost+cost, pool.NodeSeconds+seconds, c.out.Total+cost
		if node == nil {
			pool.Unseen, c.out.Unseen = pool.Unseen+cost, c.out.Unseen+cost
			continue
		}
		idle := c.share(s, life, node, pods[node.Name], cost, seconds)
		pool.Idle, c.out.Idle = pool.Idle+idle, c.out.Idle+idle
		if last {
			c.out.Nodes = append(c.out.Nodes, NodeCost{Node: node.Name, Pool: life.Pool, Price: life.Price, Idle: idleRate(idle, seconds)})
		}
	}
	if last {
		for i := range s.Snapshot.Nodes {
			if node := &s.Snapshot.Nodes[i]; node.Pool() != "" && !priced[node.Name] {
				c.out.Unpriced++
			}
		}
	}
}

func idleRate(idle model.MicroUSD, seconds int64) model.MicroUSD {
	return idle * 3600 / model.MicroUSD(seconds)
}

// share charges a node's pods with their parts of its cost and returns what is left.
func (c *costing) share(s *Sample, life *InstanceLifetime, node *model.Node, pods []int, cost model.MicroUSD, seconds int64) model.MicroUSD {
	shares, sum := make([]int64, len(pods)), int64(0)
	for k, i := range pods {
		shares[k] = dominant(s.Snapshot.ShapeOf(&s.Snapshot.Pods[i]).Requests, node.Allocatable)
		sum += shares[k]
	}
	whole, left := max(sum, ppm), cost
	for k, i := range pods {
		pod := &s.Snapshot.Pods[i]
		shape := s.Snapshot.ShapeOf(pod)
		part := model.MicroUSD(int64(cost) / whole * shares[k])
		part += model.MicroUSD(int64(cost) % whole * shares[k] / whole)
		left -= part
		space, work := c.space(pod.Namespace), c.work(pod, shape)
		space.Cost, space.PodSeconds = space.Cost+part, space.PodSeconds+seconds
		work.Cost, work.PodSeconds = work.Cost+part, work.PodSeconds+seconds
		if fair := c.fair(shape, node, life); fair > 0 {
			work.Fair += over(fair, seconds)
		}
	}
	return left
}

// dominant returns the largest part that requests are of what there is, in millionths, of CPU, memory and devices; at most all of it.
func dominant(requests, has model.Resources) int64 {
	share := int64(0)
	for name, amount := range requests {
		if name != model.CPU && name != model.Memory && !strings.Contains(name, "/") || has[name] <= 0 || amount <= 0 {
			continue
		}
		share = max(share, int64(float64(amount)/float64(has[name])*float64(ppm)))
	}
	return min(share, ppm)
}

// fair returns the price per hour of the part of an instance that the shape's requests take, of the instance of the node's class for which
// that is cheapest, bought as the node was. 0 where none is known.
func (c *costing) fair(shape *model.PodShape, node *model.Node, life *InstanceLifetime) model.MicroUSD {
	best := model.MicroUSD(0)
	for i, types := 0, model.CatalogOf(c.types, c.classes[life.Pool], life.Pool); i < len(types); i++ {
		t := &types[i]
		o, sold := offering.Cheapest(*t, func(o model.Offering) bool { return o.CapacityType == life.CapacityType })
		has := t.Allocatable()
		if !sold || !fits(has, shape.Requests) || !slices.Contains(t.Labels[model.LabelArch], node.Labels[model.LabelArch]) {
			continue
		}
		if price := o.Price * model.MicroUSD(dominant(shape.Requests, has)) / model.MicroUSD(ppm); best == 0 || price < best {
			best = price
		}
	}
	return best
}

func fits(has, requests model.Resources) bool {
	for name, amount := range requests {
		if amount > has[name] {
			return false
		}
	}
	return true
}

func (c *costing) pool(name string) *PoolCost {
	if c.pools[name] == nil {
		c.pools[name] = &PoolCost{Pool: name}
	}
	return c.pools[name]
}

func (c *costing) space(name string) *NamespaceCost {
	if c.spaces[name] == nil {
		c.spaces[name] = &NamespaceCost{Namespace: name}
	}
	return c.spaces[name]
}

func (c *costing) work(pod *model.Pod, shape *model.PodShape) *WorkloadCost {
	kind, name := workload(pod, shape)
	key := WorkloadCost{Namespace: pod.Namespace, Kind: kind, Name: name}
	if c.works[key] == nil {
		copied := key
		c.works[key] = &copied
	}
	return c.works[key]
}

// workload names what a pod is of. A Deployment names its ReplicaSets by itself and a hash, a CronJob its Jobs by itself and a minute.
func workload(pod *model.Pod, shape *model.PodShape) (kind, name string) {
	stem, end := shape.OwnerName, ""
	if i := strings.LastIndexByte(shape.OwnerName, '-'); i > 0 {
		stem, end = shape.OwnerName[:i], shape.OwnerName[i+1:]
	}
	only := func(letters string) bool {
		return end != "" && strings.Trim(end, letters) == ""
	}
	switch {
	case shape.OwnerKind == "":
		return "", pod.Name
	case shape.OwnerKind == "ReplicaSet" && len(end) <= 10 && only("bcdfghjklmnpqrstvwxz2456789"): // of Kubernetes' SafeEncodeString
		return "Deployment", stem
	case shape.OwnerKind == "Job" && len(end) == 8 && only("0123456789"): // minutes since 1970
		return "CronJob", stem
	}
	return shape.OwnerKind, shape.OwnerName
}

// sorted returns the sums, the most expensive first, then by name.
func (c *costing) sorted() *Cost {
	out := c.out
	for _, p := range c.pools {
		out.Pools = append(out.Pools, *p)
	}
	for _, n := range c.spaces {
		out.Namespaces = append(out.Namespaces, *n)
	}
	for _, w := range c.works {
		out.Workloads = append(out.Workloads, *w)
	}
	slices.SortFunc(out.Pools, func(a, b PoolCost) int { return cmp.Or(cmp.Compare(b.Cost, a.Cost), strings.Compare(a.Pool, b.Pool)) })
	slices.SortFunc(out.Namespaces, func(a, b NamespaceCost) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), strings.Compare(a.Namespace, b.Namespace))
	})
	slices.SortFunc(out.Workloads, func(a, b WorkloadCost) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(out.Nodes, func(a, b NodeCost) int { return cmp.Or(cmp.Compare(b.Idle, a.Idle), strings.Compare(a.Node, b.Node)) })
	return out
}

// Block notes why nodes stay, or that they go next, as a disruption plan says.
func (c *Cost) Block(plan *model.DisruptPlan) {
	for i := range c.Nodes {
		c.Nodes[i].Blocked = keptOf(plan, c.Nodes[i].Node)
	}
}

// overpricedPercent is from how many per cent of its fair cost on a workload is called expensive.
const overpricedPercent = 150

// Overpriced returns the workloads that cost far more than their requests would as parts of instances of their shape, what they cost too much
// descending.
func Overpriced(c *Cost) []WorkloadCost {
	var out []WorkloadCost
	for _, w := range c.Workloads {
		if w.Fair > 0 && w.Cost*100 >= w.Fair*overpricedPercent {
			out = append(out, w)
		}
	}
	slices.SortStableFunc(out, func(a, b WorkloadCost) int { return cmp.Compare(b.Cost-b.Fair, a.Cost-a.Fair) })
	return out
}
