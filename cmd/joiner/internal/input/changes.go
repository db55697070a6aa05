package input

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// Changes are what is not applied yet: a cluster before and after NodePools and EC2NodeClasses are applied to it.
// Without any the two are the same.
type Changes struct {
	before, after objectIndex
	Names         []string // "NodePool default", those that differ, sorted
	Warnings      []string
}

// objectIndex has pools and classes by name.
type objectIndex struct {
	pools   map[string]*model.Pool
	classes map[string]*model.Class
}

func newObjectIndex(snapshot *model.Snapshot) objectIndex {
	out := objectIndex{map[string]*model.Pool{}, map[string]*model.Class{}}
	for i := range snapshot.Pools {
		out.pools[snapshot.Pools[i].Name] = &snapshot.Pools[i]
	}
	for i := range snapshot.Classes {
		out.classes[snapshot.Classes[i].Name] = &snapshot.Classes[i]
	}
	return out
}

// Apply puts pools, classes and overlays into the snapshot, in the place of those of their names, as an API server
// would: identity stays, and what differs is a generation later. A class keeps the status it has, which is then of an
// earlier generation.
func Apply(snapshot *model.Snapshot, pools []model.Pool, classes []model.Class, overlays []model.Overlay) *Changes {
	was := *snapshot
	was.Pools, was.Classes = slices.Clone(snapshot.Pools), slices.Clone(snapshot.Classes)
	w := &Changes{before: newObjectIndex(&was)}
	for _, pool := range pools {
		old := w.before.pools[pool.Name]
		if old != nil {
			pool.UID, pool.Generation, pool.DeletedUnix = old.UID, old.Generation, old.DeletedUnix
		}
		if old != nil && reflect.DeepEqual(*old, pool) {
			continue
		}
		pool.Generation++
		w.Names = append(w.Names, "NodePool "+pool.Name)
		snapshot.Pools = slices.DeleteFunc(snapshot.Pools, func(p model.Pool) bool { return p.Name == pool.Name })
		snapshot.Pools = append(snapshot.Pools, pool)
	}
	for _, class := range classes {
		old := w.before.classes[class.Name]
		if old != nil {
			class.UID, class.Generation, class.DeletedUnix, class.Status = old.UID, old.Generation, old.DeletedUnix,
				old.Status
			for _, key := range []string{model.AnnotationClassHash, model.AnnotationClassHashVersion} { // our own notes
				class.Annotations = noted(class.Annotations, old.Annotations, key)
			}
		}
		if old != nil && reflect.DeepEqual(*old, class) {
			continue
		}
		class.Generation++
		w.Names = append(w.Names, "EC2NodeClass "+class.Name)
		w.Warnings = append(w.Warnings,
			fmt.Sprintf("--with: the selectors of EC2NodeClass %s are not resolved: drift by image, security group, "+
				"subnet, reservation or placement group is not checked", class.Name))
		snapshot.Classes = slices.DeleteFunc(snapshot.Classes, func(c model.Class) bool { return c.Name == class.Name })
		snapshot.Classes = append(snapshot.Classes, class)
	}
	w.Names = append(w.Names, applyOverlays(snapshot, overlays)...)
	slices.Sort(w.Names)
	slices.SortFunc(snapshot.Pools, func(a, b model.Pool) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(snapshot.Classes, func(a, b model.Class) int { return strings.Compare(a.Name, b.Name) })
	w.after = newObjectIndex(snapshot)
	return w
}

// applyOverlays puts overlays into the snapshot, in the place of those of their names, and returns which differ.
func applyOverlays(snapshot *model.Snapshot, overlays []model.Overlay) []string {
	var names []string
	snapshot.Overlays = slices.Clone(snapshot.Overlays)
	for _, o := range overlays {
		at := slices.IndexFunc(snapshot.Overlays, func(old model.Overlay) bool { return old.Name == o.Name })
		if at < 0 {
			snapshot.Overlays = append(snapshot.Overlays, o)
			names = append(names, "NodeOverlay "+o.Name)
			continue
		}
		old := &snapshot.Overlays[at]
		o.UID, o.Generation, o.Status = old.UID, old.Generation, old.Status
		if !reflect.DeepEqual(*old, o) {
			o.Generation++
			names, snapshot.Overlays[at] = append(names, "NodeOverlay "+o.Name), o
		}
	}
	slices.SortFunc(snapshot.Overlays, func(a, b model.Overlay) int { return strings.Compare(a.Name, b.Name) })
	return names
}

// noted returns annotations with the value that others have of a key.
func noted(annotations, others map[string]string, key string) map[string]string {
	value, has := others[key]
	if _, said := annotations[key]; !has || said {
		return annotations
	}
	out := map[string]string{key: value}
	for k, v := range annotations {
		out[k] = v
	}
	return out
}

// Drift fills in the drift of claims as the catalog function would find it after what is changed was applied, and
// returns the nodes that have drifted, by name. What the files do not say concludes nothing: a drift that is recorded
// stays, and none comes.
func (w *Changes) Drift(claims []model.Claim, catalogs map[string][]model.InstanceType, nowUnix int64) []show.Drifted {
	var out []show.Drifted
	for i := range claims {
		claim := &claims[i]
		switch claim.State {
		case model.Launched, model.Registered, model.Initialized:
			w.evaluateDrift(claim, catalogs[claim.Class], nowUnix)
		default:
			continue
		}
		if claim.Drift != "" {
			out = append(out, show.Drifted{Node: cmp.Or(claim.NodeName, claim.Name), Pool: claim.Pool,
				Reason: claim.Drift, Message: claim.DriftMessage})
		}
	}
	slices.SortFunc(out, func(a, b show.Drifted) int { return strings.Compare(a.Node, b.Node) })
	return out
}

func (w *Changes) evaluateDrift(claim *model.Claim, types []model.InstanceType, nowUnix int64) {
	launched := *claim
	launched.Annotations = w.hashes(claim)
	view := lifecycle.DriftView{Claim: launched, Pool: w.after.pools[claim.Pool], Class: w.after.classes[claim.Class],
		NowUnix: nowUnix}
	if i := slices.IndexFunc(types, func(t model.InstanceType) bool { return t.Name == claim.InstanceType }); i >= 0 {
		view.Type = &types[i]
	}
	drift := lifecycle.DriftedByPool(view)
	if drift.Reason == "" && view.Class != nil {
		if found, err := lifecycle.Drifted(view); err == nil {
			drift = found
		}
	}
	switch {
	case drift.Reason != "":
		if claim.Drift != drift.Reason {
			claim.DriftUnix = nowUnix
		}
		claim.Drift, claim.DriftMessage = drift.Reason, drift.Message
	case w.resolved(claim, view.Pool):
		claim.Drift, claim.DriftMessage, claim.DriftUnix = "", "", 0
	}
}

// resolved reports whether a recorded drift is no more for what is changed, as far as the NodePool says.
func (w *Changes) resolved(claim *model.Claim, pool *model.Pool) bool {
	if pool == nil || !slices.Contains(w.Names, "NodePool "+claim.Pool) {
		return false
	}
	return claim.Drift == lifecycle.RequirementsDrifted ||
		claim.Drift == lifecycle.PoolDrifted &&
			claim.Annotations[model.AnnotationPoolHashVersion] == model.PoolHashVersion
}

// hashes returns a claim's annotations with hashes that can be compared with those of the classes and pools in files:
// where the claim has none, or such of other rules, those of what is there now, by the rules of the catalog function.
// The hash of a class in a cluster has the cluster's certificate authority in it, which files do not say: there the
// claim is compared with what the catalog function noted on the class.
func (w *Changes) hashes(claim *model.Claim) map[string]string {
	pool, class := w.before.pools[claim.Pool], w.before.classes[claim.Class]
	out, _ := lifecycle.Rehashed(*claim, pool, class, nil)
	if class == nil || claim.Annotations[model.AnnotationClassHashVersion] != model.ClassHashVersion {
		return out
	}
	at := class.Annotations
	stays := at[model.AnnotationClassHashVersion] == model.ClassHashVersion &&
		at[model.AnnotationClassHash] != claim.Annotations[model.AnnotationClassHash]
	if stays || class.Hash == "" {
		return out
	}
	same := map[string]string{}
	for key, value := range out {
		same[key] = value
	}
	same[model.AnnotationClassHash] = class.Hash
	return same
}
