package console

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// The states of a node as the page shows it, in the order of its life.
const (
	StateLaunching = "launching" // asked for, or an instance that has not joined
	StateJoining   = "joining"   // its node is there and not initialized
	StateReady     = "ready"
	StateUnready   = "unready"  // initialized, and not Ready now
	StateTainted   = "tainted"  // about to be disrupted: no pod comes any more
	StateDraining  = "draining" // its pods leave, or its instance ends
)

// Row is a node, or one that is on its way. It is comparable: rows that are equal look the same.
type Row struct {
	ID       string `json:"id"` // the claim's name; node/<name> of a node without a claim
	Name     string `json:"n"`  // the node's, the claim's until it has joined
	Pool     string `json:"p"`  // "" for nodes of no NodePool
	Zone     string `json:"z"`
	Type     string `json:"t"`
	Capacity string `json:"c"` // spot, on-demand, reserved
	State    string `json:"s"`
	// Requests of its pods and what there is for pods, in milli-CPU and MiB. Of a node that is not initialized at least what is planned for it.
	CPU       int64          `json:"u"`
	CPUHas    int64          `json:"uh"`
	Memory    int64          `json:"m"`
	MemoryHas int64          `json:"mh"`
	Pods      int            `json:"k"`
	Price     model.MicroUSD `json:"d"`           // per hour; 0 = not known
	Since     int64          `json:"b"`           // Unix seconds of its launch, or of the node
	Note      string         `json:"w,omitempty"` // what it waits for, or why it ends
}

const mebibyte = 1 << 20

// load is what the pods of a node ask for.
type load struct {
	cpu, memory int64 // milli-CPU, bytes
	pods        int
}

// Rows returns a row for each node and for each claim whose node is not there yet, by pool, zone, time and id.
func Rows(c *Cluster) []Row {
	snapshot, ledger := c.snapshot(), c.ledger()
	loads := map[string]load{}
	for i := range snapshot.Pods {
		pod := &snapshot.Pods[i]
		if pod.NodeName == "" || pod.Terminal() || pod.Buffer != "" {
			continue
		}
		requests := snapshot.ShapeOf(pod).Requests
		l := loads[pod.NodeName]
		loads[pod.NodeName] = load{l.cpu + requests[model.CPU], l.memory + requests[model.Memory], l.pods + 1}
	}
	claims := map[string]*model.Claim{} // by node
	rows := make([]Row, 0, len(snapshot.Nodes))
	there := map[string]bool{}
	for i := range snapshot.Nodes {
		there[snapshot.Nodes[i].Name] = true
	}
	for i := range ledger.Claims {
		claim := &ledger.Claims[i]
		switch {
		case !claim.Live():
		case claim.NodeName != "" && there[claim.NodeName]:
			claims[claim.NodeName] = claim
		default:
			rows = append(rows, c.coming(claim))
		}
	}
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		rows = append(rows, c.joined(node, claims[node.Name], loads[node.Name]))
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

func compareRows(a, b Row) int {
	return cmp.Or(strings.Compare(a.Pool, b.Pool), strings.Compare(a.Zone, b.Zone), cmp.Compare(a.Since, b.Since), strings.Compare(a.ID, b.ID))
}

// coming is the row of a claim whose node is not in the snapshot: it has not joined yet, or its instance outlives its node.
func (c *Cluster) coming(claim *model.Claim) Row {
	row := Row{
		ID: claim.Name, Name: cmp.Or(claim.NodeName, claim.Name), Pool: claim.Pool, Zone: claim.Zone, Type: claim.InstanceType,
		Capacity: claim.CapacityType, State: StateLaunching, Price: c.price(claim), Since: cmp.Or(claim.LaunchedUnix, claim.CreatedUnix),
		CPU: claim.Requests[model.CPU], Memory: claim.Requests[model.Memory] / mebibyte, Pods: len(claim.Pods), Note: claim.WaitMessage,
	}
	if row.Type == "" && len(claim.InstanceTypes) > 0 {
		row.Type = claim.InstanceTypes[0]
	}
	has := claim.Allocatable
	if len(has) == 0 {
		has = c.Allocatable[row.Type]
	}
	row.CPUHas, row.MemoryHas = has[model.CPU], has[model.Memory]/mebibyte
	if claim.State == model.Draining || claim.State == model.Terminating {
		row.State, row.CPU, row.Memory, row.Pods, row.Note = StateDraining, 0, 0, 0, claim.FailureMessage
	}
	return row
}

// joined is the row of a node; claim is nil where the ledger knows none.
func (c *Cluster) joined(node *model.Node, claim *model.Claim, l load) Row {
	row := Row{
		ID: "node/" + node.Name, Name: node.Name, Pool: node.Pool(), Zone: node.Labels[model.LabelZone], Type: node.Labels[model.LabelInstanceType],
		Capacity: node.Labels[model.LabelCapacityType], State: StateReady, Since: node.CreatedUnix,
		CPU: l.cpu, CPUHas: node.Allocatable[model.CPU], Memory: l.memory / mebibyte, MemoryHas: node.Allocatable[model.Memory] / mebibyte, Pods: l.pods,
	}
	row.Price = c.Prices[model.OfferingKey{InstanceType: row.Type, Zone: row.Zone, CapacityType: row.Capacity}]
	if !node.Ready {
		row.State = StateUnready
	}
	if claim == nil {
		return row
	}
	row.ID, row.Since = claim.Name, cmp.Or(claim.LaunchedUnix, claim.CreatedUnix, node.CreatedUnix)
	if price := c.price(claim); price > 0 {
		row.Price = price
	}
	tainted := slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
	switch {
	case claim.State == model.Draining || claim.State == model.Terminating || node.DeletedUnix != 0:
		row.State, row.Note = StateDraining, claim.FailureMessage
	case claim.State != model.Initialized:
		row.State, row.Note = StateJoining, claim.WaitMessage
		row.CPU, row.Memory = max(row.CPU, claim.Requests[model.CPU]), max(row.Memory, claim.Requests[model.Memory]/mebibyte)
	case tainted || claim.Command != "":
		row.State = StateTainted
	case claim.Drift != "":
		row.Note = claim.DriftMessage
	}
	return row
}

// price is what a claim's instance costs per hour; of one without an instance, its cheapest acceptable offering anywhere.
func (c *Cluster) price(claim *model.Claim) model.MicroUSD {
	if claim.Price > 0 {
		return claim.Price
	}
	return c.Prices[model.OfferingKey{InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType}]
}

// Totals are sums over the rows of NodePools' nodes, and counts of pods.
type Totals struct {
	Nodes     map[string]int `json:"nodes"`  // by state, of NodePools
	Others    int            `json:"others"` // nodes of no NodePool
	Bound     int            `json:"bound"`  // pods
	Waiting   int            `json:"waiting"`
	CPU       int64          `json:"cpu"` // of nodes of NodePools that have joined, milli-CPU
	CPUHas    int64          `json:"cpuHas"`
	Memory    int64          `json:"memory"` // MiB
	MemoryHas int64          `json:"memoryHas"`
	Price     model.MicroUSD `json:"price"`    // per hour, of nodes of NodePools with an instance
	Unpriced  int            `json:"unpriced"` // those of them without a known price
}

func totals(c *Cluster, rows []Row) Totals {
	t := Totals{Nodes: map[string]int{}}
	for i := range rows {
		row := &rows[i]
		if row.Pool == "" && strings.HasPrefix(row.ID, "node/") {
			t.Others++
			continue
		}
		t.Nodes[row.State]++
		t.Price += row.Price
		if row.Price == 0 {
			t.Unpriced++
		}
		if row.State != StateLaunching {
			t.CPU, t.CPUHas = t.CPU+row.CPU, t.CPUHas+row.CPUHas
			t.Memory, t.MemoryHas = t.Memory+row.Memory, t.MemoryHas+row.MemoryHas
		}
	}
	pods := c.snapshot().Pods
	for i := range pods {
		pod := &pods[i]
		switch {
		case pod.Terminal() || pod.Buffer != "":
		case pod.NodeName != "":
			t.Bound++
		case pod.DeletedUnix == 0:
			t.Waiting++
		}
	}
	return t
}
