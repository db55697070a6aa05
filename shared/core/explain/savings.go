package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// regretSeconds is within what time of a command's end it is regretted that what it gave up is bought again.
const regretSeconds = 3600

// What became of a command.
const (
	CommandDone       = "done"      // its nodes are gone
	CommandInProgress = "under way" //
	CommandUndone     = "undone"    // it was taken back
	CommandUnknown    = "unknown"   // no record says
)

// Saving is what disrupting nodes came to in a span of time, at the prices instances were launched at. What is paid whether or not it is
// used is not saved: reserved capacity counts nothing, and of Savings Plans and Reserved Instances nothing is known.
//
// A move saves what the nodes it disrupted would have cost since, less what the instances it bought in their place have cost, the time
// when both ran included, until the end of the span or until it was regretted. So what was spent and what was saved come together to
// what the same span would have cost without the moves.
type Saving struct {
	FromUnix int64           `json:"from"`
	ToUnix   int64           `json:"to"`
	Spent    model.MicroUSD  `json:"spent"` // by all instances in the span
	Saved    model.MicroUSD  `json:"saved"` // by all moves in the span
	PerHour  model.MicroUSD  `json:"savedPerHour"`
	Moves    []CommandSaving `json:"moves"` // by time; never nil
	Pods     int             `json:"podsMoved"`
	Regrets  int             `json:"regrets"`
}

// CommandSaving is one command: what it saved against what it disturbed.
type CommandSaving struct {
	Command      string         `json:"command"`
	Decision     string         `json:"decision,omitempty"`
	Reason       string         `json:"reason"`
	State        string         `json:"state"` // one of the Move… words
	AtUnix       int64          `json:"at"`    // when it was decided
	Nodes        []string       `json:"nodes"`
	Replacements []string       `json:"replacements,omitempty"` // claims
	PodsMoved    int            `json:"podsMoved"`
	Planned      model.MicroUSD `json:"plannedPerHour"` // what it was to save
	PerHour      model.MicroUSD `json:"savedPerHour"`   // what it saves, of instances as they were bought
	Saved        model.MicroUSD `json:"saved"`          // so far
	// Committed is the list price per hour of what it disrupted that is paid for anyway, as reserved capacity is. Not in the others.
	Committed  int    `json:"committedNodes,omitempty"`
	Regret     string `json:"regret,omitempty"` // why it is regretted; empty = it is not
	RegretUnix int64  `json:"regretAt,omitempty"`

	workloads []string
}

// Savings returns what commands saved in a span of time. Records are those of the span; claims and commands are the ledger's.
func Savings(decisions []model.Decision, disruptions []model.Disrupted, removals []model.Removal, ledger *model.Ledger, fromUnix, toUnix int64) *Saving {
	lives := InstanceLifetimes(decisions, removals, ledger.Claims)
	out := &Saving{FromUnix: fromUnix, ToUnix: toUnix, Moves: moves(disruptions, ledger.Commands, fromUnix, toUnix)}
	for i := range lives {
		out.Spent += lives[i].cost(fromUnix, toUnix)
	}
	replacements := map[string]bool{}
	for i := range out.Moves {
		for _, name := range out.Moves[i].Replacements {
			replacements[name] = true
		}
	}
	for i := range out.Moves {
		m := &out.Moves[i]
		m.settle(lives, ledger.Commands)
		m.regret(lives, decisions, replacements)
		m.count(lives, toUnix)
		out.Saved += m.Saved
		if m.State == CommandDone {
			out.Pods += m.PodsMoved
			if m.Regret == "" {
				out.PerHour += m.PerHour
			}
		}
		if m.Regret != "" {
			out.Regrets++
		}
	}
	return out
}

// moves lists the commands that records of the disruption function or the ledger name, by time, then by id.
func moves(disruptions []model.Disrupted, commands []model.Command, fromUnix, toUnix int64) []CommandSaving {
	out, known := []CommandSaving{}, map[string]bool{}
	for i := range disruptions {
		d := &disruptions[i]
		for k := range d.Plan.Commands {
			c, id := &d.Plan.Commands[k], fmt.Sprintf("%s-%d", d.ID, k)
			if !slices.Contains(d.Committed, id) {
				continue
			}
			m := CommandSaving{Command: id, Decision: d.ID, Reason: c.Reason, AtUnix: d.AtUnix, Nodes: c.Nodes, PodsMoved: c.PodsMoved, Planned: c.Savings, workloads: c.Workloads}
			for r := range c.Replacements {
				m.Replacements = append(m.Replacements, c.Replacements[r].Name)
			}
			out, known[id] = append(out, m), true
		}
	}
	for i := range commands {
		c := &commands[i]
		if known[c.ID] || c.SinceUnix < fromUnix || c.SinceUnix >= toUnix {
			continue
		}
		m := CommandSaving{Command: c.ID, Decision: c.Decision, Reason: c.Reason, AtUnix: c.SinceUnix, PodsMoved: c.PodsMoved, Planned: c.Savings, workloads: c.Workloads}
		for t := range c.Targets {
			m.Nodes = append(m.Nodes, c.Targets[t].Node)
		}
		for r := range c.Replacements {
			m.Replacements = append(m.Replacements, c.Replacements[r].Name)
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b CommandSaving) int {
		return cmp.Or(cmp.Compare(a.AtUnix, b.AtUnix), strings.Compare(a.Command, b.Command))
	})
	return out
}

// settle finds out what became of the command.
func (m *CommandSaving) settle(lives []InstanceLifetime, commands []model.Command) {
	m.State = CommandUnknown
	for i := range lives {
		if lives[i].Command == m.Command && lives[i].EndUnix != 0 {
			m.State = CommandDone
		}
	}
	for i := range commands {
		switch c := &commands[i]; {
		case c.ID != m.Command:
		case c.State == model.CommandUndone || c.State == model.CommandUndoing:
			m.State = CommandUndone
		case m.State != CommandDone:
			m.State = CommandInProgress
		}
	}
}

// ended returns when the last of its nodes was gone; 0 where none is.
func (m *CommandSaving) ended(lives []InstanceLifetime) int64 {
	end := int64(0)
	for i := range lives {
		if lives[i].Command == m.Command {
			end = max(end, lives[i].EndUnix)
		}
	}
	return end
}

// regret finds out whether what it gave up was bought again within the hour: for the same workloads, or because what took its place was
// disrupted in its turn.
func (m *CommandSaving) regret(lives []InstanceLifetime, decisions []model.Decision, replacements map[string]bool) {
	end := m.ended(lives)
	if m.State != CommandDone || end == 0 {
		return
	}
	note := func(at int64, format string, values ...any) {
		if m.RegretUnix == 0 || at < m.RegretUnix {
			m.Regret, m.RegretUnix = fmt.Sprintf(format, values...), at
		}
	}
	for i := range lives {
		life := &lives[i]
		if slices.Contains(m.Replacements, life.Claim) && life.Command != "" && life.Command != m.Command && life.EndUnix != 0 && life.EndUnix <= end+regretSeconds {
			note(life.EndUnix, "its replacement %s was disrupted after %s", life.Claim, ago(life.LaunchedUnix, life.EndUnix))
		}
	}
	for i := range decisions {
		for r := range decisions[i].Rounds {
			for k := range decisions[i].Rounds[r].Launched {
				claim := &decisions[i].Rounds[r].Launched[k]
				if claim.LaunchedUnix <= end || claim.LaunchedUnix > end+regretSeconds || replacements[claim.Name] {
					continue
				}
				if pod := m.moved(claim.Pods); pod != "" {
					note(claim.LaunchedUnix, "%s was launched again for %s after %s", cmp.Or(claim.InstanceType, "an instance"), pod, ago(end, claim.LaunchedUnix))
				}
			}
		}
	}
}

// moved returns the first of the pods that is of a workload whose pods the command moved, "" where none is. A pod's owner begins its name.
func (m *CommandSaving) moved(pods []model.PodRef) string {
	for _, pod := range pods {
		for _, workload := range m.workloads {
			parts := strings.SplitN(workload, "/", 3)
			if len(parts) == 3 && parts[0] == pod.Namespace && (strings.HasPrefix(pod.Name, parts[2]+"-") || pod.Name == parts[2]) {
				return pod.Key()
			}
		}
	}
	return ""
}

// count sums up what the command saved until toUnix, or until it was regretted.
func (m *CommandSaving) count(lives []InstanceLifetime, toUnix int64) {
	if m.RegretUnix != 0 {
		toUnix = min(toUnix, m.RegretUnix)
	}
	for i := range lives {
		life := &lives[i]
		switch {
		case life.Command == m.Command && life.EndUnix != 0 && life.CapacityType == model.Reserved:
			m.Committed++
		case life.Command == m.Command && life.EndUnix != 0:
			m.PerHour += life.Price
			m.Saved += over(life.Price, max(0, toUnix-life.EndUnix))
		case slices.Contains(m.Replacements, life.Claim):
			m.PerHour -= life.Price
			m.Saved -= life.cost(0, toUnix)
		}
	}
}
