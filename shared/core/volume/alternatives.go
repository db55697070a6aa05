package volume

import (
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// NewNodeAlternatives returns where the pod's volumes let it run among nodes yet to be made: any one of the returned
// requirements must hold of its node; nil = anywhere. They never name host names. Their order, and what they say, do
// not depend on the order of claims, volumes or terms. At most 64. Equal answers have equal Keys.
//
// A Problem says why no node may be made for the pod. One that exists may still do: see Existing. pod is nil where only
// its shape is known, as of a daemon.
func (x *Index) NewNodeAlternatives(pod *model.Pod, shape *model.PodShape) ([]requirement.Requirements, *Problem) {
	return x.combine(x.claimsOf(pod, shape), x.whereNew)
}

// ExistingNodeAlternatives returns where the pod's volumes let it run among nodes that exist, in the form of
// Alternatives; here they may name host names. A Problem says why kube-scheduler would refuse every node. A claim that
// is made for the pod and does not exist yet is no problem: it is evaluated by its class.
func (x *Index) ExistingNodeAlternatives(pod *model.Pod, shape *model.PodShape) ([]requirement.Requirements, *Problem) {
	return x.combine(x.claimsOf(pod, shape), x.whereExisting)
}
