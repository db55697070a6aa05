package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// The kinds of entries of the timeline.
const (
	KindProvision = "provision"
	KindDisrupt   = "disrupt"
	KindRemoval   = "removal" // of an instance that no command disrupted
)

// Entry is one decision in the timeline.
type Entry struct {
	ID      string         `json:"id"`
	Kind    string         `json:"kind"`
	At      int64          `json:"at"`
	Title   string         `json:"title"` // "3 nodes for 41 pods"
	Trigger string         `json:"trigger,omitempty"`
	Pods    int            `json:"pods"`            // that waited, or would move
	Nodes   int            `json:"nodes"`           // launched, or disrupted
	Failed  int            `json:"failed"`          // launches without an instance
	Left    int            `json:"left"`            // pods nothing could hold
	Price   model.MicroUSD `json:"price"`           // per hour, what it added; below 0 what it saves
	Pools   []string       `json:"pools,omitempty"` // sorted
	By      string         `json:"by,omitempty"`    // of a removal, who wanted it
}

// EntryOf returns the entry of a provisioning decision.
func EntryOf(d *model.Decision) Entry {
	e := Entry{ID: d.ID, Kind: KindProvision, At: d.AtUnix, Trigger: d.Trigger, Pods: d.Pending, Nodes: len(d.Launched)}
	for i := range d.Rounds {
		round := &d.Rounds[i]
		e.Failed += len(round.Failed)
		for k := range round.Launched {
			e.Price += round.Launched[k].Price
			e.Pools = append(e.Pools, round.Launched[k].Pool)
		}
	}
	if n := len(d.Rounds); n > 0 {
		e.Left = len(d.Rounds[n-1].Plan.Unschedulable)
	}
	slices.Sort(e.Pools)
	e.Pools = slices.Compact(e.Pools)
	switch {
	case e.Nodes > 0:
		e.Title = fmt.Sprintf("%s for %s", explain.Many(e.Nodes, "node"), explain.Many(e.Pods, "pod"))
	case e.Failed == 0 && e.Left == 0:
		e.Title = fmt.Sprintf("capacity for %s on existing and in-flight nodes", explain.Many(e.Pods, "pod"))
	case e.Failed > 0:
		e.Title = fmt.Sprintf("no capacity for %s", explain.Many(e.Pods, "pod"))
	default:
		e.Title = fmt.Sprintf("nothing launched, %s pending", explain.Many(e.Pods, "pod"))
	}
	return e
}

// EntryOfDisruption returns the entry of a decision about disruption.
func EntryOfDisruption(d *model.Disrupted) Entry {
	e := Entry{ID: d.ID, Kind: KindDisrupt, At: d.AtUnix}
	reasons, comes := map[string]bool{}, 0
	for i := range d.Plan.Commands {
		command := &d.Plan.Commands[i]
		e.Nodes, e.Pods, e.Price, comes = e.Nodes+len(command.Nodes), e.Pods+command.PodsMoved, e.Price-command.Savings, comes+len(command.Replacements)
		reasons[command.Reason] = true
	}
	e.Title = fmt.Sprintf("%s removed", explain.Many(e.Nodes, "node"))
	if comes > 0 {
		e.Title = fmt.Sprintf("%s for %d", explain.Many(e.Nodes, "node"), comes)
	}
	var named []string
	for reason := range reasons {
		named = append(named, reason)
	}
	slices.Sort(named)
	e.Trigger = strings.Join(named, ", ")
	return e
}

// EntryOfRemoval returns the entry of an instance's end.
func EntryOfRemoval(r *model.Removal) Entry {
	e := Entry{
		ID: removalID(r), Kind: KindRemoval, At: r.GoneUnix, By: r.By, Pods: r.Pods, Nodes: 1, Price: -r.PricePerHour, Trigger: strings.TrimSuffix(r.Reason+": "+r.Message, ": "),
		Title: cmp.Or(r.Node, r.Claim.Name) + " terminated",
	}
	if r.Claim.Pool != "" {
		e.Pools = []string{r.Claim.Pool}
	}
	return e
}

func removalID(r *model.Removal) string { return "end-" + r.Claim.Name + "-" + r.Claim.InstanceID }

// Detail is a decision as it is opened. Of the two lists the one of its kind is filled; none is nil.
type Detail struct {
	Entry    Entry     `json:"entry"`
	Epoch    int64     `json:"epoch"` // of the snapshot it was decided by; 0 = listed
	Seq      int64     `json:"seq"`
	Build    string    `json:"build"`
	Catalog  string    `json:"machines"` // which catalog
	Stale    []string  `json:"stale"`    // what of the catalog was older than it should be
	Rounds   []Round   `json:"rounds"`
	Commands []Command `json:"commands"`
	Kept     int       `json:"kept"` // nodes that stayed
	Says     []string  `json:"says"` // of an instance's end, what is known of it, a sentence each
}

// Round is one plan and what came of it.
type Round struct {
	Nodes       []NewNode `json:"nodes"`
	Existing    []Move    `json:"existing"` // pods that fit what is there or on its way
	Unplaced    []Waiting `json:"unplaced"`
	Failed      []Failed  `json:"failed"`
	Unavailable []string  `json:"marks"` // offerings left alone from then on
}

// NewNode is a node that is asked for.
type NewNode struct {
	Name       string         `json:"name"`
	Pool       string         `json:"pool"`
	Type       string         `json:"type"` // of the offering planned, or what it became
	Zone       string         `json:"zone"`
	Capacity   string         `json:"capacity"`
	Price      model.MicroUSD `json:"price"` // per hour
	Launched   bool           `json:"launched"`
	Types      []string       `json:"types"` // acceptable, cheapest first
	Zones      []string       `json:"zones"`
	Capacities []string       `json:"capacities"`
	Requests   []string       `json:"requests"` // "cpu 3900m"
	Pods       []string       `json:"pods"`     // namespace/name
}

// Failed is a launch that gave nothing.
type Failed struct {
	Name    string `json:"name"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// DetailOf returns a provisioning decision as it is opened.
func DetailOf(d *model.Decision) Detail {
	out := Detail{Entry: EntryOf(d), Epoch: d.Epoch, Seq: d.Seq, Build: d.Build, Catalog: catalogOf(&d.Catalog), Stale: notNil(d.Catalog.Stale), Rounds: []Round{}, Commands: []Command{}, Says: []string{}}
	for i := range d.Rounds {
		out.Rounds = append(out.Rounds, RoundOf(&d.Rounds[i]))
	}
	return out
}

// RoundOf returns one plan and what came of it.
func RoundOf(r *model.Round) Round {
	out := Round{Nodes: newNodes(r.Plan.Claims), Existing: []Move{}, Unplaced: unplaced(r.Plan.Unschedulable), Failed: []Failed{}, Unavailable: []string{}}
	became := map[string]*model.Claim{}
	for i := range r.Launched {
		became[r.Launched[i].Name] = &r.Launched[i]
	}
	for i := range out.Nodes {
		node := &out.Nodes[i]
		if claim := became[node.Name]; claim != nil {
			node.Launched, node.Price = true, cmp.Or(claim.Price, node.Price)
			node.Type, node.Zone, node.Capacity = cmp.Or(claim.InstanceType, node.Type), cmp.Or(claim.Zone, node.Zone), cmp.Or(claim.CapacityType, node.Capacity)
		}
	}
	for _, n := range r.Plan.Nominations {
		out.Existing = append(out.Existing, Move{n.Node, model.Keys(n.Pods)})
	}
	for i := range r.Failed {
		out.Failed = append(out.Failed, Failed{r.Failed[i].Name, r.Failed[i].FailureCode, r.Failed[i].FailureMessage})
	}
	for i := range r.UnavailableOfferings {
		unavailable := &r.UnavailableOfferings[i]
		parts := []string{unavailable.InstanceType, unavailable.CapacityType, unavailable.Group, unavailable.SubnetID, unavailable.Reservation, unavailable.Zone, unavailable.Reason}
		out.Unavailable = append(out.Unavailable, strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " "))
	}
	return out
}

// DetailOfDisruption returns a decision about disruption as it is opened.
func DetailOfDisruption(d *model.Disrupted, rows []Row) Detail {
	byName := map[string]*Row{}
	for i := range rows {
		byName[rows[i].Name] = &rows[i]
	}
	out := Detail{Entry: EntryOfDisruption(d), Epoch: d.Epoch, Seq: d.Seq, Build: d.Build, Catalog: catalogOf(&d.Catalog), Stale: notNil(d.Catalog.Stale), Rounds: []Round{}, Commands: []Command{}, Says: []string{}, Kept: len(d.Plan.Kept)}
	for i := range d.Plan.Commands {
		out.Commands = append(out.Commands, commandOf(&d.Plan.Commands[i], byName))
	}
	return out
}

// DetailOfRemoval returns an instance's end as it is opened.
func DetailOfRemoval(r *model.Removal) Detail {
	c := &r.Claim
	who := map[string]string{model.ByJoiner: "Joiner terminated it", model.ByPeople: "A user terminated it", model.ByAWS: "AWS terminated it"}[r.By]
	says := []string{
		fmt.Sprintf("%s: %s.", cmp.Or(who, "It was terminated"), strings.TrimSuffix(strings.TrimSuffix(r.Reason+": "+r.Message, ": "), ".")),
		fmt.Sprintf("It was %s %s in %s, at $%.4f per hour.", c.InstanceType, c.CapacityType, c.Zone, r.PricePerHour.USD()),
		fmt.Sprintf("%s were evicted.", upper(explain.Many(r.Pods, "pod"))),
	}
	if c.Decision != "" {
		says = append(says, "It was launched by decision "+c.Decision+".")
	}
	return Detail{Entry: EntryOfRemoval(r), Stale: []string{}, Rounds: []Round{}, Commands: []Command{}, Says: says}
}

func catalogOf(use *model.CatalogUse) string {
	if use.Version == "" {
		return ""
	}
	return strings.TrimSpace(use.Source + " " + use.Version)
}

func newNodes(claims []model.PlannedClaim) []NewNode {
	out := make([]NewNode, 0, len(claims))
	for i := range claims {
		c := &claims[i]
		node := NewNode{
			Name: c.Name, Pool: c.Pool, Type: c.Offering.InstanceType, Zone: c.Offering.Zone, Capacity: c.Offering.CapacityType, Price: c.Price,
			Types: notNil(c.InstanceTypes), Zones: notNil(c.Zones), Capacities: notNil(c.CapacityTypes), Requests: []string{}, Pods: model.Keys(c.Pods),
		}
		for _, name := range resource.Names(c.Requests) {
			node.Requests = append(node.Requests, name+" "+amount(name, c.Requests[name]))
		}
		out = append(out, node)
	}
	return out
}

// amount writes what is asked of a resource: bytes for people, everything else as Kubernetes does.
func amount(name string, n int64) string {
	if name != model.Memory && name != model.EphemeralStorage {
		return resource.Format(name, n)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/(1<<30)), ".0") + "Gi"
}

// unplaced folds pods that nothing could hold for the same reasons, most first.
func unplaced(list []model.Unschedulable) []Waiting {
	at, out := map[string]int{}, []Waiting{}
	for i := range list {
		u := &list[i]
		key := fmt.Sprintf("%q", u.Reasons)
		k, seen := at[key]
		if !seen {
			k = len(out)
			at[key] = k
			group := Waiting{Key: key, Workload: u.Pod.Key(), How: WaitsUnplaced, Reasons: fold(u.Reasons), Names: []string{}}
			group.Why, group.Remedy, group.Code = group.Reasons[0].Message, group.Reasons[0].Remedy, group.Reasons[0].Code
			out = append(out, group)
		}
		out[k].Pods++
		if len(out[k].Names) < mostPodsNamed {
			out[k].Names = append(out[k].Names, u.Pod.Key())
		}
	}
	slices.SortStableFunc(out, func(a, b Waiting) int { return cmp.Compare(b.Pods, a.Pods) })
	return out
}

func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
