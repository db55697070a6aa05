package disrupt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// Reasons of events.
const (
	reasonLaunching      = "DisruptionLaunching"
	reasonWaiting        = "DisruptionWaitingReadiness"
	reasonTerminating    = "DisruptionTerminating"
	reasonBlocked        = "DisruptionBlocked"
	reasonCandidate      = "ConsolidationCandidate"
	reasonRejected       = "ConsolidationRejected"
	reasonUnconsolidable = "Unconsolidatable"

	kindNode      = "Node"
	kindNodeClaim = "NodeClaim"
	kindPool      = "NodePool"
)

// reportSeconds is how often an event says what a command waits for.
const reportSeconds = 120

// blocking are the codes that say that somebody asks for a node to be left alone.
var blocking = map[string]bool{
	disruption.NodeDoNotDisrupt: true, disruption.PodDoNotDisrupt: true, disruption.PodWindow: true,
	disruption.DisruptionBudget: true, disruption.TooManyBudgets: true,
	disruption.Stopped: true, disruption.Breaker: true, disruption.PodsExpected: true, disruption.PoolMissing: true, disruption.ClassNotReady: true,
	disruption.NotInitialized: true, disruption.NoClaim: true, disruption.ZoneShifted: true,
}

// silent are the codes nobody has to learn of: they pass by themselves, or are meant to be so.
var silent = map[string]bool{
	disruption.InCommand: true, disruption.Ending: true, disruption.Static: true, disruption.Young: true, disruption.NotQuiet: true, disruption.PoolNotQuiet: true,
	disruption.TooManyCommands: true, disruption.SpreadBusy: true,
}

// ofPools are the codes that are a NodePool's and not a node's.
var ofPools = map[string]bool{disruption.NodeBudget: true, disruption.InvalidBudget: true}

// say adds events about a node and its NodeClaim.
func (r *session) say(node, nodeUID string, claim *model.Claim, reason, message string) {
	r.Mutex.Lock()
	defer r.Mutex.Unlock()
	event := model.Event{Reason: reason, Message: message}
	if nodeUID != "" {
		event.Kind, event.Name, event.UID = kindNode, node, nodeUID
		r.events = append(r.events, event)
	}
	if claim != nil && claim.ObjectUID != "" {
		event.Kind, event.Name, event.UID = kindNodeClaim, claim.Name, claim.ObjectUID
		r.events = append(r.events, event)
	}
}

// reportCandidates says on the nodes of commands that were just committed what is planned for them.
func (r *session) reportCandidates(fresh []*step) {
	for _, s := range fresh {
		if s.command.Reason != model.ReasonUnderutilized {
			continue
		}
		for i := range s.command.Targets {
			t := &s.command.Targets[i]
			r.say(t.Node, t.NodeUID, r.state.claims[t.Claim], reasonCandidate, fmt.Sprintf(
				"Command %s removes %d nodes, launches %d replacements, and saves $%.4f per hour",
				s.command.ID, len(s.command.Targets), len(s.command.Replacements), s.command.Savings.USD()))
		}
	}
}

// reportKept says on nodes and NodePools why they stay, where people were not told so lately. While very many drains have just begun
// that is left to a later check: the API server has pods to evict.
func (r *session) reportKept(plan *model.DisruptPlan, snapshot *model.Snapshot) {
	if plan == nil || r.state.Rush(r.NowUnix()) {
		return
	}
	k := eventWriter{
		session: r, reported: map[string]model.ReportedNode{}, still: map[string]model.ReportedNode{},
		nodes: map[string]*model.Node{}, claims: map[string]*model.Claim{}, pools: map[string]*model.Pool{},
	}
	for _, t := range r.memo.notes.Reported {
		if r.NowUnix()-t.AtUnix < seconds(r.settings.ReportAfter) {
			k.reported[t.Node] = t
		}
	}
	for i := range snapshot.Nodes {
		k.nodes[snapshot.Nodes[i].Name] = &snapshot.Nodes[i]
	}
	for i := range r.state.Claims {
		k.claims[r.state.Claims[i].ProviderID] = &r.state.Claims[i]
	}
	for i := range snapshot.Pools {
		k.pools[snapshot.Pools[i].Name] = &snapshot.Pools[i]
	}
	for i := range plan.Kept {
		k.node(&plan.Kept[i])
	}
	list := make([]model.ReportedNode, 0, len(k.still))
	for _, t := range k.still {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b model.ReportedNode) int { return strings.Compare(a.Node, b.Node) })
	if !slices.Equal(list, r.memo.notes.Reported) {
		r.memo.notes.Reported, r.memo.changed = list, true
	}
}

// eventWriter says why nodes stay.
type eventWriter struct {
	*session
	reported map[string]model.ReportedNode // what was in events lately
	still    map[string]model.ReportedNode // what of it, and of the events of now, is to be remembered
	written  int
	nodes    map[string]*model.Node
	claims   map[string]*model.Claim // by provider id
	pools    map[string]*model.Pool
}

// node says on one why it stays: that it is blocked, or else why it is not consolidated.
func (k *eventWriter) node(kept *model.KeptNode) {
	node := k.nodes[kept.Node]
	if node == nil {
		return
	}
	var blocked, other []model.KeptReason
	for _, reason := range kept.Reasons {
		switch {
		case ofPools[reason.Code]:
			k.pool(k.pools[node.Pool()], reason)
		case silent[reason.Code]:
		case blocking[reason.Code]:
			blocked = append(blocked, reason)
		default:
			other = append(other, reason)
		}
	}
	reason, why := reasonBlocked, blocked
	if len(blocked) == 0 {
		reason, why = reasonUnconsolidable, other
	}
	if len(why) == 0 || !k.due(kept.Node, why[0].Code) {
		return
	}
	var claim *model.Claim
	if node.ProviderID != "" {
		claim = k.claims[node.ProviderID]
	}
	k.say(node.Name, node.UID, claim, reason, sentences(why))
}

// pool says on a NodePool that nodes of it stay for its own sake.
func (k *eventWriter) pool(pool *model.Pool, why model.KeptReason) {
	if pool == nil || !k.due(kindPool+"/"+pool.Name, why.Code) {
		return
	}
	k.Mutex.Lock()
	defer k.Mutex.Unlock()
	k.events = append(k.events, model.Event{Kind: kindPool, Name: pool.Name, UID: pool.UID, Reason: reasonBlocked, Message: why.Message})
}

// due reports whether an event is due now, and remembers that it is written.
func (k *eventWriter) due(name, code string) bool {
	if before, known := k.reported[name]; known && before.Code == code {
		k.still[name] = before
		return false
	}
	if _, known := k.still[name]; known || k.written >= k.settings.MaxEvents || len(k.still) >= k.settings.MaxReported {
		return false
	}
	k.written++
	k.still[name] = model.ReportedNode{Node: name, Code: code, AtUnix: k.NowUnix()}
	return true
}

// quiet says on NodeClaims when a pod last came to their nodes or left them, and whether the nodes have been left in
// peace for as long as their pools ask for, where they show something else. Those beyond what one run may say are the
// next one's: that objects have changed has it look again.
func (r *session) quiet(plan *model.DisruptPlan, snapshot *model.Snapshot) (said model.Report) {
	if plan == nil || r.state.Rush(r.NowUnix()) {
		return said
	}
	quiet := map[string]bool{}
	for _, claim := range plan.Quiet {
		quiet[claim] = true
	}
	events := podEvents(snapshot)
	for i := range snapshot.Claims {
		object := &snapshot.Claims[i]
		claim := r.state.claims[object.Name]
		if claim == nil || claim.ObjectUID != object.UID || object.DeletedUnix != 0 {
			continue
		}
		at := events[claim.ProviderID]
		news, moved := quiet[claim.Name] != object.Quiet, claim.ProviderID != "" && at > object.PodEventUnix
		if !news && !moved {
			continue
		}
		if max(len(said.Claims), len(said.PodEvents)) == r.settings.MaxEvents {
			break
		}
		if news {
			c := model.Condition{Object: object.Name, UID: object.UID, Type: model.ConditionConsolidatable}
			if quiet[claim.Name] {
				c.Status, c.Reason = "True", model.ConditionConsolidatable
			}
			said.Claims = append(said.Claims, c)
		}
		if moved {
			said.PodEvents = append(said.PodEvents, model.PodEvent{Claim: object.Name, UID: object.UID, AtUnix: at})
		}
	}
	return said
}

// podEvents returns when a pod last came to each node or left it, as the watcher saw it, by provider ID.
func podEvents(snapshot *model.Snapshot) map[string]int64 {
	events := make(map[string]int64, len(snapshot.Nodes))
	for i := range snapshot.Nodes {
		events[snapshot.Nodes[i].ProviderID] = snapshot.Nodes[i].PodEventUnix
	}
	return events
}

// publishEvents publishes what this run has to say.
func (r *session) publishEvents(ctx context.Context, said model.Report) {
	said.Events = r.events
	conditions := len(said.Claims) + len(said.PodEvents)
	if len(r.events)+conditions > 0 {
		r.Try(ctx, EffectReport, fmt.Sprintf("publish %d events and %d conditions", len(r.events), conditions),
			func() error {
				return r.clients.Reporter.Report(ctx, said)
			})
	}
}

// sentences joins the messages of some reasons.
func sentences(why []model.KeptReason) string {
	const most = 5
	var texts []string
	for _, reason := range why {
		texts = append(texts, reason.Message)
	}
	return work.Several(texts, most, "; ")
}
