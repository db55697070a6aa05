package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// CompletionIssues is what completing a plan found out beside its claims.
type CompletionIssues struct {
	Unfit    map[string]string       // those of them that waiting alone does not help, with why, by name
	Waits    map[string]int          // replacements that cannot be launched now, by why
	Denied   map[string]model.Reason // NodeClaims made by hand that cannot be launched now, by name
	Culprits []Culprit               // what planning panicked over
}

// Culprit is something that planning panicked over.
type Culprit struct{ What, Panic string }

// Complete adds to a plan for pods what else is to be launched: instances that static pools lack, replacements that commands wait for,
// and what people ask for by hand, each of its own name. Pods have what is left of limits first.
func (p *Provision) Complete(plan model.Plan) (model.Plan, CompletionIssues) {
	beside := CompletionIssues{Unfit: map[string]string{}, Waits: map[string]int{}, Denied: map[string]model.Reason{}}
	for _, fill := range p.input.Fill {
		claims, panicked := p.fill(fill)
		if panicked != "" {
			beside.Culprits = append(beside.Culprits, Culprit{poolPrefix + fill.Pool, panicked})
		}
		plan.Claims = append(plan.Claims, claims...)
	}
	plan.Claims = append(plan.Claims, p.replace(plan.Claims, &beside)...)
	plan.Claims = append(plan.Claims, p.grant(&beside)...)
	return plan, beside
}

// fill is pack.StaticClaims; a pool it panics over is left out.
func (p *Provision) fill(fill model.Filling) (claims []model.PlannedClaim, panicked string) {
	defer func() {
		if thrown := recover(); thrown != nil {
			claims, panicked = nil, fmt.Sprint(thrown)
		}
	}()
	return pack.StaticClaims(p.Input, fill.Pool, fill.Count), ""
}

// replace returns those of the pending replacements that limits and pools leave room for beside claims.
func (p *Provision) replace(claims []model.PlannedClaim, beside *CompletionIssues) []model.PlannedClaim {
	var out []model.PlannedClaim
	takes := map[string]model.Resources{}
	take := func(planned *model.PlannedClaim) {
		sum := maps.Clone(takes[planned.Pool])
		if sum == nil {
			sum = model.Resources{}
		}
		for name, amount := range planned.Reserve {
			sum[name] += amount
		}
		takes[planned.Pool] = sum
	}
	for i := range claims {
		take(&claims[i])
	}
	for _, planned := range p.input.PendingReplacements {
		if why := p.unreplaceable(&planned, takes[planned.Pool]); why != "" {
			beside.Waits[why]++
			if !slices.Contains(p.input.ExcludedPools, planned.Pool) {
				beside.Unfit[planned.Name] = why
			}
			continue
		}
		take(&planned)
		out = append(out, planned)
	}
	return out
}

// unreplaceable says why a replacement cannot be launched now, beside what else takes of its pool's limits; empty = it can.
func (p *Provision) unreplaceable(planned *model.PlannedClaim, takes model.Resources) string {
	at := slices.IndexFunc(p.Input.Snapshot.Pools, func(pool model.Pool) bool { return pool.Name == planned.Pool })
	if at < 0 {
		return fmt.Sprintf("NodePool %s does not exist, or had insufficient capacity a moment ago", planned.Pool)
	}
	pool := &p.Input.Snapshot.Pools[at]
	switch {
	case pool.DeletedUnix != 0:
		return fmt.Sprintf("NodePool %s is being deleted", pool.Name)
	case len(pool.Invalid) > 0:
		return fmt.Sprintf("nodepool %s: %s", pool.Name, strings.Join(pool.Invalid, "; "))
	case p.Input.SuspendedPools[pool.Name] != "":
		return fmt.Sprintf("nodepool %s: %s", pool.Name, p.Input.SuspendedPools[pool.Name])
	case pool.Template.ClassName != planned.Class:
		return fmt.Sprintf("NodePool %s uses EC2NodeClass %s now, not %s", pool.Name, pool.Template.ClassName, planned.Class)
	case pack.Foreign(planned, &pool.Template) != "":
		return fmt.Sprintf("NodePool %s has other %s than when the replacement was planned", pool.Name, pack.Foreign(planned, &pool.Template))
	case p.Input.ClassProblems[planned.Class] != "":
		return fmt.Sprintf("EC2NodeClass %s: %s", planned.Class, p.Input.ClassProblems[planned.Class])
	case p.Input.Catalogs[planned.Class] == nil:
		return fmt.Sprintf("EC2NodeClass %s is unknown", planned.Class)
	}
	for _, name := range slices.Sorted(maps.Keys(planned.Reserve)) {
		limit, limited := pool.Limits[name]
		if amount := planned.Reserve[name]; limited && amount > 0 && p.Input.Usage[pool.Name][name]+takes[name]+amount > limit {
			return fmt.Sprintf("spec.limits[%s] of NodePool %s leaves too little for the replacements of its nodes; raise it", name, pool.Name)
		}
	}
	return ""
}

// grant plans claims for what people ask for by hand.
func (p *Provision) grant(beside *CompletionIssues) []model.PlannedClaim {
	var claims []model.PlannedClaim
	for i := range p.input.StandaloneClaims {
		w := &p.input.StandaloneClaims[i]
		planned, reason, panicked := p.plannedFor(w)
		if panicked != "" {
			beside.Culprits = append(beside.Culprits, Culprit{"NodeClaim/" + w.Name, panicked})
		}
		if reason != nil {
			beside.Denied[w.Name] = *reason
			continue
		}
		planned.Name = w.Name
		claims = append(claims, *planned)
	}
	return claims
}

// plannedFor is pack.StandaloneClaim; what it panics over is left out.
func (p *Provision) plannedFor(w *model.StandaloneClaim) (planned *model.PlannedClaim, reason *model.Reason, panicked string) {
	defer func() {
		if thrown := recover(); thrown != nil {
			panicked = fmt.Sprint(thrown)
			planned, reason = nil, &model.Reason{Code: "Panic", Message: "planning it failed, which is a bug in Joiner: " + panicked}
		}
	}()
	planned, reason = pack.StandaloneClaim(p.Input, w.Template, w.Requests)
	return planned, reason, ""
}
