package provision

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// A snapshot says which pods wait and what is there. What may be bought for them, how much of it, under which role and
// with which user data is what NodePools and EC2NodeClasses say, and that is believed of the API server alone: whoever
// holds the watcher's identity publishes snapshots, and is not to launch instances of a kind that nobody applied. So a
// run that is about to launch reads both live, once. Where the snapshot says something else it plans again by what was
// read, and goes by that until its end. Without an answer nothing is launched.

// live is what the API server has now, of pods and of what people have applied.
type live struct {
	*state
	cluster        Cluster
	configurations port.Configurations
	classes        *classes

	settled    map[string]bool // UIDs of pods that ask for nothing any more, though the snapshot says so
	questioned map[string]bool // by node: it was asked which pods are on it; "" = which wait

	wasRead  bool           // NodePools and EC2NodeClasses were asked for
	compared bool           // the answer was compared with the snapshot
	applied  *model.Applied // the answer; once compared nil where the snapshot says the same
	unread   error          // why there is none
}

// outdated asks the API server, before anything is launched, which of the plan's pods still ask for it. Those that the
// snapshot shows waiting, where that is not fresh: kube-scheduler may have bound them since. Those of nodes that are
// leaving, however fresh it is: who ends an application and deletes its NodeClaim in the next moment wants no other
// node for it. It costs one list of unbound pods, and one of each such node's, in runs that want to launch, and none in
// all others. Beside that it reads NodePools and EC2NodeClasses, see applying. It reports whether any pod of the plan
// asks for nothing any more, or those are not what the snapshot says, so that the plan is to be made again.
//
// Which pods there are is the snapshot's to say where that answer cannot be had.
func (l *live) outdated(ctx context.Context, plan model.Plan) bool {
	if len(plan.Claims) == 0 {
		return false
	}
	nodes := l.toAsk(plan)
	present := make([]map[string]bool, len(nodes))
	l.parallel(len(nodes)+1, func(i int) {
		if i == len(nodes) {
			l.read(ctx)
			return
		}
		pods, err := l.cluster.Present(ctx, nodes[i])
		if err != nil {
			l.problem("list the pods on node %q; the snapshot is used instead: %v", nodes[i], err)
			return
		}
		present[i] = pods
	})
	now := make(map[string]map[string]bool, len(nodes))
	for i, node := range nodes {
		l.questioned[node] = true
		if present[i] != nil {
			now[node] = present[i]
		}
	}
	for _, i := range l.pending() {
		pod := &l.snapshot.Pods[i]
		if pods, known := now[pod.NodeName]; known && pod.Buffer == "" && !l.asks(pod, pods) {
			l.settled[pod.UID] = true
		}
	}
	return l.correct(ctx) || len(now) > 0 && slices.ContainsFunc(plan.Claims, func(claim model.PlannedClaim) bool {
		return slices.ContainsFunc(claim.Pods, func(pod model.PodRef) bool { return l.settled[pod.UID] })
	})
}

// asks reports whether a pod that was pending still is, by what is where it was. One of a StatefulSet comes back under
// its name.
func (l *live) asks(pod *model.Pod, present map[string]bool) bool {
	ends, there := present[pod.UID]
	return there && (!ends || pod.NodeName != "" && l.snapshot.ShapeOf(pod).OwnerKind == "StatefulSet")
}

// mostChecked is of how many nodes it is asked at once what is on them. Where more are leaving there is no time for
// that.
const mostChecked = 10

// toAsk returns the nodes of which it is to be asked which of the plan's pods are on them, each once in a run; "" is
// none of them.
func (l *live) toAsk(plan model.Plan) []string {
	if l.questioned == nil {
		l.questioned, l.settled = make(map[string]bool), make(map[string]bool)
	}
	planned := make(map[string]bool)
	for _, claim := range plan.Claims {
		for _, pod := range claim.Pods {
			planned[pod.UID] = true
		}
	}
	if len(planned) == 0 {
		return nil
	}
	var nodes []string
	if age := l.now() - l.snapshot.AtUnix; !l.questioned[""] &&
		(age < 0 || age > int64(l.settings.FreshFor.Seconds())) {
		nodes = append(nodes, "")
	}
	fresh, seen := len(nodes), make(map[string]bool)
	for _, i := range l.pending() {
		if pod := &l.snapshot.Pods[i]; pod.NodeName != "" && planned[pod.UID] && !seen[pod.NodeName] &&
			!l.questioned[pod.NodeName] {
			seen[pod.NodeName] = true
			nodes = append(nodes, pod.NodeName)
		}
	}
	if len(nodes)-fresh > mostChecked {
		nodes = nodes[:fresh]
	}
	return nodes
}

// read reads NodePools and EC2NodeClasses from the API server, once in a run. What was listed is live as it is.
func (l *live) read(ctx context.Context) {
	if l.wasRead || l.source == sourceList {
		return
	}
	l.wasRead = true
	config, err := l.configurations.Configuration(ctx)
	if err == nil && len(config.Undefined) > 0 {
		err = fault.New(fault.NotFound, model.CodeUndefined,
			"the CustomResourceDefinition of %s is missing in the cluster, though snapshot %d/%d has some",
			strings.Join(config.Undefined, ", "), l.shown.Epoch, l.shown.Seq)
	}
	if err != nil {
		l.unread = fmt.Errorf(
			"NodePools and EC2NodeClasses cannot be read from the API server of cluster %s, so nothing is launched: %w",
			l.reg.Cluster, err)
		return
	}
	l.applied = appliedOf(config)
}

// appliedOf returns the NodePools and EC2NodeClasses that are ours to look at, by name.
func appliedOf(config model.Configuration) *model.Applied {
	applied := &model.Applied{}
	for i := range config.Pools {
		if config.Pools[i].Template.UsesEC2NodeClass() {
			applied.Pools = append(applied.Pools, config.Pools[i])
		}
	}
	for i := range config.Classes {
		applied.Classes = append(applied.Classes, config.Classes[i].Class)
	}
	slices.SortFunc(applied.Pools, func(a, b model.Pool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(applied.Classes, func(a, b model.Class) int { return cmp.Compare(a.Name, b.Name) })
	return applied
}

// correct puts what was read in the place of what the snapshot says, and reports whether that is something else. It is
// done once.
func (l *live) correct(ctx context.Context) bool {
	if l.applied == nil || l.compared {
		return false
	}
	l.compared = true
	differs := l.differing()
	if len(differs) == 0 {
		l.applied = nil
		return false
	}
	l.out.Corrected = differs
	l.shown, l.snapshot = l.applied.In(l.shown), l.applied.In(l.snapshot)
	l.classes.resolveClasses(ctx)
	return true
}

// differing names the NodePools and EC2NodeClasses of which the snapshot does not say what the API server does, with
// what is the matter, and forgets what was found out about such classes.
func (l *live) differing() []string {
	var out []string
	note := func(kind, name, what string) {
		if out = append(out, fmt.Sprintf("%s %s %s", kind, name, what)); kind == kindClass {
			delete(l.classes.resolved, name)
		}
	}
	pools, classes := l.applied.Pools, l.applied.Classes
	for i := range pools {
		said := find(l.shown.Pools, func(p *model.Pool) bool { return p.Name == pools[i].Name })
		if what := difference(said, &pools[i]); what != "" {
			note(kindPool, pools[i].Name, what)
		}
	}
	for i := range classes {
		said := find(l.shown.Classes, func(c *model.Class) bool { return c.Name == classes[i].Name })
		what, known := difference(plain(said), plain(&classes[i])), l.ledger.Classes
		if what == "" && !same(offering.Latest(*said, known), offering.Latest(classes[i], known)) {
			what = "has another status"
		}
		if what != "" {
			note(kindClass, classes[i].Name, what)
		}
	}
	for i := range l.shown.Pools {
		name := l.shown.Pools[i].Name
		if !slices.ContainsFunc(pools, func(p model.Pool) bool { return p.Name == name }) {
			note(kindPool, name, "does not exist")
		}
	}
	for i := range l.shown.Classes {
		name := l.shown.Classes[i].Name
		if !slices.ContainsFunc(classes, func(c model.Class) bool { return c.Name == name }) {
			note(kindClass, name, "does not exist")
		}
	}
	return out
}

// withhold returns why nothing of a plan may be launched; nil where it may, or there is nothing.
func (l *live) withhold(plan model.Plan, putOff map[string]string) error {
	if l.unread == nil || len(plan.Claims) == 0 {
		return nil
	}
	l.out.Withheld = len(plan.Claims)
	for i := range plan.Claims {
		putOff[plan.Claims[i].Pool] = "the API server does not return NodePools and EC2NodeClasses"
	}
	return l.unread
}

// plain is a class without its status, of which the newest that is known counts.
func plain(class *model.Class) *model.Class {
	if class == nil {
		return nil
	}
	out := *class
	out.Status = model.ClassStatus{}
	return &out
}

// difference says how an object of the API server is other than the snapshot's, which may be nil; empty = it is not.
func difference[T any](said, is *T) string {
	if said == nil {
		return "is not in the snapshot"
	}
	one, other := fields(said), fields(is)
	var names []string
	for name, value := range other {
		if one[name] != value {
			names = append(names, name)
		}
	}
	for name := range one {
		if _, known := other[name]; !known {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "has other " + strings.Join(names, ", ")
}

// fields are the fields of an object as a snapshot holds them, which tells nothing from empty no more than that does.
func fields(object any) map[string]string {
	text, err := json.Marshal(object)
	raw := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(text, &raw)
	}
	if err != nil {
		panic(fmt.Sprintf("%T cannot be encoded: %v", object, err)) // plain data always can
	}
	out := make(map[string]string, len(raw))
	for name, value := range raw {
		out[name] = string(value)
	}
	return out
}

func same[T any](a, b T) bool { return difference(&a, &b) == "" }
