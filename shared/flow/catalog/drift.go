package catalog

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// drifts evaluates claims.
type drifts struct {
	*session
	resolved []model.Class // looked up in this pass
}

// drift evaluates the claims of the classes that were looked up in this pass, by one look at their instances. Of the other classes
// those claims are looked at, too, that a changed NodePool names: an edit shows within seconds. What cannot be evaluated stays
// as it was.
func (r *drifts) drift(ctx context.Context) {
	claims, ids := r.drifters()
	if len(claims) == 0 {
		return
	}
	found, err := r.clients.InstanceTypes.DescribeInstances(ctx, ids)
	if err != nil {
		r.answered(ctx, err)
		r.Problem("describe %d instances to check their drift: %v", len(ids), err)
		claims = slices.DeleteFunc(claims, func(c model.Claim) bool { return lifecycle.DriftedByPool(r.view(c)).Reason == "" })
	}
	instances := map[string]*model.Instance{}
	for i := range found {
		instances[found[i].ID] = &found[i]
	}
	types, sold := r.typesOf(ctx, claims)
	fresh := 0
	for _, claim := range claims {
		view := r.view(claim)
		view.Type, view.Sold, view.Instance = types[typeOf{claim.Class, claim.InstanceType}], sold, instances[claim.InstanceID]
		if r.driftOf(ctx, view) {
			fresh++
		}
	}
	if fresh > 0 {
		if key := fmt.Sprintf("drift/%d", r.NowUnix()); r.flow.RequestDisruption != nil {
			r.Try(ctx, EffectHint, "send a hint about drift; the next scheduled run finds it", func() error {
				return r.flow.RequestDisruption(ctx, r.reg.Cluster, key)
			})
		}
	}
}

// drifters are the claims to evaluate, with an instance that is not ending.
func (r *drifts) drifters() (claims []model.Claim, ids []string) {
	checked := map[string]bool{}
	for i := range r.resolved {
		checked[r.resolved[i].Name] = true
	}
	for _, claim := range r.ledger.Claims {
		switch claim.State {
		case model.Launched, model.Registered, model.Initialized:
			if claim.InstanceID != "" && (checked[claim.Class] || r.moved(claim)) {
				claims, ids = append(claims, claim), append(ids, claim.InstanceID)
			}
		}
	}
	return claims, ids
}

// moved reports whether its NodePool says something else of a claim than is recorded.
func (r *drifts) moved(claim model.Claim) bool {
	view := r.view(claim)
	if view.Class == nil {
		return false
	}
	drift := lifecycle.DriftedByPool(view)
	return drift.Reason != "" && (drift.Reason != claim.Drift || drift.Message != claim.DriftMessage) || drift.Reason == "" && lifecycle.OfPool(claim.Drift)
}

// view is what is known of a claim without a look at the instance and at what is sold: its pool as it is now, and its class with
// what was found out last.
func (r *drifts) view(claim model.Claim) lifecycle.DriftView {
	view := lifecycle.DriftView{Claim: claim, CA: r.reg.CA, NowUnix: r.NowUnix()}
	for i := range r.config.Pools {
		if r.config.Pools[i].Name == claim.Pool {
			view.Pool = &r.config.Pools[i]
		}
	}
	for i := range r.resolved {
		if r.resolved[i].Name == claim.Class {
			view.Class = &r.resolved[i]
			return view
		}
	}
	for i := range r.config.Classes {
		if class := r.config.Classes[i].Class; class.Name == claim.Class {
			if record := r.records[class.Name]; record.UID == class.UID {
				class.Status = record.Status
			}
			view.Class = &class
		}
	}
	return view
}

type typeOf struct{ class, name string }

// typesOf returns the claims' instance types as their classes see them, and whether what is sold is known: without a catalog
// there are none, and images are not evaluated.
func (r *drifts) typesOf(ctx context.Context, claims []model.Claim) (map[typeOf]*model.InstanceType, bool) {
	out := map[typeOf]*model.InstanceType{}
	catalog, err := r.types(ctx)
	if err != nil {
		r.Problem("check no image for drift without a catalog: %v", err)
		return out, false
	}
	of := map[string][]model.Claim{}
	for _, claim := range claims {
		of[claim.Class] = append(of[claim.Class], claim)
	}
	for _, users := range of {
		class := r.view(users[0]).Class
		if class == nil {
			continue
		}
		var facts []model.InstanceTypeInfo
		for _, m := range catalog.Types {
			if slices.ContainsFunc(users, func(c model.Claim) bool { return c.InstanceType == m.Name }) {
				facts = append(facts, m)
			}
		}
		types := offering.Catalog(facts, *class, r.offeringSettings())
		for i := range types {
			out[typeOf{class.Name, types[i].Name}] = &types[i]
		}
	}
	return out, len(catalog.Types) > 0
}

// driftOf evaluates one claim, and brings its hashes and what a reservation left behind up to date on the way. It reports whether
// that it has drifted, for this reason, is news.
func (r *drifts) driftOf(ctx context.Context, view lifecycle.DriftView) (news bool) {
	was := view.Claim
	claim := was
	rehashed := false
	if claim.Annotations, rehashed = lifecycle.Rehashed(was, view.Pool, view.Class, r.reg.CA); rehashed {
		r.out.Rehashed++
	}
	fell := false
	if view.Instance != nil && claim.State != model.Launched { // EC2 may not show all of a young one
		claim, fell = lifecycle.FellBackToOnDemand(claim, *view.Instance)
	}
	view.Claim = claim
	drift, err := lifecycle.Drifted(view)
	switch {
	case err != nil:
	case drift.Reason == "":
		claim.Drift, claim.DriftMessage, claim.DriftUnix = "", "", 0
	default:
		if claim.Drift != drift.Reason {
			claim.DriftUnix = r.NowUnix()
		}
		claim.Drift, claim.DriftMessage = drift.Reason, drift.Message
	}
	if claim.Drift != "" {
		r.out.Drifted[claim.Drift]++
	}
	news = claim.Drift != "" && claim.Drift != was.Drift
	switch {
	case !reflect.DeepEqual(was, claim):
		r.write(ctx, claim, fell)
	case claim.Drift != "": // once more: an earlier pass may have been cut short
		r.show(ctx, claim)
	}
	return news
}

// write records a claim and shows it. Where somebody else wrote the claim in between it is evaluated again in the next pass.
func (r *drifts) write(ctx context.Context, claim model.Claim, fell bool) {
	err := r.Effect(ctx, EffectAdvance, func() (err error) {
		claim, err = r.flow.Records.Advance(ctx, r.reg.Cluster, claim)
		return err
	})
	if err != nil {
		if !fault.Is(err, fault.Conflict) {
			r.Problem("record the drift of claim %s: %v", claim.Name, err)
		}
		return
	}
	r.show(ctx, claim)
	if fell && claim.NodeName != "" {
		patch := model.NodePatch{
			Name: claim.NodeName, UID: claim.NodeUID, Labels: map[string]string{model.LabelCapacityType: claim.CapacityType}, RemoveLabels: lifecycle.ReservationLabels,
		}
		err = r.Effect(ctx, EffectNode, func() error { return r.clients.Claims.PatchNode(ctx, patch) })
		if err != nil && !fault.Is(err, fault.NotFound) {
			r.Problem("relabel node %s: %v", claim.NodeName, err)
		}
	}
}

// show brings the claim's object up to date; without one there is nothing to show it on yet.
func (r *drifts) show(ctx context.Context, claim model.Claim) {
	if claim.ObjectUID == "" {
		return
	}
	err := r.Effect(ctx, EffectPatchClaim, func() error {
		_, err := r.clients.Claims.PutClaim(ctx, claim)
		return err
	})
	if err != nil && !fault.Is(err, fault.NotFound) {
		r.Problem("show the drift of claim %s: %v", claim.Name, err)
	}
}
