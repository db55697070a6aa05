package spread

import (
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// preference is a ScheduleAnyway spread of pods that move, with how many it counts in each domain.
type preference struct {
	key     string
	maxSkew int32
	asks    map[int]bool // shapes whose pods have it
	counts  map[int]bool // shapes whose pods it counts
	pods    map[string]int32
	nodes   map[string]int // that are domains
}

// placement is where pods are while commands are carried out one after another.
type placement struct {
	snapshot    *model.Snapshot
	preferences []*preference
	nodes       map[string]*model.Node
	claims      map[string]*model.PlannedClaim // replacements that took pods, by name
	at          []string                       // by pod: the node or the replacement it is on
}

// NoteGivenUp notes in the plan's commands which ScheduleAnyway spreads of the pods they move they give up: whose pods
// are further apart than maxSkew after the command, and further than before it.
func NoteGivenUp(snapshot *model.Snapshot, commands []model.PlannedCommand) {
	index := make(map[model.PodRef]int)
	for i := range commands {
		eachMove(&commands[i], func(ref model.PodRef, _ string, _ *model.PlannedClaim) { index[ref] = -1 })
	}
	if len(index) == 0 {
		return
	}
	moved := make(map[int]bool) // shapes
	for i := range snapshot.Pods {
		if ref := snapshot.Pods[i].Ref(); index[ref] < 0 {
			index[ref], moved[snapshot.Pods[i].Shape] = i, true
		}
	}
	preferences := preferencesOf(snapshot, moved)
	if len(preferences) == 0 {
		return
	}
	p := newPlacement(snapshot, preferences)
	for i := range commands {
		commands[i].GivenUpSpreads = append(commands[i].GivenUpSpreads, p.follow(&commands[i], index)...)
	}
}

// newPlacement counts the pods as they are before any command.
func newPlacement(snapshot *model.Snapshot, preferences []*preference) *placement {
	p := &placement{
		snapshot: snapshot, preferences: preferences, nodes: make(map[string]*model.Node, len(snapshot.Nodes)),
		claims: make(map[string]*model.PlannedClaim), at: make([]string, len(snapshot.Pods)),
	}
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		p.nodes[node.Name] = node
		for _, w := range preferences {
			if value := node.Labels[w.key]; value != "" {
				w.nodes[value]++
			}
		}
	}
	for i := range snapshot.Pods {
		pod := &snapshot.Pods[i]
		if p.at[i] = pod.NodeName; pod.Terminal() || pod.DeletedUnix != 0 {
			continue
		}
		for _, w := range preferences {
			if value := p.domain(w, p.at[i]); value != "" && w.counts[pod.Shape] {
				w.pods[value]++
			}
		}
	}
	return p
}

// domain returns the domain of a node, or of a replacement; empty where it is in none.
func (p *placement) domain(w *preference, name string) string {
	if claim := p.claims[name]; claim != nil {
		return domainOf(claim, w.key)
	}
	if node := p.nodes[name]; node != nil {
		return node.Labels[w.key]
	}
	return ""
}

// follow carries a command out and returns what it gives up. The index finds the pods it moves, −1 for those that are
// not there.
func (p *placement) follow(c *model.PlannedCommand, index map[model.PodRef]int) []model.Unspread {
	was := make([]int32, len(p.preferences))
	for n, w := range p.preferences {
		was[n], _, _ = w.skew()
		for k := range c.Replacements {
			if value := domainOf(&c.Replacements[k], w.key); value != "" {
				w.nodes[value]++
			}
		}
		if w.key != model.LabelHostname { // a zone or the like stays one
			continue
		}
		for _, name := range c.Nodes {
			delete(w.nodes, p.domain(w, name))
		}
	}
	touched := make(map[int]bool) // shapes
	eachMove(c, func(ref model.PodRef, to string, claim *model.PlannedClaim) {
		if pod := index[ref]; pod >= 0 {
			if claim != nil {
				p.claims[to] = claim
			}
			touched[p.snapshot.Pods[pod].Shape] = true
			p.move(pod, to)
		}
	})
	var out []model.Unspread
	for n, w := range p.preferences {
		skew, fullest, emptiest := w.skew()
		if skew <= max(w.maxSkew, was[n]) {
			continue
		}
		if shape := w.asking(touched); shape >= 0 {
			s := &p.snapshot.Shapes[shape]
			out = append(out, model.Unspread{
				Namespace: s.Namespace, Owner: s.OwnerName, Key: w.key, MaxSkew: w.maxSkew, Skew: skew,
				Message: fmt.Sprintf("pods of %s/%s prefer a skew of %d over %s; %d would be in %s and %d in %s",
					s.Namespace, s.OwnerName, w.maxSkew, w.key, w.pods[fullest], fullest, w.pods[emptiest], emptiest),
			})
		}
	}
	return out
}

// move moves a pod to a node or a replacement.
func (p *placement) move(pod int, to string) {
	for _, w := range p.preferences {
		if !w.counts[p.snapshot.Pods[pod].Shape] {
			continue
		}
		if value := p.domain(w, p.at[pod]); value != "" {
			w.pods[value]--
		}
		if value := p.domain(w, to); value != "" {
			w.pods[value]++
		}
	}
	p.at[pod] = to
}

// skew is the difference between the fullest and the emptiest domain, and which they are.
func (w *preference) skew() (skew int32, fullest, emptiest string) {
	first := true
	for domain := range w.nodes { // ties go to the first by name
		n := w.pods[domain]
		if first || n > w.pods[fullest] || n == w.pods[fullest] && domain < fullest {
			fullest = domain
		}
		if first || n < w.pods[emptiest] || n == w.pods[emptiest] && domain < emptiest {
			emptiest = domain
		}
		first = false
	}
	return w.pods[fullest] - w.pods[emptiest], fullest, emptiest
}

// asking returns the first of the shapes that has the preference; −1 where none has.
func (w *preference) asking(shapes map[int]bool) int {
	first := -1
	for shape := range shapes { // the least of them
		if w.asks[shape] && (first < 0 || shape < first) {
			first = shape
		}
	}
	return first
}

// preferencesOf returns the ScheduleAnyway spreads of the shapes, each once, in the order of the shapes.
func preferencesOf(snapshot *model.Snapshot, of map[int]bool) []*preference {
	var out []*preference
	known := make(map[string]*preference)
	for i := range snapshot.Shapes {
		for n := range snapshot.Shapes[i].Spread {
			s := &snapshot.Shapes[i].Spread[n]
			if !of[i] || !s.Anyway || s.TopologyKey == "" {
				continue
			}
			peers, err := topology.PeersOfSpread(s, &snapshot.Shapes[i])
			if err != nil {
				continue
			}
			id := fmt.Sprintf("%s\x00%d\x00%s", s.TopologyKey, s.MaxSkew, peers.Key())
			w := known[id]
			if w == nil {
				w = &preference{
					key: s.TopologyKey, maxSkew: max(1, s.MaxSkew), asks: map[int]bool{}, counts: map[int]bool{},
					pods: map[string]int32{}, nodes: map[string]int{},
				}
				for k := range snapshot.Shapes {
					if peers.Match(snapshot.Shapes[k].Namespace, snapshot.Shapes[k].Labels) {
						w.counts[k] = true
					}
				}
				known[id], out = w, append(out, w)
			}
			w.asks[i] = true
		}
	}
	return out
}

// eachMove calls do for each pod that a command moves, with the name of the node or claim it is to go to, and the claim
// where that is a replacement of the command.
func eachMove(c *model.PlannedCommand, do func(ref model.PodRef, to string, claim *model.PlannedClaim)) {
	for _, m := range c.Moves {
		for _, ref := range m.Pods {
			do(ref, m.Node, nil)
		}
	}
	for i := range c.Replacements {
		for _, ref := range c.Replacements[i].Pods {
			do(ref, c.Replacements[i].Name, &c.Replacements[i])
		}
	}
}

// domainOf returns the domain a planned claim's node will be in; empty where that is not known.
func domainOf(claim *model.PlannedClaim, key string) string {
	switch key {
	case model.LabelHostname:
		return claim.Name
	case model.LabelZone:
		return claim.Offering.Zone
	}
	for _, r := range claim.Requirements {
		if r.Key == key && r.Operator == model.In && len(r.Values) == 1 {
			return r.Values[0]
		}
	}
	return claim.Labels[key]
}
