package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Codes of answers about nodes, beside those of core/disruption for why a node stays and the Ended… codes for why it ends.
const (
	Stays     = "Stays"     // nothing is known that speaks for disrupting it, or of what keeps it
	InCommand = "InCommand" // a command that is on its way disrupts it
	NotOurs   = "NotOurs"   // it is of no NodePool
)

// maxAlternatives is how many instance types a registration reports.
const maxAlternatives = 12

// Found is a node as it was asked for: by the name of its NodeClaim or its node, or by its instance id.
type Found struct {
	Claim   *model.Claim   // nil = none is known
	Node    *model.Node    // nil = it is not there
	Removal *model.Removal // nil = none is recorded
}

// life returns what is known of the instance, its end included.
func (f *Found) life() InstanceLifetime {
	if f.Removal == nil {
		return lifeOf(f.Claim)
	}
	return lifeOf(ended(f.Removal))
}

// NodeFacts are what is looked up once it is known which node is meant. Each may be absent.
type NodeFacts struct {
	Launch *model.Decision      // that launched it
	Market []model.InstanceType // what its class could buy then
	Plan   *model.DisruptPlan   // what the disruption function says of the cluster
	Moved  *model.Disrupted     // the decision to disrupt it
}

// NodeAnswer says why a node is there, why it stays, or who took it away.
type NodeAnswer struct {
	Name      string             `json:"asked"`
	AtUnix    int64              `json:"at"`
	Cause     Cause              `json:"cause"`
	NodeClaim string             `json:"nodeClaim,omitempty"`
	Node      string             `json:"node,omitempty"`
	Instance  *InstanceLifetime  `json:"machine,omitempty"`
	Launch    *Launch            `json:"birth,omitempty"`
	Stays     []model.KeptReason `json:"stays,omitempty"` // why it is not disrupted
	Removal   *model.Removal     `json:"removal,omitempty"`
	Move      *CommandSaving     `json:"move,omitempty"` // the command that disrupts or disrupted it
	Similar   []string           `json:"near,omitempty"`
}

// Launch is why an instance was launched, and what else it might have been.
type Launch struct {
	Decision      string         `json:"decision"`
	AtUnix        int64          `json:"at"`
	Trigger       string         `json:"trigger"`
	For           string         `json:"for"`            // part of a sentence
	Pods          []model.PodRef `json:"pods,omitempty"` // planned onto it
	Planned       model.MicroUSD `json:"plannedPrice"`   // of the cheapest acceptable offering, per hour
	Zones         []string       `json:"zones,omitempty"`
	CapacityTypes []string       `json:"capacityTypes,omitempty"`
	Acceptable    int            `json:"acceptableTypes"`        // how many types would have done
	Alternatives  []Alternative  `json:"alternatives,omitempty"` // of those, the cheapest
	Refused       []Refused      `json:"refused,omitempty"`      // what EC2 said on the way
	Rounds        int            `json:"rounds"`                 // plans it took
}

// Alternative is an instance type that would have done.
type Alternative struct {
	InstanceType string         `json:"instanceType"`
	Zone         string         `json:"zone,omitempty"`
	CapacityType string         `json:"capacityType,omitempty"`
	Price        model.MicroUSD `json:"pricePerHour,omitempty"` // of its cheapest acceptable offering; 0 = not known, or none was available
	Chosen       bool           `json:"chosen,omitempty"`
}

// Refused is an offering that gave nothing.
type Refused struct {
	Offering string `json:"offer"`
	Reason   string `json:"reason"` // EC2's code
}

// Line is the answer in a sentence, or two.
func (a *NodeAnswer) Line() string {
	return line("node "+cmp.Or(a.Node, a.NodeClaim, a.Name), &a.Cause)
}

// Find looks a node up by the name of its NodeClaim or its node, or by its instance id. What is there counts before what is gone, and
// the latest of those that are.
func Find(cluster *Cluster, asked string) Found {
	var out Found
	for i := range cluster.Ask.Snapshot.Nodes {
		if node := &cluster.Ask.Snapshot.Nodes[i]; node.Name == asked || instanceOf(node.ProviderID) == asked {
			out.Node, out.Claim = node, cluster.claimOn(node)
			break
		}
	}
	is := func(c *model.Claim) bool {
		return c.Name == asked || c.NodeName == asked || c.InstanceID != "" && c.InstanceID == asked
	}
	claims := cluster.claims()
	for i := range claims {
		if c := &claims[i]; out.Claim == nil && is(c) && c.Live() {
			out.Claim = c
		}
	}
	if out.Claim != nil && out.Node == nil {
		out.Node = cluster.nodeOf(out.Claim)
	}
	if out.Claim != nil || out.Node != nil || cluster.Installation == nil {
		return out
	}
	for i := range cluster.Installation.Removals {
		if r := &cluster.Installation.Removals[i]; is(&r.Claim) || r.Node == asked {
			out.Removal, out.Claim = r, &r.Claim
		}
	}
	for i := range claims { // gone, and not recorded
		if c := &claims[i]; out.Claim == nil && is(c) {
			out.Claim = c
		}
	}
	for i := range cluster.Installation.Decisions {
		for r := range cluster.Installation.Decisions[i].Rounds {
			for k := range cluster.Installation.Decisions[i].Rounds[r].Launched {
				if c := &cluster.Installation.Decisions[i].Rounds[r].Launched[k]; out.Claim == nil && is(c) {
					out.Claim = c
				}
			}
		}
	}
	return out
}

// instanceOf returns the instance id of a provider id, "" where it has none.
func instanceOf(providerID string) string {
	return providerID[strings.LastIndexByte(providerID, '/')+1:]
}

// Node says why a node is there, why it stays, or who took it away.
func Node(cluster *Cluster, asked string, found Found, facts NodeFacts) *NodeAnswer {
	a := &NodeAnswer{Name: asked, AtUnix: cluster.now()}
	if found.Claim == nil && found.Node == nil {
		a.Cause, a.Similar = noNode(cluster, asked)
		return a
	}
	if found.Claim != nil {
		life := found.life()
		a.NodeClaim, a.Node, a.Instance = found.Claim.Name, found.Claim.NodeName, &life
		a.Launch = launchOf(found.Claim, facts)
	}
	if found.Node != nil {
		a.Node = found.Node.Name
	}
	a.Removal = found.Removal
	a.Move = moveOf(cluster, found, facts.Moved)
	switch {
	case found.Claim == nil:
		a.Cause = unclaimed(cluster, found.Node)
	case !found.Claim.Live() || found.Removal != nil:
		a.Cause = gone(found, a.Move)
	case found.Claim.Ending():
		a.Cause = ending(cluster, found.Claim)
	case found.Claim.State == model.Initialized || found.Node != nil && found.Node.Initialized():
		a.Stays = keptOf(facts.Plan, a.Node)
		a.Cause = stays(a, found.Claim)
	default:
		a.Cause = *coming(cluster, found.Claim, "is its own")
		a.Cause.Message = "is on its way: it " + a.Cause.Message
	}
	if a.Launch != nil && found.Claim.Live() && found.Removal == nil && a.Cause.Remedy == "" {
		a.Cause.Message += fmt.Sprintf("; it was launched %s", a.Launch.For)
	}
	return a
}

// launchOf reports the decision that launched a claim; nil where that is not known.
func launchOf(claim *model.Claim, facts NodeFacts) *Launch {
	d := facts.Launch
	if d == nil {
		return nil
	}
	b := &Launch{Decision: d.ID, AtUnix: d.AtUnix, Trigger: d.Trigger, For: "for " + d.Trigger, Rounds: len(d.Rounds)}
	for r := range d.Rounds {
		round := &d.Rounds[r]
		b.refusals(round)
		for i := range round.Plan.Claims {
			if p := &round.Plan.Claims[i]; p.Name == claim.Name {
				b.Pods, b.Planned, b.Zones, b.CapacityTypes, b.Acceptable = p.Pods, p.Price, p.Zones, p.CapacityTypes, len(p.InstanceTypes)
				b.Alternatives = alternatives(p, claim, facts.Market)
			}
		}
		if slices.ContainsFunc(round.Launched, func(c model.Claim) bool { return c.Name == claim.Name }) {
			break
		}
	}
	b.For = launchText(claim, d, b)
	return b
}

// launchText says what a claim was launched for, as part of a sentence.
func launchText(claim *model.Claim, d *model.Decision, b *Launch) string {
	switch {
	case d.Trigger == "replace":
		return "as a replacement for nodes that a command disrupts"
	case claim.Pool == "":
		return "for a standalone NodeClaim"
	case len(b.Pods) == 1:
		return "for pod " + b.Pods[0].Key()
	case len(b.Pods) > 1:
		return fmt.Sprintf("for %d pods, such as %s", len(b.Pods), b.Pods[0].Key())
	}
	return "to fill NodePool " + claim.Pool + " up"
}

// refusals notes what EC2 refused in a round.
func (b *Launch) refusals(round *model.Round) {
	for _, unavailable := range round.UnavailableOfferings {
		var parts []string
		for _, part := range []string{unavailable.InstanceType, unavailable.CapacityType, unavailable.Zone, unavailable.Group, unavailable.SubnetID, unavailable.Reservation} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		refused := Refused{Offering: strings.Join(parts, " "), Reason: unavailable.Reason}
		if !slices.Contains(b.Refused, refused) {
			b.Refused = append(b.Refused, refused)
		}
	}
}

// alternatives returns the cheapest types that would have done, with the price of the cheapest offering that was acceptable.
func alternatives(p *model.PlannedClaim, claim *model.Claim, market []model.InstanceType) []Alternative {
	var out []Alternative
	for _, name := range p.InstanceTypes[:min(len(p.InstanceTypes), maxAlternatives)] {
		alternative := Alternative{InstanceType: name, Chosen: name == claim.InstanceType}
		if i := slices.IndexFunc(market, func(t model.InstanceType) bool { return t.Name == name }); i >= 0 {
			o, found := offering.Cheapest(market[i], func(o model.Offering) bool {
				return (len(p.Zones) == 0 || slices.Contains(p.Zones, o.Zone)) && (len(p.CapacityTypes) == 0 || slices.Contains(p.CapacityTypes, o.CapacityType))
			})
			if found {
				alternative.Zone, alternative.CapacityType, alternative.Price = o.Zone, o.CapacityType, o.Price
			}
		}
		out = append(out, alternative)
	}
	return out
}

// keptOf returns what the disruption function says of a node.
func keptOf(plan *model.DisruptPlan, node string) []model.KeptReason {
	if plan == nil {
		return nil
	}
	for i := range plan.Kept {
		if plan.Kept[i].Node == node {
			return plan.Kept[i].Reasons
		}
	}
	for i := range plan.Commands {
		if c := &plan.Commands[i]; slices.Contains(c.Nodes, node) {
			return []model.KeptReason{{Code: InCommand, Message: fmt.Sprintf("it is disrupted next (%s), which saves $%.4f per hour with all of the command", c.Reason, c.Savings.USD())}}
		}
	}
	return nil
}

// stays is of a node that runs and nobody ends.
func stays(a *NodeAnswer, claim *model.Claim) Cause {
	out := Cause{Code: Stays, Claim: claim.Name, Node: a.Node, Since: cmp.Or(claim.LaunchedUnix, claim.CreatedUnix), Message: "runs"}
	if out.Since != 0 {
		out.Message += " since " + stamp(out.Since)
	}
	if claim.Price > 0 {
		out.Message += fmt.Sprintf(" at $%.4f per hour", claim.Price.USD())
	}
	if claim.Command != "" {
		out.Code, out.Command = InCommand, claim.Command
		out.Message += fmt.Sprintf(" and is disrupted by command %s", claim.Command)
		return out
	}
	if len(a.Stays) > 0 {
		link := " and stays: "
		if out.Code = a.Stays[0].Code; out.Code == InCommand {
			link = "; "
		}
		out.Message += link + a.Stays[0].Message
	}
	return out
}

// ending is of a node whose end has begun.
func ending(cluster *Cluster, claim *model.Claim) Cause {
	out := Cause{Code: cmp.Or(claim.FailureCode, Stays), Claim: claim.Name, Node: claim.NodeName, Command: claim.Command, Message: "is terminating"}
	if claim.FailureCode != "" {
		out.Message += " (" + claim.FailureCode
		if claim.FailureMessage != "" {
			out.Message += ": " + claim.FailureMessage
		}
		out.Message += ")"
	}
	drain := claim.Drain
	if drain == nil {
		return out
	}
	out.Since = drain.SinceUnix
	if drain.SinceUnix != 0 {
		out.Message += fmt.Sprintf(" for %s", ago(drain.SinceUnix, cluster.now()))
	}
	if len(drain.Waits) > 0 {
		out.Message += " and waits: " + drain.Waits[0]
		out.Remedy = "remove what it waits for"
		if drain.DeadlineUnix != 0 {
			out.Remedy += fmt.Sprintf("; at %s it continues without", stamp(drain.DeadlineUnix))
		}
	}
	return out
}

// byText says who wanted an instance to end.
func byText(r *model.Removal) string {
	switch r.By {
	case model.ByPeople:
		return "a user deleted it"
	case model.ByAWS:
		return "AWS terminated it"
	case model.ByOutside:
		return "a user or AWS terminated it: EC2 does not say which"
	}
	return "Joiner disrupted it"
}

// gone is of a node that is not there any more.
func gone(found Found, move *CommandSaving) Cause {
	claim, r := found.Claim, found.Removal
	out := Cause{Code: claim.FailureCode, Claim: claim.Name, Node: claim.NodeName, Since: claim.GoneUnix, Message: "is gone"}
	if r == nil {
		if claim.InstanceID == "" {
			out.Message = "was never launched"
		}
		if claim.GoneUnix != 0 {
			out.Message += " since " + stamp(claim.GoneUnix)
		}
		if claim.FailureCode != "" {
			out.Message += ": " + claim.FailureCode
		}
		if claim.FailureMessage != "" {
			out.Message += ": " + claim.FailureMessage
		}
		return out
	}
	out.Code, out.Since, out.Command = r.Reason, r.GoneUnix, r.Command
	out.Message = fmt.Sprintf("is gone since %s: %s (%s)", stamp(r.GoneUnix), byText(r), r.Reason)
	if r.Message != "" {
		out.Message += ": " + strings.TrimSuffix(r.Message, ".")
	}
	if move != nil {
		out.Message += fmt.Sprintf("; command %s was to save $%.4f per hour and move %s", move.Command, move.Planned.USD(), Many(move.PodsMoved, "pod"))
	}
	if len(r.Replacements) > 0 {
		out.Message += "; its replacements are " + few(r.Replacements)
	}
	return out
}

// moveOf reports the command that a claim is, or was, disrupted by; nil where there is none or nothing is known of it.
func moveOf(cluster *Cluster, found Found, decided *model.Disrupted) *CommandSaving {
	if found.Claim == nil {
		return nil
	}
	life := found.life()
	if life.Command == "" {
		return nil
	}
	var disruptions []model.Disrupted
	var commands []model.Command
	if decided != nil {
		disruptions = []model.Disrupted{*decided}
	}
	if cluster.Installation != nil {
		commands = cluster.Installation.Ledger.Commands
	}
	list := moves(disruptions, commands, 0, cluster.now()+1)
	for i := range list {
		if list[i].Command == life.Command {
			list[i].settle([]InstanceLifetime{life}, commands)
			return &list[i]
		}
	}
	return nil
}

// unclaimed is of a node that no claim is of.
func unclaimed(cluster *Cluster, node *model.Node) Cause {
	if node.Pool() == "" {
		return Cause{Code: NotOurs, Node: node.Name, Since: node.CreatedUnix, Message: "belongs to no NodePool: Joiner did not launch it and does not terminate it"}
	}
	out := Cause{Code: "NoClaim", Node: node.Name, Since: node.CreatedUnix, Message: fmt.Sprintf("belongs to NodePool %s, and has no claim", node.Pool()),
		Remedy: "if its instance has the tags of the cluster, it is adopted within two minutes"}
	if cluster.Installation != nil {
		out.Remedy += "; else: joiner adopt " + cluster.Installation.Registration.Cluster
	}
	return out
}

// noNode says that there is no such node, and which may be meant.
func noNode(cluster *Cluster, asked string) (Cause, []string) {
	var names []string
	for i := range cluster.Ask.Snapshot.Nodes {
		node := &cluster.Ask.Snapshot.Nodes[i]
		names = append(names, node.Name, instanceOf(node.ProviderID))
	}
	claims := cluster.claims()
	for i := range claims {
		names = append(names, claims[i].Name)
	}
	cause := Cause{Code: NotThere, Message: "is neither a node, nor a NodeClaim, nor an instance that is known as of " + stamp(cluster.now())}
	if near := requirement.Nearest(asked, names); near != "" {
		cause.Remedy = "did you mean " + near + "?"
		return cause, []string{near}
	}
	cause.Remedy = "ask about another time (--at); records of instances' ends are kept for 30 days"
	return cause, nil
}
