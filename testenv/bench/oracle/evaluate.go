package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/scheduler"
)

// Check names what was evaluated.
type Check string

// The checks; the package's documentation says what each means.
const (
	Whole            Check = "Whole"
	Holds            Check = "Holds"
	HoldsAnyOffering Check = "HoldsAnyOffer"
	ExistingFirst    Check = "ExistingFirst"
	Movable          Check = "Movable"
	GivenUp          Check = "GivenUp"
	Again            Check = "Again"
	Fit              Check = "Fit"
	Free             Check = "Free" // finds nothing, counts only
)

// Finding is one thing that is wrong with a plan.
type Finding struct {
	Check   Check
	Seed    uint64
	Kind    string // of like findings: a plugin, or what differs
	Pod     string // namespace/name
	Node    string
	Message string
	Spec    string // of Karpenter's that poses the problem, its full text; "" = the problem is made up
}

// String returns one line.
func (f Finding) String() string {
	of := "seed"
	if f.Spec != "" {
		of = fmt.Sprintf("spec %q, case", f.Spec)
	}
	return fmt.Sprintf("%s %d: %s: %s: pod %s on %q: %s", of, f.Seed, f.Check, f.Kind, f.Pod, f.Node, f.Message)
}

// Depth says how much is asked of one plan.
type Depth struct {
	Orders      int     // random orders of arrival, at the cheapest offers
	AnyOffering int     // further ones, each claim bought at random
	Only        []Check // nil = all; Whole is always evaluated
}

// Default is what `make oracle` asks.
var Default = Depth{Orders: 5, AnyOffering: 2}

// Verdict is what came of one problem.
type Verdict struct {
	Findings      []Finding
	Pods          int // that waited
	Planned       int // of them, on nodes that exist or on claims
	Claims        int
	Nominated     int // on nodes that exist
	Unschedulable int
	Free          int // bound where the scheduler chose among all nodes by its own scores
	ByItself      bool
}

// Evaluate plans the problem and evaluates the plan. It fails only where the oracle itself cannot go on.
func Evaluate(p *problem.Problem, depth Depth) (Verdict, error) {
	in := p.Input()
	plan := pack.Plan(in)
	return EvaluatePlan(p, &plan, depth)
}

// EvaluatePlan evaluates a plan of the problem, whoever made it.
func EvaluatePlan(p *problem.Problem, plan *model.Plan, depth Depth) (Verdict, error) {
	v := Verdict{Pods: len(p.Pending()), Claims: len(plan.Claims), Unschedulable: len(plan.Unschedulable)}
	for _, n := range plan.Nominations {
		v.Nominated += len(n.Pods)
	}
	v.Findings = whole(p, plan)
	if len(v.Findings) > 0 {
		return v, nil
	}
	w, err := newWorld(p, plan)
	if err != nil {
		return v, fmt.Errorf("seed %d: %w", p.Seed, err)
	}
	v.Planned = len(w.planned)
	checks := []struct {
		check    Check
		evaluate func() error
	}{
		{Holds, func() error { return w.holds(&v, depth) }},
		{Free, func() error { return w.free(&v) }},
		{ExistingFirst, func() error { return w.existingFirst(&v) }},
		{Movable, func() error { return w.movable(&v) }},
		{GivenUp, func() error { return w.givenUp(&v) }},
		{Again, func() error { return w.again(&v) }},
	}
	for _, c := range checks {
		if depth.Only != nil && !slices.Contains(depth.Only, c.check) {
			continue
		}
		if err := c.evaluate(); err != nil {
			return v, fmt.Errorf("seed %d: %w", p.Seed, err)
		}
	}
	for i := range v.Findings {
		v.Findings[i].Seed = p.Seed
	}
	return v, nil
}

// whole reports pods that are in none of the plan's lists, or in several.
func whole(p *problem.Problem, plan *model.Plan) []Finding {
	seen := make(map[string]int)
	count := func(refs []model.PodRef) {
		for _, ref := range refs {
			seen[ref.Key()]++
		}
	}
	for _, n := range plan.Nominations {
		count(n.Pods)
	}
	for _, c := range plan.Claims {
		count(c.Pods)
	}
	for _, u := range plan.Unschedulable {
		seen[u.Pod.Key()]++
	}
	var out []Finding
	for _, pod := range p.Pending() {
		if key := pod.Namespace + "/" + pod.Name; seen[key] != 1 {
			out = append(out, Finding{Check: Whole, Seed: p.Seed, Kind: "lists", Pod: key, Message: fmt.Sprintf("the plan has it %d times", seen[key])})
		}
	}
	return out
}

// holds evaluates Holds and HoldsAnyOffering.
func (w *world) holds(v *Verdict, depth Depth) error {
	for order := range depth.Orders {
		if broken, err := w.arrive(v, Holds, uint64(order)); err != nil || broken {
			return err
		}
	}
	chosen := w.instances
	defer func() { w.instances = chosen }()
	r := rand.New(rand.NewPCG(w.problem.Seed, 2))
	for order := range depth.AnyOffering {
		w.instances = slices.Clone(chosen)
		for i := range w.plan.Claims {
			claim := &w.plan.Claims[i]
			ways, err := acceptable(w.problem, claim)
			if err != nil {
				return err
			}
			if len(ways) == 0 {
				v.Findings = append(v.Findings, Finding{Check: HoldsAnyOffering, Kind: "offers", Node: claim.Name, Message: "the claim accepts no available offer"})
				return nil
			}
			w.instances[i] = ways[r.IntN(len(ways))]
		}
		if broken, err := w.arrive(v, HoldsAnyOffering, uint64(order)); err != nil || broken {
			return err
		}
	}
	return nil
}

// arrive binds the planned pods in one order and notes those that are left.
func (w *world) arrive(v *Verdict, check Check, order uint64) (broken bool, err error) {
	c, err := w.cluster()
	if err != nil {
		return false, err
	}
	defer c.Close()
	left, why, err := bind(c, shuffled(w.planned, order))
	if err != nil || len(left) == 0 {
		return false, err
	}
	if freed, err := w.freed(c, left, why, order); err != nil || freed {
		return false, err
	}
	for i, a := range left {
		v.Findings = append(v.Findings, Finding{Check: check, Kind: why[i].Plugin, Pod: a.key(), Node: a.node, Message: fmt.Sprintf("order %d: %s", order, why[i].Message)})
	}
	return true, nil
}

// otherOrders is how many other orders are tried to see whether pods only wait for each other.
const otherOrders = 20

// freed reports whether the pods that are left only wait for each other, and the scheduler frees them: each is kept back by
// a spread constraint that another of them would bring back into balance, all are bound as planned where they arrive in
// another order, and now the scheduler finds other nodes of the plan or the cluster for them. Of pods spread by different
// constraints that count each other, no plan that places all of them can do without.
func (w *world) freed(c *scheduler.Cluster, left []assignment, why []scheduler.Refusal, order uint64) (bool, error) {
	if slices.ContainsFunc(why, func(r scheduler.Refusal) bool { return r.Plugin != names.PodTopologySpread }) {
		return false, nil
	}
	possible := false
	for other := order + 1; !possible && other <= order+otherOrders; other++ {
		fresh, err := w.cluster()
		if err != nil {
			return false, err
		}
		stuck, _, err := bind(fresh, shuffled(w.planned, other))
		fresh.Close()
		if err != nil {
			return false, err
		}
		possible = len(stuck) == 0
	}
	if !possible {
		return false, nil
	}
	placed, err := place(c, left, w.nodes())
	return placed != nil, err
}

// nodes returns the names of the nodes that exist and of the plan's claims.
func (w *world) nodes() []string {
	var out []string
	for _, node := range w.problem.Nodes {
		out = append(out, node.Name)
	}
	for i := range w.plan.Claims {
		out = append(out, w.plan.Claims[i].Name)
	}
	return out
}

// free counts the planned pods that find a node when the scheduler chooses among all of them.
func (w *world) free(v *Verdict) error {
	c, err := w.cluster()
	if err != nil {
		return err
	}
	defer c.Close()
	queue := shuffled(w.planned, 0)
	for before := -1; len(queue) != before; {
		before = len(queue)
		var left []assignment
		for _, a := range queue {
			node, err := c.Choose(a.pod, w.nodes())
			if err != nil {
				return err
			}
			if node == "" {
				left = append(left, a)
			}
		}
		queue = left
	}
	v.Free = len(w.planned) - len(queue)
	return nil
}
