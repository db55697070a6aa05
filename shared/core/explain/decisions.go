package explain

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// Who took a decision.
const (
	DecidedProvision = "provision"
	DecidedDisrupt   = "disrupt"
)

// Decided is one recorded decision in a list.
type Decided struct {
	ID     string `json:"id"` // what `joiner replay` takes
	AtUnix int64  `json:"at"`
	By     string `json:"by"`
	Build  string `json:"build,omitempty"`

	// Of a decision to provision.
	Trigger       string `json:"trigger,omitempty"`
	Pending       int    `json:"pending,omitempty"`       // pods that waited
	Launched      int    `json:"launched,omitempty"`      // claims that got an instance
	Failed        int    `json:"failed,omitempty"`        // claims that got none
	Unschedulable int    `json:"unschedulable,omitempty"` // pods nothing fits
	Open          bool   `json:"open,omitempty"`          // whoever decided died before saying what came of it

	// Of one about disruption.
	Reasons   []string       `json:"reasons,omitempty"`   // of its commands, sorted
	Nodes     int            `json:"nodes,omitempty"`     // disrupted
	PodsMoved int            `json:"podsMoved,omitempty"` // by that
	Savings   model.MicroUSD `json:"savings,omitempty"`   // an hour
}

// Decisions lists what was decided, the newest first.
func Decisions(decisions []model.Decision, disruptions []model.Disrupted) []Decided {
	out := []Decided{}
	for i := range decisions {
		out = append(out, provisioned(&decisions[i]))
	}
	for i := range disruptions {
		out = append(out, disrupted(&disruptions[i]))
	}
	slices.SortStableFunc(out, func(a, b Decided) int {
		return cmp.Or(cmp.Compare(b.AtUnix, a.AtUnix), cmp.Compare(b.ID, a.ID))
	})
	return out
}

func provisioned(d *model.Decision) Decided {
	out := Decided{ID: d.ID, AtUnix: d.AtUnix, By: DecidedProvision, Build: d.Build, Trigger: d.Trigger, Pending: d.Pending, Launched: len(d.Launched), Open: d.Open}
	for i := range d.Rounds {
		out.Failed += len(d.Rounds[i].Failed)
		out.Unschedulable = len(d.Rounds[i].Plan.Unschedulable) // of the last round: what did not fit before may have then
	}
	return out
}

func disrupted(d *model.Disrupted) Decided {
	out := Decided{ID: d.ID, AtUnix: d.AtUnix, By: DecidedDisrupt, Build: d.Build}
	for i := range d.Plan.Commands {
		c := &d.Plan.Commands[i]
		out.Reasons = append(out.Reasons, c.Reason)
		out.Nodes, out.PodsMoved, out.Savings = out.Nodes+len(c.Nodes), out.PodsMoved+c.PodsMoved, out.Savings+c.Savings
	}
	slices.Sort(out.Reasons)
	out.Reasons = slices.Compact(out.Reasons)
	return out
}
