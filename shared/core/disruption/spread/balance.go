package spread

import (
	"fmt"
	"math"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// The codes of nodes whose pods are spread with others that move.
const (
	Busy  = "SpreadBusy"  // another command of the plan moves them
	Waits = "SpreadWaits" // the same command would move them, and which of them leaves first is not known
)

// Balance sees to it that the commands of a plan hold in whatever order their pods leave, as far as pods are spread:
// what one moves out of a domain, or into one, is not relied on by another pod, and does not break what another was
// planned for.
type Balance struct {
	snapshot *model.Snapshot
	spreads  *pack.Spreads // nil = nothing is counted yet
	byShape  map[int][]int // pods on nodes that are there, by shape
	at       map[string]*model.Node
	groups   map[*pack.Spread]*group
	order    []*group // of groups, as they were met
	done     []done   // by command
}

// done is what a command of the plan moves.
type done struct {
	moves  []move
	renews bool
}

// move is a pod that goes from one node to another.
type move struct {
	pod      int
	from, to *model.Node // nil = none is known
}

// group is what a constraint counts.
type group struct {
	spread *pack.Spread
	count  map[string]int32 // by domain: pods that are there now
	flows  []flow           // by command
}

// flow is what a command changes of the counts.
type flow struct {
	in, out map[string]int32 // pods that come from another domain, and that go to one
	shapes  []shapeFlow      // of pods that have the constraint, as they were met
}

// shapeFlow is what a command does with pods of one shape that have the constraint. Of pods with no other rule about
// pods each goes where another one of them was to go, if that is free and its own place is not: in and out are theirs,
// and empty for all other shapes. Where a node has to be renewed they are those of the whole command: it is not kept
// for ever because its pods wait for each other.
type shapeFlow struct {
	shape   int
	own     map[string]bool // domains in which they are put
	in, out map[string]int32
}

// NewBalance returns the balance of a snapshot where no command has moved any pod yet; nil, which is always balanced,
// where no constraint must hold.
func NewBalance(snapshot *model.Snapshot) *Balance {
	if !pack.HasSpreads(snapshot.Shapes) {
		return nil
	}
	return &Balance{snapshot: snapshot}
}

// index counts the pods when the first command is weighed.
func (b *Balance) index() {
	b.spreads, b.byShape = pack.NewSpreads(b.snapshot), make(map[int][]int)
	b.at, b.groups = make(map[string]*model.Node), make(map[*pack.Spread]*group)
	for i := range b.snapshot.Nodes {
		b.at[b.snapshot.Nodes[i].Name] = &b.snapshot.Nodes[i]
	}
	for i := range b.snapshot.Pods {
		if pod := &b.snapshot.Pods[i]; b.at[pod.NodeName] != nil && !pod.Terminal() && pod.DeletedUnix == 0 {
			b.byShape[pod.Shape] = append(b.byShape[pod.Shape], i)
		}
	}
}

// Add returns why the command, which moves the pods, may not be carried out beside those before it; nil where it may,
// and then it is one of them.
func (b *Balance) Add(command *model.PlannedCommand, pods []int) *model.KeptReason {
	moves := b.weigh(command, pods)
	if len(moves) == 0 {
		return nil
	}
	no := b.alone()
	for _, g := range b.order {
		if domain, broken := g.broken(g.flows); no == nil && broken {
			no = g.reason(Busy, domain, "while other nodes are disrupted too, "+
				"more of the pods that are spread over %s may be in %s than maxSkew %d allows")
		}
	}
	if no != nil {
		b.forget()
		return no
	}
	b.done = append(b.done, done{moves, renews(command)})
	return nil
}

// Alone returns why the command, which moves the pods, may not be carried out even if no other is; nil where it may.
func (b *Balance) Alone(command *model.PlannedCommand, pods []int) *model.KeptReason {
	if len(b.weigh(command, pods)) == 0 {
		return nil
	}
	defer b.forget()
	return b.alone()
}

// weigh adds what a command changes to every count it may matter to, and returns its moves.
func (b *Balance) weigh(command *model.PlannedCommand, pods []int) []move {
	if b == nil {
		return nil
	}
	if b.spreads == nil {
		b.index()
	}
	moves := b.moves(command, pods)
	if len(moves) == 0 {
		return nil
	}
	for _, m := range moves {
		for _, s := range b.spreads.Of(b.shapeOf(m)) {
			b.meet(s)
		}
	}
	for _, g := range b.order {
		g.flows = append(g.flows, b.flowOf(g.spread, moves, renews(command)))
	}
	return moves
}

// forget takes back what the last command changes.
func (b *Balance) forget() {
	for _, g := range b.order {
		g.flows = g.flows[:len(g.flows)-1]
	}
}

// alone returns why the last command may not be carried out even if no other is.
func (b *Balance) alone() *model.KeptReason {
	for _, g := range b.order {
		if domain, broken := g.broken(g.flows[len(g.flows)-1:]); broken {
			return g.reason(Waits, domain, "before all its pods have moved, more of the pods that are spread over %s "+
				"may be in %s than maxSkew %d allows, and one of them would stay pending")
		}
	}
	return nil
}

// reason words that a domain breaks the constraint.
func (g *group) reason(code, domain, format string) *model.KeptReason {
	return &model.KeptReason{Code: code, Message: fmt.Sprintf(format, g.spread.Key, domain, g.spread.MaxSkew)}
}

// renews reports whether the command disrupts a node that is not to stay as it is, whatever that costs.
func renews(command *model.PlannedCommand) bool {
	return model.ReasonNamed(command.Reason).Renews
}

func (b *Balance) shapeOf(m move) int { return b.snapshot.Pods[m.pod].Shape }

// meet begins to count by a constraint.
func (b *Balance) meet(s *pack.Spread) {
	if b.groups[s] != nil {
		return
	}
	g := &group{spread: s, count: make(map[string]int32)}
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
			if value, counts := s.Domain(b.at[b.snapshot.Pods[i].NodeName]); counts {
				g.count[value]++
			}
		}
	}
	for _, d := range b.done {
		g.flows = append(g.flows, b.flowOf(s, d.moves, d.renews))
	}
	b.groups[s] = g
	b.order = append(b.order, g)
}

// moves lists where the command moves pods.
func (b *Balance) moves(command *model.PlannedCommand, pods []int) []move {
	index := make(map[model.PodRef]int, len(pods))
	for _, i := range pods {
		index[b.snapshot.Pods[i].Ref()] = i
	}
	var out []move
	add := func(refs []model.PodRef, to *model.Node) {
		for _, ref := range refs {
			if i, known := index[ref]; known {
				out = append(out, move{i, b.at[b.snapshot.Pods[i].NodeName], to})
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

// flowOf returns what moves change of the counts of a constraint; those of a node that is renewed are taken as a whole.
func (b *Balance) flowOf(s *pack.Spread, moves []move, renews bool) flow {
	f := flow{in: make(map[string]int32), out: make(map[string]int32)}
	domain := func(node *model.Node) (string, bool) {
		if node == nil {
			return "", false
		}
		return s.Domain(node)
	}
	for _, m := range moves {
		shape := b.shapeOf(m)
		to, comes := domain(m.to)
		from, goes := domain(m.from)
		n := -1
		if slices.Contains(b.spreads.Of(shape), s) {
			n = f.of(shape)
			if comes {
				f.shapes[n].own[to] = true
			}
		}
		if !s.Counts(shape) || comes && goes && from == to {
			continue
		}
		alike := n >= 0 && !renews && b.alike(shape)
		if comes {
			f.in[to]++
			if alike {
				f.shapes[n].in[to]++
			}
		}
		if goes {
			f.out[from]++
			if alike {
				f.shapes[n].out[from]++
			}
		}
	}
	if renews {
		for n := range f.shapes {
			f.shapes[n].in, f.shapes[n].out = f.in, f.out
		}
	}
	return f
}

// of returns the number of what is known of a shape.
func (f *flow) of(shape int) int {
	n := slices.IndexFunc(f.shapes, func(s shapeFlow) bool { return s.shape == shape })
	if n < 0 {
		n = len(f.shapes)
		f.shapes = append(f.shapes, shapeFlow{
			shape: shape, own: make(map[string]bool), in: make(map[string]int32), out: make(map[string]int32),
		})
	}
	return n
}

// alike reports whether pods of the shape can take each other's place: they have one binding rule about pods, which is
// a spread.
func (b *Balance) alike(shape int) bool {
	pod := &b.snapshot.Shapes[shape]
	return len(pod.PodAffinity)+len(pod.PodAntiAffinity) == 0 && len(b.spreads.Of(shape)) == 1
}

// broken returns the first domain, by name, in which one of the commands puts pods that have the constraint, and in
// which there may be more than that allows when they come. Which pods have left and come by then is not known, of other
// commands nor of the same: in the worst case all that come to the domain are there, and all that leave another have
// left it and none has come there yet. Only pods that can take each other's place (see shapeFlow) are where they go
// then.
func (g *group) broken(flows []flow) (string, bool) {
	coming, going := make(map[string]int32), make(map[string]int32)
	for i := range flows {
		for value, n := range flows[i].in { // sums: the order does not matter
			coming[value] += n
		}
		for value, n := range flows[i].out { // sums: the order does not matter
			going[value] += n
		}
	}
	domains := g.domains(coming)
	worst := ""
	for i := range flows {
		for k := range flows[i].shapes {
			f := &flows[i].shapes[k]
			for value := range f.own { // the first by name
				most := g.count[value] + coming[value]
				if f.in[value] == 0 { // else pods may come before those that leave have left
					most -= f.out[value]
				}
				over := most-g.low(value, f, domains, going) > g.spread.MaxSkew
				if over && (worst == "" || value < worst) {
					worst = value
				}
			}
		}
	}
	return worst, worst != ""
}

// low returns how few pods the emptiest of the domains but one may have; 0 where no domain counts.
func (g *group) low(but string, f *shapeFlow, domains map[string]bool, going map[string]int32) int32 {
	if domains == nil {
		return 0
	}
	low := int32(math.MaxInt32)
	for other := range domains { // a minimum does not depend on the order
		if other != but {
			low = min(low, g.count[other]+f.in[other]-going[other])
		}
	}
	return low
}

// domains returns the domains of which the emptiest counts; nil where none does: no host counts as emptier than one
// without pods, nor does any domain where there are fewer than minDomains.
func (g *group) domains(coming map[string]int32) map[string]bool {
	if g.spread.Key == model.LabelHostname {
		return nil
	}
	out := make(map[string]bool, len(g.count))
	for value := range g.count { // into a map
		out[value] = true
	}
	for value := range coming { // into a map
		out[value] = true
	}
	if len(out) < int(g.spread.MinDomains) {
		return nil
	}
	return out
}
