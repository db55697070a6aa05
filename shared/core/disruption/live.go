package disruption

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// PodsArrived says that pods came to a node after it was evaluated.
const PodsArrived = "PodsArrived"

// Sighting is a node of a command as the API server has it now, after it was tainted.
type Sighting struct {
	Reason  string        // of the command
	Target  *model.Target // as it was evaluated
	Claim   *model.Claim
	Node    *model.Occupied
	Budgets []model.PDB // every one of the cluster; nil = they are not to be looked at
}

// Live says what speaks against disrupting the node now: that it is being deleted, that people ask for it to be left
// alone, that its pods may not be evicted, or, for reasons that depend on what runs there, that others have come. Empty
// = nothing does. What drifted or has expired goes all the same where its terminationGracePeriod bounds how long pods
// can hold it, and so does what a static pool has too many of.
func Live(s Sighting) []model.KeptReason {
	l := live{Sighting: s}
	node := &s.Node.Node
	if node.DeletedUnix != 0 {
		l.say(Ending, "node %s is being deleted", node.Name)
	}
	if s.Reason == model.ReasonReplicas {
		return l.out
	}
	if node.Annotations[model.AnnotationNotDisrupt] == "true" {
		l.say(NodeDoNotDisrupt, "node %s has the annotation %s: true", node.Name, model.AnnotationNotDisrupt)
	}
	eventually := model.ReasonNamed(s.Reason).Renews
	for i := range s.Node.Pods {
		pod := &s.Node.Pods[i]
		if pod.DeletedUnix != 0 || pod.Phase == model.Succeeded || pod.Phase == model.Failed {
			continue
		}
		if !eventually {
			l.arrived(pod)
		}
		if why, _ := closed(pod.Window, s.Node.ReadUnix); why != "" {
			l.say(PodWindow, windowMessage, "pod "+pod.Key(), why)
		}
		if !eventually || s.Claim.GraceSeconds == nil {
			l.shielded(pod)
			l.budgeted(pod)
		}
	}
	return l.out
}

// live is one sighting being evaluated.
type live struct {
	Sighting
	out []model.KeptReason
}

func (l *live) say(code, format string, values ...any) {
	l.out = append(l.out, *because(code, format, values...))
}

// arrived notes a pod that was not there when the node was evaluated, and would have to leave.
func (l *live) arrived(pod *model.Occupant) {
	if pod.Static || pod.System || pod.OwnerKind == "Node" || pod.OwnerKind == "DaemonSet" ||
		slices.Contains(l.Target.Pods, model.PodDigest(pod.UID)) {
		return
	}
	l.say(PodsArrived, "pod %s was bound to node %s after the node was evaluated", pod.Key(), l.Target.Node)
}

// shielded notes a pod whose annotation says that it is not to be disturbed now.
func (l *live) shielded(pod *model.Occupant) {
	now := l.Node.ReadUnix // of the clock its start was written by
	if shield := model.ReadDoNotDisrupt(pod.DoNotDisrupt, pod.StartedUnix); shield.Active(now) {
		const message = "pod %s has the annotation %s: %s"
		l.say(PodDoNotDisrupt, message, pod.Key(), model.AnnotationNotDisrupt, pod.DoNotDisrupt)
	}
}

// budgeted notes a pod that the eviction API would not let go now. Of pods that stay when their node is drained nobody
// asks it.
func (l *live) budgeted(pod *model.Occupant) {
	if pod.Static || pod.OwnerKind == "Node" || pack.Tolerates(pod.Tolerations, disruptedTaint) {
		return
	}
	var about []*model.PDB
	for i := range l.Budgets {
		b := &l.Budgets[i]
		if b.Namespace != pod.Namespace {
			continue
		}
		matches, err := topology.Matches(b.Selector, pod.Labels)
		if matches || err != nil { // one that cannot be read may be about any
			about = append(about, b)
		}
	}
	if len(about) > 1 {
		var names []string
		for _, b := range about {
			names = append(names, b.Name)
		}
		slices.Sort(names)
		const message = "PodDisruptionBudgets %s all select pod %s, so the Eviction API refuses it"
		l.say(TooManyBudgets, message, strings.Join(names, ", "), pod.Key())
		return
	}
	for _, b := range about {
		if b.DisruptionsAllowed <= 0 && !(b.AlwaysEvictUnready && !pod.Ready) {
			const message = "PodDisruptionBudget %s/%s does not allow pod %s to be evicted now"
			l.say(DisruptionBudget, message, b.Namespace, b.Name, pod.Key())
		}
	}
}
