package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// How a pod that waits stands.
const (
	WaitsUnplaced = "unplaced" // nothing can hold it
	WaitsNew      = "new"      // a node would be launched for it
	WaitsNode     = "node"     // a node that is there, or on its way, has room for it
	WaitsPlan     = "next"     // the next run plans it
	WaitsOther    = "other"    // it waits for something else than capacity
)

const mostPodsNamed = 50

// Waiting is pods of one workload that wait for the same.
type Waiting struct {
	Key      string       `json:"key"` // unique, and the same while they wait for the same
	Workload string       `json:"workload"`
	How      string       `json:"how"`
	Pods     int          `json:"pods"`
	Names    []string     `json:"names"` // of the first 50
	Since    int64        `json:"since"` // Unix seconds, of the one that waits longest
	Why      string       `json:"why"`   // in a sentence
	Remedy   string       `json:"remedy,omitempty"`
	Code     string       `json:"code,omitempty"`
	Reasons  []PoolReason `json:"reasons"` // of unplaced ones, what speaks against each pool; never nil
	CPU      int64        `json:"cpu"`     // requests of one of them, milli-CPU
	Memory   int64        `json:"memory"`  // MiB

	targets []string // nodes and claims they are to go to
}

// PoolReason is one reason with the pools it holds for; none = whatever the pool.
type PoolReason struct {
	Pools   []string `json:"pools"`
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Remedy  string   `json:"remedy,omitempty"`
}

// PlanNow returns what would be done for the pods that wait.
func PlanNow(c *Cluster) model.Plan {
	return pack.Plan(c.State.Ask)
}

// WaitingPods returns the pods that wait, unplaced ones first, then by number; nil plan = nothing was planned yet.
func WaitingPods(c *Cluster, plan *model.Plan) []Waiting {
	w := waiting{cluster: c, groups: map[string]*Waiting{}, answers: map[string]answer{}}
	if plan != nil {
		w.learn(plan)
	}
	pods := c.snapshot().Pods
	for i := range pods {
		if waits(&pods[i]) {
			w.add(i)
		}
	}
	out := make([]Waiting, 0, len(w.groups))
	for _, key := range slices.Sorted(maps.Keys(w.groups)) {
		g := w.groups[key]
		if more := len(g.targets) - 1; more > 0 {
			g.Why += fmt.Sprintf(" The others: on %s more.", explain.Many(more, "node"))
		}
		out = append(out, *g)
	}
	rank := map[string]int{WaitsUnplaced: 0, WaitsNew: 1, WaitsNode: 2, WaitsPlan: 3, WaitsOther: 4}
	slices.SortStableFunc(out, func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(rank[a.How], rank[b.How]), cmp.Compare(b.Pods, a.Pods))
	})
	return out
}

// waits reports whether a pod has no node and is to have one.
func waits(pod *model.Pod) bool {
	return pod.NodeName == "" && !pod.Terminal() && pod.DeletedUnix == 0 && pod.Buffer == ""
}

// answer is what the plan says of a pod.
type answer struct {
	how, why string
	target   string // node or claim
	reasons  []model.Reason
}

type waiting struct {
	cluster *Cluster
	groups  map[string]*Waiting
	answers map[string]answer // by pod key
}

func (w *waiting) learn(plan *model.Plan) {
	for i := range plan.Unschedulable {
		u := &plan.Unschedulable[i]
		w.answers[u.Pod.Key()] = answer{how: WaitsUnplaced, reasons: u.Reasons}
	}
	for i := range plan.Claims {
		c := &plan.Claims[i]
		why := fmt.Sprintf("Its node is launched next: NodePool %s, %s %s at $%.4f per hour.", c.Pool, c.Offering.InstanceType, c.Offering.CapacityType, c.Price.USD())
		for _, pod := range c.Pods {
			w.answers[pod.Key()] = answer{how: WaitsNew, why: why, target: c.Name}
		}
	}
	claims := map[string]*model.Claim{}
	known := w.cluster.ledger().Claims
	for i := range known {
		claims[known[i].Name] = &known[i]
	}
	for _, n := range plan.Nominations {
		why := onItsWay(n.Node, claims[n.Node])
		for _, pod := range n.Pods {
			w.answers[pod.Key()] = answer{how: WaitsNode, why: why, target: n.Node}
		}
	}
}

// onItsWay says what a pod waits for that is to go to a node or claim.
func onItsWay(name string, claim *model.Claim) string {
	if claim == nil {
		return fmt.Sprintf("Node %s has capacity for it; kube-scheduler binds it.", name)
	}
	switch claim.State {
	case model.Intended:
		return fmt.Sprintf("An instance is requested: NodeClaim %s.", name)
	case model.Launched:
		why := fmt.Sprintf("Its instance was launched and has not registered: NodeClaim %s, %s %s in %s.", name, claim.InstanceType, claim.CapacityType, claim.Zone)
		return strings.TrimSpace(why + " " + claim.WaitMessage)
	case model.Registered:
		return strings.TrimSpace(fmt.Sprintf("Its node is registered and not initialized yet: NodeClaim %s.", name) + " " + claim.WaitMessage)
	}
	return fmt.Sprintf("Node %s has capacity for it; kube-scheduler binds it.", cmp.Or(claim.NodeName, name))
}

func (w *waiting) add(i int) {
	snapshot := w.cluster.snapshot()
	pod := &snapshot.Pods[i]
	shape := snapshot.ShapeOf(pod)
	a, planned := w.answers[pod.Key()]
	if !planned {
		ok, why := pack.Provisionable(snapshot, i)
		a = answer{how: WaitsOther, why: upper(why) + "."}
		if ok {
			a = answer{how: WaitsPlan, why: "It is planned in the next run."}
		}
	}
	workload := pod.Namespace + "/" + cmp.Or(shape.OwnerName, pod.Name)
	key := fmt.Sprintf("%s|%s|%d|%s|%q", pod.Namespace, shape.OwnerName, pod.Shape, a.how, a.reasons)
	if a.how == WaitsOther {
		key += a.why
	}
	g := w.groups[key]
	if g == nil {
		g = &Waiting{
			Key: key, Workload: workload, How: a.how, Why: a.why, Since: pod.CreatedUnix, Reasons: fold(a.reasons),
			CPU: shape.Requests[model.CPU], Memory: shape.Requests[model.Memory] / mebibyte,
		}
		if len(g.Reasons) > 0 {
			first := g.Reasons[0]
			g.Why, g.Remedy, g.Code = first.Message, first.Remedy, first.Code
		}
		w.groups[key] = g
	}
	if a.target != "" && !slices.Contains(g.targets, a.target) {
		g.targets = append(g.targets, a.target)
	}
	g.Pods++
	g.Since = min(g.Since, pod.CreatedUnix)
	if len(g.Names) < mostPodsNamed {
		g.Names = append(g.Names, pod.Name)
	}
}

// fold joins pools that say the same, in the order they say it first.
func fold(reasons []model.Reason) []PoolReason {
	out := []PoolReason{}
	for _, r := range reasons {
		i := slices.IndexFunc(out, func(o PoolReason) bool { return o.Code == r.Code && o.Message == r.Message && o.Remedy == r.Remedy })
		if i < 0 {
			i = len(out)
			out = append(out, PoolReason{Pools: []string{}, Code: r.Code, Message: r.Message, Remedy: r.Remedy})
		}
		if r.Pool != "" {
			out[i].Pools = append(out[i].Pools, r.Pool)
		}
	}
	return out
}

func upper(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
