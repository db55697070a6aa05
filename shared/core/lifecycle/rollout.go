package lifecycle

import (
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Rollout counts the nodes of a NodePool by whether an instance launched now would differ. NodePool and EC2NodeClass
// are compared as they are now, so that the counts are true of an edit at once. What takes a look at the instance, such
// as another image, counts once it is recorded with the claim.
type Rollout struct {
	counts    model.PoolRollout
	view      DriftView // without a claim
	wanted    requirement.Requirements
	classHash string // of the class as it is now
	compares  bool   // there is a class, which is not being deleted
}

// NewRollout begins to count the nodes of a pool, whose class may be nil. ca is the API server's.
func NewRollout(pool *model.Pool, class *model.Class, ca []byte) *Rollout {
	r := &Rollout{counts: model.PoolRollout{Generation: pool.Generation}, view: DriftView{Pool: pool, Class: class}}
	if class != nil && class.DeletedUnix == 0 {
		r.classHash, r.compares = class.HashFor(ca), true
	}
	if wanted, err := requirement.From(pool.Template.Requirements); err == nil {
		r.wanted = wanted
	}
	return r
}

// Add counts the node of one claim of the pool.
func (r *Rollout) Add(claim *model.Claim) {
	switch {
	case !r.outdated(claim):
		r.counts.Current++
	case claim.Ending() || claim.Command != "":
		r.counts.Replacing++
	default:
		r.counts.Drifted++
	}
}

// Counts returns what was counted so far.
func (r *Rollout) Counts() model.PoolRollout { return r.counts }

func (r *Rollout) outdated(claim *model.Claim) bool {
	if !r.compares {
		return claim.Drift != ""
	}
	if claim.Drift != "" && !OfPool(claim.Drift) && claim.Drift != ClassDrifted {
		return true
	}
	if classHashed.differs(claim, r.classHash) || poolHashed.differs(claim, r.view.Pool.Hash) {
		return true
	}
	view := r.view
	view.Claim = *claim
	key, _, _ := unmet(&view, r.wanted)
	return key != ""
}
