package provision

import (
	"context"

	"github.com/joiner-sh/joiner/shared/model"
)

// stillPending asks the API server, before anything is launched from a snapshot that is not fresh, which pods wait now,
// once in a run: kube-scheduler may have bound them since. It costs one list of unbound pods in runs that want to launch,
// and none in all others. It reports whether any pod of the plan waits no more, so that the plan is to be made again.
//
// An answer that cannot be had changes nothing: the snapshot is the truth we have.
func (r *run) stillPending(ctx context.Context, plan model.Plan) bool {
	age := r.now() - r.snapshot.AtUnix
	if r.bound != nil || age >= 0 && age <= int64(r.settings.FreshFor.Seconds()) || !launches(plan) {
		return false
	}
	r.bound = map[string]bool{}
	unbound, err := r.site.Cluster.Unbound(ctx)
	if err != nil {
		r.problem("ask which pods still wait, going by the snapshot instead: %v", err)
		return false
	}
	waiting := make(map[string]bool, len(unbound))
	for _, uid := range unbound {
		waiting[uid] = true
	}
	for _, i := range r.pending() {
		if pod := &r.snapshot.Pods[i]; pod.NodeName == "" && pod.Buffer == "" && !waiting[pod.UID] {
			r.bound[pod.UID] = true
		}
	}
	for _, claim := range plan.Claims {
		for _, pod := range claim.Pods {
			if r.bound[pod.UID] {
				return true
			}
		}
	}
	return false
}

// launches reports whether a plan makes a machine for any pod.
func launches(plan model.Plan) bool {
	for _, claim := range plan.Claims {
		if len(claim.Pods) > 0 {
			return true
		}
	}
	return false
}
