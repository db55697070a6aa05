package pack

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// TestPodsThatKeepApartTakeSmallNodes guards the order nodes are opened in: were large ones filled first, pods that
// want a node each would find nothing left to share theirs with.
func TestPodsThatKeepApartTakeSmallNodes(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	w.pods("alone", 100, asPod(appPod("alone"), apartFrom(model.LabelHostname, "alone"))).pods("plain", 300, appPod("plain"))
	together := w.complete(t).Price
	plain := newWorld(64).pool("general", nil).pods("plain", 300, appPod("plain")).complete(t).Price
	alone := newWorld(64).pool("general", nil).pods("alone", 100, asPod(appPod("alone"), apartFrom(model.LabelHostname, "alone"))).complete(t).Price
	if float64(together) > 0.75*float64(plain+alone) {
		t.Errorf("together %d, apart %d and %d: want the plain pods beside those that keep apart", together, plain, alone)
	}
}
