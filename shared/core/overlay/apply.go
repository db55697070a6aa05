package overlay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Result is what overlays come to.
type Result struct {
	// Catalogs are the instance types that NodePools see, by pool name, where overlays change any of them.
	Catalogs map[string][]model.InstanceType
	// Problems are the overlays that are not applied, by name, with the reason.
	Problems map[string]Problem
}

// Problem says why an overlay is not applied.
type Problem struct {
	Reason  string // model.OverlayInvalid or model.OverlayConflict
	Message string // a sentence naming what to do
}

// Apply applies the overlays to what pools can buy by their classes, whose catalogs are by class name. A pool whose
// class has none is left out. The heaviest overlay counts, for the price of each offering and for each resource; of
// several with one weight that change the same, the alphabetically last name counts, and the others are not applied at
// all. It writes to nothing it is given.
func Apply(overlays []model.Overlay, pools []model.Pool, catalogs map[string][]model.InstanceType) Result {
	out := Result{Catalogs: map[string][]model.InstanceType{}, Problems: map[string]Problem{}}
	if len(overlays) == 0 {
		return out
	}
	views := make([]*view, 0, len(pools))
	for i := range pools {
		if types := catalogs[pools[i].Template.ClassName]; types != nil {
			views = append(views, newView(&pools[i], types))
		}
	}
	for _, o := range ordered(overlays) {
		if problem := apply(o, views); problem != nil {
			out.Problems[o.Name] = *problem
		}
	}
	for _, v := range views {
		if types, changed := v.result(); changed {
			out.Catalogs[v.pool.Name] = types
		}
	}
	return out
}

// ordered returns the overlays in the order in which they count: by weight, heaviest first, then by name, last first.
func ordered(overlays []model.Overlay) []*model.Overlay {
	out := make([]*model.Overlay, 0, len(overlays))
	for i := range overlays {
		out = append(out, &overlays[i])
	}
	slices.SortStableFunc(out, func(a, b *model.Overlay) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(b.Name, a.Name))
	})
	return out
}

// apply applies one overlay to all views, or, where it cannot be applied to one of them, to none.
func apply(o *model.Overlay, views []*view) *Problem {
	if len(o.Invalid) > 0 {
		return &Problem{model.OverlayInvalid, strings.Join(o.Invalid, "; ")}
	}
	wanted, err := requirement.From(o.Requirements)
	var priced change
	if err == nil {
		priced, err = changeOf(o)
	}
	if err != nil {
		return &Problem{model.OverlayInvalid, err.Error()}
	}
	matches := make([][]offering.Match, len(views))
	for i, v := range views {
		matches[i] = v.matches(wanted)
		for _, m := range matches[i] {
			if other, what := v.conflict(o, m); other != "" {
				return &Problem{model.OverlayConflict, fmt.Sprintf(
					"NodeOverlay %s has the same weight and changes %s of %s for NodePool %s too; "+
						"give one of them another spec.weight, or make their requirements exclude each other",
					other, what, m.Type.Name, v.pool.Name)}
			}
		}
	}
	for i, v := range views {
		for _, m := range matches[i] {
			v.change(o, priced, m)
		}
	}
	return nil
}

// view is what a pool sees of its class's instance types.
type view struct {
	pool      *model.Pool
	types     []model.InstanceType
	labels    map[string]string // of its nodes, by normalized key
	prices    map[*model.Offering]*priceChange
	resources map[*model.InstanceType]map[string]resourceChange
}

// priceChange is what decides a price, and the lightest overlay that would change it.
type priceChange struct {
	change
	last *model.Overlay
}

// resourceChange is what decides an amount, and the lightest overlay that would change it.
type resourceChange struct {
	amount int64
	last   *model.Overlay
}

func newView(pool *model.Pool, types []model.InstanceType) *view {
	v := &view{pool: pool, types: types, labels: map[string]string{},
		prices: map[*model.Offering]*priceChange{}, resources: map[*model.InstanceType]map[string]resourceChange{}}
	for key, value := range pool.Template.Labels { // each on its own: the order does not matter
		v.labels[requirement.Normalize(key)] = value
	}
	v.labels[model.LabelNodePool], v.labels[model.LabelNodeClass] = pool.Name, pool.Template.ClassName
	return v
}

// matches returns the types with the offerings that the requirements select for nodes of the pool. A label that neither
// the template nor the instance type gives its nodes counts as absent, whatever the pool's own requirements say of it.
func (v *view) matches(wanted requirement.Requirements) []offering.Match {
	narrowed := wanted
	for _, key := range wanted.Keys() {
		value, labeled := v.labels[key]
		if offering.IsInstanceLabel(key) {
			if labeled {
				narrowed = narrowed.With(key, wanted.Get(key).Intersect(requirement.Values(value)))
			}
			continue
		}
		if set := wanted.Get(key); labeled && !set.Has(value) || !labeled && !set.AllowsAbsent() {
			return nil
		}
	}
	return offering.Matches(v.types, narrowed)
}

// conflict returns the name of an overlay of the same weight that changes the same of the match, and what that is.
func (v *view) conflict(o *model.Overlay, m offering.Match) (name, what string) {
	if o.Price != "" || o.PriceAdjustment != "" {
		for _, f := range m.Offerings {
			if known := v.prices[f]; known != nil && known.last.Weight == o.Weight {
				return known.last.Name, "the price"
			}
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(o.Capacity)) {
		if known, changed := v.resources[m.Type][resource]; changed && known.last.Weight == o.Weight {
			return known.last.Name, resource
		}
	}
	return "", ""
}

// change notes what the overlay changes of the match, as far as no heavier one does.
func (v *view) change(o *model.Overlay, priced change, m offering.Match) {
	for _, f := range m.Offerings {
		if priced == (change{}) {
			break
		}
		if known := v.prices[f]; known != nil {
			known.last = o
		} else {
			v.prices[f] = &priceChange{priced, o}
		}
	}
	for resource, amount := range o.Capacity { // each on its own: the order does not matter
		if v.resources[m.Type] == nil {
			v.resources[m.Type] = map[string]resourceChange{}
		}
		if known, changed := v.resources[m.Type][resource]; changed {
			amount = known.amount
		}
		v.resources[m.Type][resource] = resourceChange{amount, o}
	}
}

// result returns the types as the pool sees them, and whether that differs from its class's.
func (v *view) result() ([]model.InstanceType, bool) {
	if len(v.prices)+len(v.resources) == 0 {
		return nil, false
	}
	out := slices.Clone(v.types)
	for i := range out {
		from, to := &v.types[i], &out[i]
		copied := false
		for j := range from.Offerings {
			known := v.prices[&from.Offerings[j]]
			if known == nil {
				continue
			}
			if !copied {
				to.Offerings, copied = slices.Clone(from.Offerings), true
			}
			known.apply(&to.Offerings[j])
		}
		if added := v.resources[from]; added != nil {
			extend(to, added)
		}
	}
	return out, true
}

// extend gives nodes of the type the resources. Huge pages are taken from the memory that pods can have.
func extend(t *model.InstanceType, added map[string]resourceChange) {
	t.Capacity, t.Overhead, t.Extended = maps.Clone(t.Capacity), maps.Clone(t.Overhead), true
	if t.Capacity == nil {
		t.Capacity = model.Resources{}
	}
	if t.Overhead == nil {
		t.Overhead = model.Resources{}
	}
	for resource, known := range added { // each on its own: the order does not matter
		t.Capacity[resource] = known.amount
		if strings.HasPrefix(resource, "hugepages-") {
			t.Overhead[model.Memory] += known.amount
		}
	}
	// or no kubelet would start
	t.Overhead[model.Memory] = min(t.Overhead[model.Memory], max(0, t.Capacity[model.Memory]))
}

// Status returns what the overlay's object is to say, of one with this problem; nil = none.
func Status(o *model.Overlay, problem *Problem) model.OverlayStatus {
	if problem == nil {
		return model.OverlayStatus{Status: "True", Reason: "ValidationSucceeded", Generation: o.Generation}
	}
	return model.OverlayStatus{Status: "False", Reason: problem.Reason, Message: problem.Message,
		Generation: o.Generation}
}

// AddTo adds to catalogs what the snapshot's pools see of all that their classes sell, where its overlays change that.
// mask closes what a class cannot buy now; nil = it can buy everything.
func AddTo(catalogs, all map[string][]model.InstanceType, snapshot *model.Snapshot,
	mask func(class string, types []model.InstanceType) []model.InstanceType) {
	result := Apply(snapshot.Overlays, snapshot.Pools, all)
	for i := range snapshot.Pools {
		pool, class := snapshot.Pools[i].Name, snapshot.Pools[i].Template.ClassName
		types, changed := result.Catalogs[pool]
		if !changed {
			continue
		}
		if mask != nil {
			types = mask(class, types)
		}
		catalogs[model.CatalogKey(class, pool)] = types
	}
}
