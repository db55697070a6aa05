package console

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// DryRun is what would be disrupted voluntarily now, and why the rest stays. Money is micro-dollars per hour.
type DryRun struct {
	AtUnix   int64          `json:"at"`
	Before   model.MicroUSD `json:"before"` // all nodes of NodePools
	After    model.MicroUSD `json:"after"`
	Pods     int            `json:"pods"` // that would be made anew elsewhere
	Again    int64          `json:"again,omitempty"`
	Commands []Command      `json:"commands"` // in the order they would be carried out; never nil
	Kept     []KeptGroup    `json:"kept"`     // by number of nodes; never nil
	Stopped  []string       `json:"stopped"`  // why nothing of it would be done now; never nil
}

// Command disrupts some nodes together.
type Command struct {
	Reason  string         `json:"reason"`
	Goes    []CommandNode  `json:"goes"`
	Comes   []NewNode      `json:"comes"`
	Moves   []Move         `json:"moves"`
	Pods    int            `json:"pods"`
	Savings model.MicroUSD `json:"savings"`
}

// CommandNode is a node that a command disrupts.
type CommandNode struct {
	ID       string         `json:"id"` // of its row
	Name     string         `json:"name"`
	Pool     string         `json:"pool"`
	Type     string         `json:"type"`
	Zone     string         `json:"zone"`
	Capacity string         `json:"capacity"`
	Price    model.MicroUSD `json:"price"`
	Pods     int            `json:"pods"`
}

// Move is pods that go to a node that is there or on its way.
type Move struct {
	To   string   `json:"to"`
	Pods []string `json:"pods"` // namespace/name
}

// KeptGroup is nodes that stay for the same kind of reason.
type KeptGroup struct {
	Code  string     `json:"code"`
	Nodes []KeptNode `json:"nodes"` // by name
}

// KeptNode is a node that stays, with all that speaks against disrupting it.
type KeptNode struct {
	ID      string             `json:"id"` // of its row
	Name    string             `json:"name"`
	Reasons []model.KeptReason `json:"reasons"`
}

// NewDryRun tells a plan of what to disrupt by the rows of the cluster.
func NewDryRun(c *Cluster, rows []Row, plan model.DisruptPlan) DryRun {
	byName := map[string]*Row{}
	for i := range rows {
		byName[rows[i].Name] = &rows[i]
	}
	out := DryRun{AtUnix: c.now(), Before: plan.PriceBefore, After: plan.PriceAfter, Again: plan.ReplanUnix, Commands: []Command{}, Kept: []KeptGroup{}, Stopped: Stopped(c)}
	for i := range plan.Commands {
		command := commandOf(&plan.Commands[i], byName)
		out.Pods += command.Pods
		out.Commands = append(out.Commands, command)
	}
	groups := map[string]*KeptGroup{}
	for _, kept := range plan.Kept {
		node := KeptNode{ID: kept.Node, Name: kept.Node, Reasons: kept.Reasons}
		if row := byName[kept.Node]; row != nil {
			node.ID = row.ID
		}
		code := kept.Reasons[0].Code
		if groups[code] == nil {
			groups[code] = &KeptGroup{Code: code}
		}
		groups[code].Nodes = append(groups[code].Nodes, node)
	}
	for _, code := range slices.Sorted(maps.Keys(groups)) {
		out.Kept = append(out.Kept, *groups[code])
	}
	slices.SortStableFunc(out.Kept, func(a, b KeptGroup) int { return cmp.Compare(len(b.Nodes), len(a.Nodes)) })
	return out
}

func commandOf(planned *model.PlannedCommand, byName map[string]*Row) Command {
	out := Command{Reason: planned.Reason, Pods: planned.PodsMoved, Savings: planned.Savings, Goes: []CommandNode{}, Comes: newNodes(planned.Replacements), Moves: []Move{}}
	for _, name := range planned.Nodes {
		node := CommandNode{ID: name, Name: name}
		if row := byName[name]; row != nil {
			node = CommandNode{row.ID, name, row.Pool, row.Type, row.Zone, row.Capacity, row.Price, row.Pods}
		}
		out.Goes = append(out.Goes, node)
	}
	for _, move := range planned.Moves {
		out.Moves = append(out.Moves, Move{move.Node, model.Keys(move.Pods)})
	}
	return out
}

// Stopped says why nothing would be disrupted although it could, a sentence for each stop; none for a cluster of files.
func Stopped(c *Cluster) []string {
	out := []string{}
	installation := c.State.Installation
	if installation == nil {
		return out
	}
	if installation.Registration.Paused {
		out = append(out, "The cluster is paused.")
	}
	switch installation.Switch {
	case "disruption", "everything":
		out = append(out, "The region's stop switch is set to "+installation.Switch+".")
	}
	for _, stop := range installation.Ledger.StopsInForce() {
		text := "Voluntary disruption is stopped in "
		switch stop.Scope {
		case model.StopPool:
			text += "NodePool " + stop.Pool
		case model.StopCluster:
			text += "this cluster"
		default:
			text += "the whole region"
		}
		if stop.Why != "" {
			text += ": " + stop.Why
		}
		out = append(out, strings.TrimSuffix(text, ".")+".")
	}
	return out
}
