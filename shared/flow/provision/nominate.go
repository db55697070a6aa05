package provision

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// mostNominated is for how many pods one run keeps room on nodes. It bounds calls; the next run goes on.
const mostNominated = 200

// nomineesWait is for how long after a node has joined, in seconds, its registration waits until it is ready where room
// is kept on it. kube-scheduler forgets whom a node is kept for when it tries that pod and the node takes none yet; so
// the room is kept in the moment in which the node opens. What makes a node ready may need its registration, so that
// this is not long.
const nomineesWait = 20

// share is whose turn it is among pods that wait.
type share struct {
	priority  int32
	namespace string
}

// nominees says, of the claims whose nodes are to be registered, which of their pods kube-scheduler would not bind
// there by itself: those that were planned ahead of pods of the same priority and of other namespaces that are as old
// and have no instance on its way. kube-scheduler tries such pods first, and they would take the room. By claim; nil
// where nobody was planned ahead of anybody, which is the usual case.
func (g *registrar) nominees(due []model.Claim) map[string][]model.PodRef {
	if !slices.ContainsFunc(due, func(claim model.Claim) bool {
		return claim.State == model.Launched && len(claim.Pods) > 0
	}) {
		return nil
	}
	waiting, oldest := g.unboundShares()
	ahead := func(pod *model.Pod) bool {
		first := int64(math.MaxInt64)
		for of, at := range oldest { // a minimum does not depend on the order
			if of.priority == g.snapshot.ShapeOf(pod).Priority && of.namespace != pod.Namespace {
				first = min(first, at)
			}
		}
		return first <= pod.CreatedUnix
	}
	var out map[string][]model.PodRef
	left := mostNominated
	for i := range due {
		if due[i].State != model.Launched {
			continue
		}
		for _, ref := range due[i].Pods {
			at, waits := waiting[ref.UID]
			if !waits || left == 0 || !ahead(&g.snapshot.Pods[at]) {
				continue
			}
			if out == nil {
				out = map[string][]model.PodRef{}
			}
			out[due[i].Name] = append(out[due[i].Name], ref)
			left--
		}
	}
	return out
}

// unboundShares returns where the snapshot has the pods that are on no node, by UID, and by share when the oldest of
// them was created that has no instance on its way. Both are nil where nobody can have been planned ahead of anybody.
func (g *registrar) unboundShares() (waiting map[string]int, oldest map[share]int64) {
	coming := map[string]bool{} // UIDs of pods whose instance is on its way
	for i := range g.ledger.Claims {
		if claim := &g.ledger.Claims[i]; claim.Live() && !claim.Ending() && claim.State != model.Initialized {
			for _, pod := range claim.Pods {
				coming[pod.UID] = true
			}
		}
	}
	waiting, oldest = map[string]int{}, map[share]int64{}
	namespaces := map[string]bool{}
	for _, i := range g.pending() {
		pod := &g.snapshot.Pods[i]
		if pod.NodeName != "" || pod.Buffer != "" || pod.Shape < 0 || pod.Shape >= len(g.snapshot.Shapes) {
			continue
		}
		waiting[pod.UID], namespaces[pod.Namespace] = i, true
		if !coming[pod.UID] {
			of := share{g.snapshot.ShapeOf(pod).Priority, pod.Namespace}
			if at, known := oldest[of]; !known || pod.CreatedUnix < at {
				oldest[of] = pod.CreatedUnix
			}
		}
	}
	if len(oldest) == 0 || len(namespaces) < 2 {
		return nil, nil
	}
	return waiting, oldest
}

// nominate keeps the room of a node for the pods it was made for, before the node takes any.
func (g *registrar) nominate(ctx context.Context, pods []model.PodRef, node string) {
	for _, pod := range pods {
		err := g.effect(ctx, EffectNominate, func() error {
			if err := g.nominator.Nominate(ctx, pod, node); err != nil {
				return fmt.Errorf("nominate pod %s to node %s: %w", pod.Key(), node, err)
			}
			return nil
		})
		if err != nil && !passing(err) { // kube-scheduler binds whom it will, then
			g.problem("%v", err)
		}
	}
}
