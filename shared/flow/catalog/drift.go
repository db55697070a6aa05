package catalog

import (
	"context"
	"reflect"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// drift judges the claims of the classes that were looked up in this pass, by one look at their instances. What cannot be
// judged stays as it was.
func (r *run) drift(ctx context.Context) {
	claims, ids := r.drifters()
	if len(claims) == 0 {
		return
	}
	found, err := r.site.Machines.Describe(ctx, ids)
	if err != nil {
		r.answered(ctx, err)
		r.problem("describe %d instances to judge their drift: %v", len(ids), err)
		return
	}
	instances := map[string]*model.Instance{}
	for i := range found {
		instances[found[i].ID] = &found[i]
	}
	types := r.typesOf(ctx, claims)
	pools := map[string]*model.Pool{}
	for i := range r.config.Pools {
		pools[r.config.Pools[i].Name] = &r.config.Pools[i]
	}
	for i := range r.judged {
		class := &r.judged[i]
		for _, claim := range claims {
			if claim.Class == class.Name {
				r.driftOf(ctx, lifecycle.DriftView{
					Claim: claim, Pool: pools[claim.Pool], Class: class, CA: r.reg.CA, Type: types[typeOf{class.Name, claim.InstanceType}], Instance: instances[claim.InstanceID],
				})
			}
		}
	}
}

// drifters are the claims to judge, with a machine that is not ending.
func (r *run) drifters() (claims []model.Claim, ids []string) {
	for _, claim := range r.ledger.Claims {
		judged := slices.ContainsFunc(r.judged, func(c model.Class) bool { return c.Name == claim.Class })
		switch claim.State {
		case model.Launched, model.Registered, model.Initialized:
			if judged && claim.InstanceID != "" {
				claims, ids = append(claims, claim), append(ids, claim.InstanceID)
			}
		}
	}
	return claims, ids
}

type typeOf struct{ class, name string }

// typesOf returns the claims' instance types as their classes see them; without a catalogue there are none, and images are
// not judged.
func (r *run) typesOf(ctx context.Context, claims []model.Claim) map[typeOf]*model.InstanceType {
	out := map[typeOf]*model.InstanceType{}
	machines, err := r.types(ctx)
	if err != nil {
		r.problem("judge no image for want of a catalogue: %v", err)
		return out
	}
	for _, class := range r.judged {
		var facts []model.MachineType
		for _, m := range machines.Types {
			if slices.ContainsFunc(claims, func(c model.Claim) bool { return c.Class == class.Name && c.InstanceType == m.Name }) {
				facts = append(facts, m)
			}
		}
		types := offer.Catalog(facts, class, r.offers())
		for i := range types {
			out[typeOf{class.Name, types[i].Name}] = &types[i]
		}
	}
	return out
}

// driftOf judges one claim, and brings its hashes and what a reservation left behind up to date on the way.
func (r *run) driftOf(ctx context.Context, view lifecycle.DriftView) {
	was := view.Claim
	claim := was
	claim.Annotations, _ = lifecycle.Rehashed(was, view.Pool, view.Class, r.reg.CA)
	fell := false
	if view.Instance != nil && claim.State != model.Launched { // EC2 may not show all of a young one
		claim, fell = lifecycle.FellBack(claim, *view.Instance)
	}
	view.Claim = claim
	drift, err := lifecycle.Drifted(view)
	switch {
	case err != nil:
	case drift.Reason == "":
		claim.Drift, claim.DriftMessage, claim.DriftUnix = "", "", 0
	default:
		if claim.Drift != drift.Reason {
			claim.DriftUnix = r.now()
		}
		claim.Drift, claim.DriftMessage = drift.Reason, drift.Message
	}
	if claim.Drift != "" {
		r.out.Drifted[claim.Drift]++
	}
	switch {
	case !reflect.DeepEqual(was, claim):
		r.write(ctx, claim, fell)
	case claim.Drift != "": // once more: an earlier pass may have been cut short
		r.show(ctx, claim)
	}
}

// write records a claim and shows it. Where somebody else wrote the claim in between it is judged again in the next pass.
func (r *run) write(ctx context.Context, claim model.Claim, fell bool) {
	err := r.effect(ctx, EffectAdvance, func() (err error) {
		claim, err = r.Records.Advance(ctx, r.reg.Cluster, claim)
		return err
	})
	if err != nil {
		if !fault.Is(err, fault.Conflict) {
			r.problem("record the drift of claim %s: %v", claim.Name, err)
		}
		return
	}
	r.show(ctx, claim)
	if fell && claim.NodeName != "" {
		patch := model.NodePatch{
			Name: claim.NodeName, UID: claim.NodeUID, Labels: map[string]string{model.LabelCapacityType: claim.CapacityType}, RemoveLabels: lifecycle.ReservationLabels,
		}
		err = r.effect(ctx, EffectNode, func() error { return r.site.Claims.PatchNode(ctx, patch) })
		if err != nil && !fault.Is(err, fault.NotFound) {
			r.problem("relabel node %s: %v", claim.NodeName, err)
		}
	}
}

// show brings the claim's object up to date; without one there is nothing to show it on yet.
func (r *run) show(ctx context.Context, claim model.Claim) {
	if claim.ObjectUID == "" {
		return
	}
	err := r.effect(ctx, EffectShow, func() error {
		_, err := r.site.Claims.PutClaim(ctx, claim)
		return err
	})
	if err != nil && !fault.Is(err, fault.NotFound) {
		r.problem("show the drift of claim %s: %v", claim.Name, err)
	}
}
