package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/model"
)

// DisruptResult is a plan of what to disrupt, and what is needed to tell of it.
type DisruptResult struct {
	Plan        model.DisruptPlan
	Waiting     model.Plan // for the pods that wait, where any do
	Headroom    int        // of those, how many are places that CapacityBuffers keep free
	PlanSeconds float64    // from the decoded input to the plan
	Drift       []Drifted  // nodes that have drifted, by name
	With        bool       // drift is as it would be with changes that are not applied
	Changed     []string   // which those are: "NodePool default"
	Claims      []model.Claim
	Snapshot    *model.Snapshot
}

// Drifted is a node that an instance launched now would differ from.
type Drifted struct {
	Node    string `json:"node"`
	Pool    string `json:"nodePool"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// What JSON writes. Lists are never null.
type (
	disruptJSON struct {
		planJSON                     // for the pods that wait
		Commands    []commandJSON    `json:"commands"` // in the order they are carried out
		Kept        []model.KeptNode `json:"kept"`
		PriceBefore model.MicroUSD   `json:"priceBeforeMicroUSDPerHour"` // of all nodes of NodePools
		PriceAfter  model.MicroUSD   `json:"priceAfterMicroUSDPerHour"`
		Before      float64          `json:"pricePerHourBefore"` // dollars, as earlier versions wrote it
		After       float64          `json:"pricePerHourAfter"`  // the same
		Drift       []Drifted        `json:"drift"`
		// Constrained says that budgets of NodePools alone kept something back; Again when the plan may be another by itself.
		Constrained bool   `json:"constrained"`
		ReplanAt    string `json:"again,omitempty"`
	}
	commandJSON struct {
		Reason       string           `json:"reason"`
		Nodes        []string         `json:"nodes"`
		Replacements []claimJSON      `json:"replacements"`
		Moves        []nominationJSON `json:"moves"` // pods that go to nodes that exist or are on their way
		PodsMoved    int              `json:"podsMoved"`
		SavingsMicro model.MicroUSD   `json:"savingsMicroUSDPerHour"` // below 0 where a replacement costs more
		Savings      float64          `json:"savingsPerHour"`         // dollars, as earlier versions wrote it
		GivenUp      []model.Unspread `json:"givenUp,omitempty"`
		// TerminateFirst says that nothing is launched before the node ends, for there is no capacity for both.
		TerminateFirst bool `json:"terminateFirst,omitempty"`
	}
)

// DisruptJSON writes a plan of what to disrupt for programs: what JSON writes of the pods that wait, and the commands.
func DisruptJSON(out io.Writer, d *DisruptResult) error {
	written := disruptJSON{
		planJSON: planOf(&Result{Plan: d.Waiting, PlanSeconds: d.PlanSeconds, Headroom: d.Headroom}),
		Commands: make([]commandJSON, 0, len(d.Plan.Commands)),
		Kept:     d.Plan.Kept, Drift: d.Drift,
		PriceBefore: d.Plan.PriceBefore, PriceAfter: d.Plan.PriceAfter, Before: d.Plan.PriceBefore.USD(), After: d.Plan.PriceAfter.USD(),
		Constrained: d.Plan.Constrained,
	}
	if written.Kept == nil {
		written.Kept = []model.KeptNode{}
	}
	if written.Drift == nil {
		written.Drift = []Drifted{}
	}
	if d.Plan.ReplanUnix != 0 {
		written.ReplanAt = clock(d.Plan.ReplanUnix)
	}
	for i := range d.Plan.Commands {
		c := &d.Plan.Commands[i]
		command := commandJSON{
			Reason: c.Reason, Nodes: c.Nodes, Replacements: make([]claimJSON, 0, len(c.Replacements)), Moves: make([]nominationJSON, 0, len(c.Moves)),
			PodsMoved: c.PodsMoved, SavingsMicro: c.Savings, Savings: c.Savings.USD(), GivenUp: c.GivenUpSpreads,
			TerminateFirst: c.TerminateFirst,
		}
		for k := range c.Replacements {
			command.Replacements = append(command.Replacements, claimOf(&c.Replacements[k]))
		}
		for _, m := range c.Moves {
			command.Moves = append(command.Moves, nominationJSON{m.Node, model.Keys(m.Pods)})
		}
		written.Commands = append(written.Commands, command)
	}
	return Indented(out, written)
}

const (
	mostCommands = 30 // rows of commands
	mostNamed    = 6  // nodes named of one command or reason
	mostKept     = 20 // reasons of nodes that stay
)

// Disrupt writes a plan of what to disrupt for people.
func Disrupt(out io.Writer, d *DisruptResult) error {
	r := &reclaimed{
		planTable: planTable{table: *newTable(out),
			r: &Result{Plan: d.Waiting, Headroom: d.Headroom}},
		d: d, claims: map[string]*model.Claim{}, pools: map[string]string{},
	}
	for i := range d.Claims {
		r.claims[d.Claims[i].NodeName] = &d.Claims[i]
	}
	for i := range d.Snapshot.Nodes {
		node := &d.Snapshot.Nodes[i]
		if node.Pool() != "" {
			r.pools[node.Name] = node.Pool()
		}
	}
	r.summary()
	r.commands()
	r.drift()
	r.kept()
	r.ending()
	_, err := io.WriteString(out, r.text.String())
	return err
}

type reclaimed struct {
	planTable
	d      *DisruptResult
	claims map[string]*model.Claim // by node
	pools  map[string]string       // by node
}

func (r *reclaimed) summary() {
	plan := &r.d.Plan
	if len(r.d.Changed) > 0 {
		r.wrapped("", "  ", "As if applied: "+strings.Join(r.d.Changed, ", ")+".")
	} else if r.d.With {
		r.line("The objects of --with are in the cluster already.")
	}
	if len(r.pools) == 0 {
		r.sentence("No node belongs to a NodePool: nothing to disrupt. %s", inputText(r.d.Snapshot))
		return
	}
	before := plan.PriceBefore.USD()
	r.sentence("%s of NodePools %s %s per hour, %s per month.", explain.Many(len(r.pools), "node"), costs(len(r.pools)),
		dollars(before), dollarsRound(before*hoursPerMonth))
	if len(plan.Commands) == 0 {
		r.line("Nothing to disrupt.")
		return
	}
	var going, come, pods int
	for i := range plan.Commands {
		c := &plan.Commands[i]
		going, come, pods = going+len(c.Nodes), come+len(c.Replacements), pods+c.PodsMoved
	}
	saved := (plan.PriceBefore - plan.PriceAfter).USD()
	r.sentence("%s can be disrupted, %s; %s elsewhere.", explain.Many(going, "node"), comes(come), made(pods))
	switch {
	case saved < 0:
		r.sentence("That costs %s per hour more, %s per month.", dollars(-saved), dollarsRound(-saved*hoursPerMonth))
	case before > 0:
		r.sentence("That saves %s per hour, %s per month, %.0f%%.",
			dollars(saved), dollarsRound(saved*hoursPerMonth), 100*saved/before)
	}
}

func costs(n int) string {
	if n == 1 {
		return "costs"
	}
	return "cost"
}

func comes(n int) string {
	switch n {
	case 0:
		return "without replacements"
	case 1:
		return "with 1 replacement"
	}
	return fmt.Sprintf("with %d replacements", n)
}

func made(pods int) string {
	switch pods {
	case 0:
		return "no pod is created again"
	case 1:
		return "1 pod is created again"
	}
	return fmt.Sprintf("%d pods are created again", pods)
}

// commands writes a line for each command, in their order, and the nodes of each.
func (r *reclaimed) commands() {
	list := r.d.Plan.Commands
	if len(list) == 0 {
		return
	}
	shown := list[:min(len(list), mostCommands)]
	rows := [][]string{{"#", "REASON", "POOL", "REMOVED", "REPLACEMENTS", "PODS", "SAVES $/HOUR", "$/MONTH"}}
	for i := range shown {
		c := &shown[i]
		rows = append(rows, []string{
			fmt.Sprint(i + 1), c.Reason, short(r.poolsOf(c.Nodes), 20), short(r.goes(c.Nodes), 34), short(comingOf(c.Replacements), 34), fmt.Sprint(c.PodsMoved),
			price(c.Savings), fmt.Sprintf("%.2f", c.Savings.USD()*hoursPerMonth),
		})
	}
	r.line("")
	r.grid(rows, "r....rrr")
	if more := list[len(shown):]; len(more) > 0 {
		var nodes int
		var saved model.MicroUSD
		for i := range more {
			nodes, saved = nodes+len(more[i].Nodes), saved+more[i].Savings
		}
		r.line("and %s with %s more, which save %s per hour", explain.Many(len(more), "command"), explain.Many(nodes, "node"), dollars(saved.USD()))
	}
	r.line("")
	for i := range shown {
		r.wrapped(fmt.Sprintf("%2d  ", i+1), "     ", some(shown[i].Nodes))
		if shown[i].TerminateFirst {
			r.wrapped("    ", "      ", "terminated first: there is no capacity for a replacement beside it")
		}
		for _, g := range shown[i].GivenUpSpreads {
			r.wrapped("    pods lose preferences: ", "      ", g.Message)
		}
	}
}

// some names nodes, mostNamed at most.
func some(names []string) string {
	out := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

func (r *reclaimed) poolsOf(nodes []string) string {
	var pools []string
	for _, node := range nodes {
		pools = append(pools, r.pools[node])
	}
	slices.Sort(pools)
	return strings.Join(slices.Compact(pools), ",")
}

// goes says what kinds of instances go: "3 m5.xlarge spot, 1 c5.large spot".
func (r *reclaimed) goes(nodes []string) string {
	count := map[string]int{}
	for _, node := range nodes {
		what := "of an unknown instance type"
		if c := r.claims[node]; c != nil && c.InstanceType != "" {
			what = c.InstanceType + " " + c.CapacityType
		}
		count[what]++
	}
	return kindsOf(count)
}

func comingOf(claims []model.PlannedClaim) string {
	count := map[string]int{}
	for i := range claims {
		count[claims[i].Offering.InstanceType+" "+claims[i].Offering.CapacityType]++
	}
	return kindsOf(count)
}

// kindsOf writes what there is, most first; "-" for nothing.
func kindsOf(count map[string]int) string {
	var kinds []string
	for what := range count {
		kinds = append(kinds, what)
	}
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), strings.Compare(a, b)) })
	for i, what := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", count[what], what)
	}
	if len(kinds) == 0 {
		return "-"
	}
	return strings.Join(kinds, ", ")
}

// drift writes which nodes have drifted, those of one NodePool that have for one reason together.
func (r *reclaimed) drift() {
	head := "DRIFTED"
	if r.d.With {
		head = "WOULD HAVE DRIFTED"
		if len(r.d.Drift) == 0 {
			r.line("")
			r.line("No node would have drifted.")
		}
	}
	type key struct{ pool, reason, message string }
	nodes := map[key][]string{}
	var order []key
	for _, d := range r.d.Drift {
		k := key{d.Pool, d.Reason, d.Message}
		if nodes[k] == nil {
			order = append(order, k)
		}
		nodes[k] = append(nodes[k], d.Node)
	}
	if len(order) == 0 {
		return
	}
	slices.SortStableFunc(order, func(a, b key) int { return cmp.Compare(len(nodes[b]), len(nodes[a])) })
	r.line("")
	r.line("%s: %s", head, explain.Many(len(r.d.Drift), "node"))
	for i, k := range order {
		if i == mostKept {
			r.line("and for %s more", explain.Many(len(order)-i, "reason"))
			break
		}
		r.wrapped("  ", "    ", some(nodes[k]))
		r.wrapped("    ", "      ", k.reason+": "+k.message)
	}
}

// stays is nodes that stay for the same reasons.
type stays struct {
	nodes   []string
	reasons []model.KeptReason // of the first of them
	alike   bool               // all of them have these very messages
}

// kept writes the nodes that stay, most first, with what speaks against them.
func (r *reclaimed) kept() {
	byCodes := map[string]*stays{}
	var list []*stays
	for _, k := range r.d.Plan.Kept {
		reasons := distinctReasons(k.Reasons)
		var codes []string
		for _, reason := range reasons {
			codes = append(codes, reason.Code)
		}
		key := strings.Join(codes, " ")
		if s := byCodes[key]; s != nil {
			s.nodes, s.alike = append(s.nodes, k.Node), s.alike && slices.Equal(s.reasons, reasons)
			continue
		}
		byCodes[key] = &stays{[]string{k.Node}, reasons, true}
		list = append(list, byCodes[key])
	}
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b *stays) int { return cmp.Compare(len(b.nodes), len(a.nodes)) })
	r.line("")
	r.line("STAYS: %s", explain.Many(len(r.d.Plan.Kept), "node"))
	for i, s := range list {
		if i == mostKept {
			r.line("and for %s more", explain.Many(len(list)-i, "reason"))
			break
		}
		r.wrapped("  ", "    ", some(s.nodes))
		for _, reason := range s.reasons {
			first := ""
			if !s.alike {
				first = " (of the first)"
			}
			r.wrapped("    ", "      ", fmt.Sprintf("%s: %s%s", reason.Code, reason.Message, first))
		}
	}
}

// distinctReasons keeps the first reason of each code, which a node may have for each of its pods.
func distinctReasons(reasons []model.KeptReason) []model.KeptReason {
	var out []model.KeptReason
	for _, reason := range reasons {
		if !slices.ContainsFunc(out, func(k model.KeptReason) bool { return k.Code == reason.Code }) {
			out = append(out, reason)
		}
	}
	return out
}

// ending writes what else there is to know.
func (r *reclaimed) ending() {
	var notes []string
	if r.d.Plan.Constrained {
		notes = append(notes, "Only the budgets of NodePools (spec.disruption.budgets) keep more nodes.")
	}
	if at := r.d.Plan.ReplanUnix; at != 0 {
		notes = append(notes, "The plan is valid until "+clock(at)+".")
	}
	if pods := r.r.Pods() - r.r.Headroom; pods > 0 {
		notes = append(notes, explain.Many(pods, "pod")+" pending; see joiner plan provision.")
	}
	if len(notes) == 0 {
		return
	}
	r.line("")
	for _, note := range notes {
		r.wrapped("", "  ", note)
	}
}
