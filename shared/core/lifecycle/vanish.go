package lifecycle

import (
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// Obeys reports whether any finding would end an instance because an object of its was deleted: then the definitions
// have to be read, and evaluated by, before it is acted upon. Whoever deletes a definition has the API server delete
// every object of it, and the garbage collector what those own; none of that says that instances are to end. The same
// where a drain that has gone on for minutes holds a NodeClaim that is being deleted: its definition may wait for that.
func Obeys(view View, findings []Finding) bool {
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.obeys() }) {
		return true
	}
	held := map[string]bool{}
	for i := range view.Live.Objects {
		if o := &view.Live.Objects[i]; o.DeletedUnix != 0 && o.Finalizer {
			held[o.Claim.Name] = true
		}
	}
	return slices.ContainsFunc(view.Records.Claims, func(c model.Claim) bool {
		return held[c.Name] && c.State == model.Draining && c.Drain != nil && view.Records.NowUnix-c.Drain.SinceUnix >= longDrainSeconds
	})
}

// longDrainSeconds is from which age, in seconds, of a drain the definition of its NodeClaim is looked at: most are
// over before.
const longDrainSeconds = 120

// letGo finds the NodeClaim of a claim that drains, which goes with its definition and holds that: the drain goes on
// without it.
func (j *diagnosis) letGo(f Finding) {
	if d := j.view.Definitions; d != nil && !d.Claims.Established && f.Object != nil && f.Object.DeletedUnix != 0 && f.Object.Finalizer {
		f.Kind, f.Code, f.DeadlineUnix = Vanished, "", 0
		f.Detail = fmt.Sprintf("NodeClaim %s is deleted with its CustomResourceDefinition (%s), whose deletion would wait for it; the termination of instance %s, which began before, continues",
			f.Claim.Name, d.Missing(), f.Claim.InstanceID)
		j.find(f)
	}
}

// Unheard returns the findings without those that Obey, for where the definitions could not be read.
func Unheard(findings []Finding) []Finding {
	return slices.DeleteFunc(findings, func(f Finding) bool { return f.obeys() })
}

func (f *Finding) obeys() bool {
	return f.Kind == Outlived || f.Kind == Vanished && f.Object != nil || (f.Kind == ObjectDeleted || f.Kind == NodeDeleted) && f.Claim.State != model.Draining
}

// vanishes reports whether a NodeClaim that is being deleted goes because a definition does: its own, or that of the
// NodePool that owns it. One that is older than the definition of NodePools was owned by a NodePool of an earlier one,
// which went with that. Of a claim that Vanished it is so until the definitions are read: the NodeClaim may have been
// made anew since, and be deleted by people.
func (j *diagnosis) vanishes(f *Finding) bool {
	d := j.view.Definitions
	created := f.Object.CreatedUnix
	switch {
	case d == nil:
		return f.Claim.Vanished
	case !d.Claims.Established, created != 0 && created < d.Claims.CreatedUnix:
		return true
	}
	return f.Claim.Pool != "" && (!d.Pools.Established || created != 0 && created < d.Pools.CreatedUnix)
}

// outlived makes the finding of a NodeClaim that no claim has and that is being deleted one that another claim has the
// instance of, which was adopted while its NodeClaim could not be seen. Until the definitions are read it is one that
// is to be looked into.
func (j *diagnosis) outlived(f *Finding, other *model.Claim) bool {
	if other == nil || f.Object.DeletedUnix == 0 || !f.Object.Finalizer {
		return false
	}
	f.Kind, f.Claim, f.Nodes, f.Wait = Outlived, other, j.nodes[other.InstanceID], j.settings.Confirm
	return j.view.Definitions == nil || j.vanishes(f)
}

// vanished reports whether a NodeClaim that is gone went with its definition: the one there is now was made after the
// instance was launched. Whoever takes such a NodeClaim away with its finalizer, without deleting it first, gets it
// back.
func (j *diagnosis) vanished(f *Finding) bool {
	d := j.view.Definitions
	return d != nil && (!d.Claims.Established || f.Claim.LaunchedUnix != 0 && f.Claim.LaunchedUnix < d.Claims.CreatedUnix)
}

// definesClaims reports whether NodeClaims are defined, as far as is known. While they are not, that a Node is deleted
// is what the garbage collector does to those whose NodeClaim is gone.
func (j *diagnosis) definesClaims() bool {
	d := j.view.Definitions
	return !j.view.Live.Undefined && (d == nil || d.Claims.Established)
}

func (j *diagnosis) whyVanished(f *Finding) string {
	missing := "a CustomResourceDefinition was created again"
	if d := j.view.Definitions; d != nil && d.Missing() != "" {
		missing = d.Missing()
	}
	return fmt.Sprintf("NodeClaim %s is deleted with its CustomResourceDefinition (%s), which does not terminate its instance: instance %s stays, and the NodeClaim is created again with the CustomResourceDefinitions and its NodePool",
		f.Claim.Name, missing, f.Claim.InstanceID)
}
