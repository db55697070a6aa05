package reclaim

import (
	"fmt"
	"math"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// SpreadBusy says that another command moves pods that are spread with those of the node.
const SpreadBusy = "SpreadBusy"

// balance sees to it that the commands of a plan hold in whatever order they are carried out, as far as pods are spread: what one moves
// out of a domain, or into one, is not relied on by another, and does not break what another was planned for.
type balance struct {
	v       *view
	spreads *pack.Spreads
	byShape map[int][]int // pods on nodes that are there, by shape
	at      map[string]*model.Node
	groups  map[*pack.Spread]*spreadGroup
	order   []*spreadGroup // of groups, as they were met
	done    [][]move       // by command
}

// move is a pod that goes from one node to another.
type move struct {
	pod      int
	from, to *model.Node // nil = none is known
}

// spreadGroup is what a constraint counts.
type spreadGroup struct {
	spread *pack.Spread
	count  map[string]int32 // by domain: pods that are there now
	flows  []flow           // by command
}

// flow is what a command changes of the counts.
type flow struct {
	in, out map[string]int32 // pods that come from another domain, and that go to one
	own     map[string]bool  // domains in which it puts pods that have the constraint
}

func (v *view) newBalance() *balance {
	b := &balance{v: v, spreads: pack.NewSpreads(v.in.Snapshot), byShape: make(map[int][]int), at: make(map[string]*model.Node), groups: make(map[*pack.Spread]*spreadGroup)}
	for i := range v.in.Snapshot.Nodes {
		b.at[v.in.Snapshot.Nodes[i].Name] = &v.in.Snapshot.Nodes[i]
	}
	for i := range v.in.Snapshot.Pods {
		if pod := &v.in.Snapshot.Pods[i]; b.at[pod.NodeName] != nil && !pod.Terminal() && pod.DeletedUnix == 0 {
			b.byShape[pod.Shape] = append(b.byShape[pod.Shape], i)
		}
	}
	return b
}

// unbalanced returns why the command may not be carried out beside those before it; nil where it may, and then it is one of them.
func (v *view) unbalanced(command *model.PlannedCommand, members []*member) *model.KeptReason {
	if !v.spreads {
		return nil
	}
	if v.balance == nil {
		v.balance = v.newBalance()
	}
	b := v.balance
	moves := b.moves(command, members)
	if len(moves) == 0 {
		return nil
	}
	for _, m := range moves {
		for _, s := range b.spreads.Of(v.in.Snapshot.Pods[m.pod].Shape) {
			b.meet(s)
		}
	}
	for _, g := range b.order {
		g.flows = append(g.flows, b.flowOf(g.spread, moves))
	}
	for _, g := range b.order {
		if domain, broken := g.broken(); broken {
			for _, g := range b.order {
				g.flows = g.flows[:len(g.flows)-1]
			}
			return &model.KeptReason{Code: SpreadBusy, Message: fmt.Sprintf("while other nodes are given back too, more of the pods that are spread over %s may be in %s than maxSkew %d allows",
				g.spread.Key, domain, g.spread.MaxSkew)}
		}
	}
	b.done = append(b.done, moves)
	return nil
}

// meet begins to count by a constraint.
func (b *balance) meet(s *pack.Spread) {
	if b.groups[s] != nil {
		return
	}
	g := &spreadGroup{spread: s, count: make(map[string]int32)}
	for _, node := range b.at { // sums: the order does not matter
		if value, counts := s.Domain(node); counts {
			g.count[value] += 0
		}
	}
	for shape, pods := range b.byShape { // sums: the order does not matter
		if !s.Counts(shape) {
			continue
		}
		for _, i := range pods {
			if value, counts := s.Domain(b.at[b.v.in.Snapshot.Pods[i].NodeName]); counts {
				g.count[value]++
			}
		}
	}
	for _, moves := range b.done {
		g.flows = append(g.flows, b.flowOf(s, moves))
	}
	b.groups[s] = g
	b.order = append(b.order, g)
}

// moves lists where the command moves pods.
func (b *balance) moves(command *model.PlannedCommand, members []*member) []move {
	index := b.v.indexOf(podsOf(members))
	var out []move
	add := func(refs []model.PodRef, to *model.Node) {
		for _, ref := range refs {
			if i, known := index[ref]; known {
				out = append(out, move{i, b.at[b.v.in.Snapshot.Pods[i].NodeName], to})
			}
		}
	}
	for _, m := range command.Moves {
		add(m.Pods, b.at[m.Node])
	}
	for i := range command.Replacements {
		add(command.Replacements[i].Pods, nodeOf(&command.Replacements[i]))
	}
	return out
}

// nodeOf returns the node a replacement will be, with the labels that are decided.
func nodeOf(claim *model.PlannedClaim) *model.Node {
	labels := map[string]string{model.LabelHostname: claim.Name, model.LabelNodePool: claim.Pool}
	for key, value := range claim.Labels { // into a map
		labels[key] = value
	}
	for _, r := range claim.Requirements {
		if r.Operator == model.In && len(r.Values) == 1 {
			labels[r.Key] = r.Values[0]
		}
	}
	return &model.Node{Name: claim.Name, Labels: labels, Taints: claim.Taints}
}

func (b *balance) flowOf(s *pack.Spread, moves []move) flow {
	f := flow{in: make(map[string]int32), out: make(map[string]int32), own: make(map[string]bool)}
	domain := func(node *model.Node) (string, bool) {
		if node == nil {
			return "", false
		}
		return s.Domain(node)
	}
	for _, m := range moves {
		shape := b.v.in.Snapshot.Pods[m.pod].Shape
		to, comes := domain(m.to)
		from, goes := domain(m.from)
		if comes && slices.Contains(b.spreads.Of(shape), s) {
			f.own[to] = true
		}
		if !s.Counts(shape) || comes && goes && from == to {
			continue
		}
		if comes {
			f.in[to]++
		}
		if goes {
			f.out[from]++
		}
	}
	return f
}

// broken returns a domain in which a command puts pods that have the constraint, and in which there may be more than that allows when
// they come: those of its own command are where they go then, of others it is not known.
func (g *spreadGroup) broken() (string, bool) {
	coming, going := make(map[string]int32), make(map[string]int32)
	domains := make(map[string]bool, len(g.count))
	for value := range g.count { // into a map
		domains[value] = true
	}
	for i := range g.flows {
		for value, n := range g.flows[i].in { // sums: the order does not matter
			coming[value] += n
			domains[value] = true
		}
		for value, n := range g.flows[i].out { // sums: the order does not matter
			going[value] += n
		}
	}
	worst := ""
	for i := range g.flows {
		f := &g.flows[i]
		if len(f.own) == 0 || len(f.in) == 0 && len(g.flows) == 1 {
			continue
		}
		low := int32(0)
		if g.spread.Key != model.LabelHostname && len(domains) >= int(g.spread.MinDomains) {
			low = math.MaxInt32
			for value := range domains { // a minimum does not depend on the order
				low = min(low, g.count[value]+f.in[value]-going[value])
			}
		}
		for value := range f.own { // the first by name
			most := g.count[value] + coming[value]
			if f.in[value] == 0 { // else pods may come before those that leave have left
				most -= f.out[value]
			}
			if most-low > g.spread.MaxSkew && (worst == "" || value < worst) {
				worst = value
			}
		}
	}
	return worst, worst != ""
}
