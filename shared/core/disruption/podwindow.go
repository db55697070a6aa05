package disruption

import (
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/disruption/budget"
	"github.com/joiner-sh/joiner/shared/model"
)

// closed returns why a pod's window keeps its node from being disrupted voluntarily now, "" where it does not, and when
// that may change, 0 = never. A window that nobody can read is closed: the pod asks to be protected at some times.
func closed(w *model.PodWindow, nowUnix int64) (why string, changeUnix int64) {
	if w == nil {
		return "", 0
	}
	window, err := budget.OfPod(w)
	if err != nil {
		return err.Error(), 0
	}
	open, change, err := window.At(nowUnix)
	switch {
	case err != nil:
		return err.Error(), 0
	case open:
		return "", change
	case change == 0:
		return fmt.Sprintf("%s %q never comes", model.AnnotationWindowSchedule, w.Schedule), 0
	}
	return "its next window opens at " + clock(change), change
}

// blockByWindows blocks nodes that pods of let be disrupted at other times only. Unlike do-not-disrupt that holds
// whether or not the claim has a terminationGracePeriod: there is another window.
func (e *evaluator) blockByWindows(node *poolNode) {
	var reasons []string
	pods := make(map[string][]string) // by why
	for _, i := range e.podsOf[node.name()] {
		pod := &e.in.Snapshot.Pods[i]
		w := e.in.Snapshot.ShapeOf(pod).Window
		if w == nil || pod.DeletedUnix != 0 {
			continue
		}
		why, change := closed(w, e.now)
		e.replan.at(change)
		if why == "" {
			continue
		}
		if pods[why] == nil {
			reasons = append(reasons, why)
		}
		pods[why] = append(pods[why], pod.Key())
	}
	for _, why := range reasons {
		node.forbid(budgeted, PodWindow, windowMessage, some("pod", pods[why]), why)
	}
}

const windowMessage = "the disruption window of %s is closed: %s"
