package provision

import (
	"context"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// outdated asks the API server, before anything is launched, which of the plan's pods still ask for it. Those that the snapshot
// shows waiting, where that is not fresh: kube-scheduler may have bound them since. Those of nodes that are leaving, however fresh it
// is: who ends an application and deletes its NodeClaim in the next moment wants no other node for it. It costs one list of
// unbound pods, and one of each such node's, in runs that want to launch, and none in all others. Beside that it reads NodePools and
// EC2NodeClasses, see applying. It reports whether any pod of the plan asks for nothing any more, or those are not what the snapshot says, so
// that the plan is to be made again.
//
// Which pods there are is the snapshot's to say where that answer cannot be had.
func (r *pass) outdated(ctx context.Context, plan model.Plan) bool {
	if len(plan.Claims) == 0 {
		return false
	}
	nodes := r.toAsk(plan)
	present := make([]map[string]bool, len(nodes))
	r.parallel(len(nodes)+1, func(i int) {
		if i == len(nodes) {
			r.live.read(ctx, r)
			return
		}
		pods, err := r.clients.Cluster.Present(ctx, nodes[i])
		if err != nil {
			r.problem("list the pods on node %q; the snapshot is used instead: %v", nodes[i], err)
			return
		}
		present[i] = pods
	})
	now := make(map[string]map[string]bool, len(nodes))
	for i, node := range nodes {
		r.questioned[node] = true
		if present[i] != nil {
			now[node] = present[i]
		}
	}
	for _, i := range r.pending() {
		pod := &r.snapshot.Pods[i]
		if pods, known := now[pod.NodeName]; known && pod.Buffer == "" && !r.asks(pod, pods) {
			r.settled[pod.UID] = true
		}
	}
	return r.live.correct(ctx, r) || len(now) > 0 && slices.ContainsFunc(plan.Claims, func(claim model.PlannedClaim) bool {
		return slices.ContainsFunc(claim.Pods, func(pod model.PodRef) bool { return r.settled[pod.UID] })
	})
}

// asks reports whether a pod that was pending still is, by what is where it was. One of a StatefulSet comes back under its name.
func (r *pass) asks(pod *model.Pod, present map[string]bool) bool {
	ends, there := present[pod.UID]
	return there && (!ends || pod.NodeName != "" && r.snapshot.ShapeOf(pod).OwnerKind == "StatefulSet")
}

// mostChecked is of how many nodes it is asked at once what is on them. Where more are leaving there is no time for that.
const mostChecked = 10

// toAsk returns the nodes of which it is to be asked which of the plan's pods are on them, each once in a run; "" is none of them.
func (r *pass) toAsk(plan model.Plan) []string {
	if r.questioned == nil {
		r.questioned, r.settled = make(map[string]bool), make(map[string]bool)
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
	if age := r.now() - r.snapshot.AtUnix; !r.questioned[""] && (age < 0 || age > int64(r.settings.FreshFor.Seconds())) {
		nodes = append(nodes, "")
	}
	fresh, seen := len(nodes), make(map[string]bool)
	for _, i := range r.pending() {
		if pod := &r.snapshot.Pods[i]; pod.NodeName != "" && planned[pod.UID] && !seen[pod.NodeName] && !r.questioned[pod.NodeName] {
			seen[pod.NodeName] = true
			nodes = append(nodes, pod.NodeName)
		}
	}
	if len(nodes)-fresh > mostChecked {
		nodes = nodes[:fresh]
	}
	return nodes
}
