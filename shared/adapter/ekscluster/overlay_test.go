package ekscluster

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/v1alpha1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

const discount = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: %s}
spec:
  priceAdjustment: "-10%%"
  requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]
`

// With the permissions of the watcher overlays are followed, with those of the functions they are listed; the status is
// written, not written twice, and not for another generation.
func TestF093OverlaysAreFollowedListedAndReported(t *testing.T) {
	c, name := connect(t), unique("discount")
	apply(t, discount, name)
	var mu sync.Mutex
	rows := map[string]model.Overlay{}
	config, err := plane(t).ServiceAccount(t.Context(), "joiner", "joiner-watcher")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWatch(config, WatchOptions{Observe: func(change wire.Change) {
		mu.Lock()
		defer mu.Unlock()
		if o := change.Overlay; o != nil && change.Deleted {
			delete(rows, o.Name)
		} else if o != nil {
			rows[o.Name] = *o
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	run(t, w)
	mu.Lock()
	followed := rows[name]
	mu.Unlock()
	if followed.PriceAdjustment != "-10%" || len(followed.Requirements) != 1 || len(followed.Invalid) > 0 {
		t.Fatalf("synced with %+v", followed)
	}
	said := model.OverlayStatus{Status: "False", Reason: model.OverlayConflict, Message: "why",
		Generation: followed.Generation}
	report := func(uid string, status model.OverlayStatus) model.Overlay {
		t.Helper()
		reports := []model.OverlayReport{{Name: name, UID: uid, Status: status}}
		if err := c.Report(t.Context(), model.Report{Overlays: reports}); err != nil {
			t.Fatal(err)
		}
		untyped, err := c.custom.Resource(v1alpha1.NodeOverlayResource).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		o := translate.OverlayOf(untyped)
		o.UID = untyped.GetResourceVersion() // to compare by
		return o
	}
	if got := report("another", said); got.Status != (model.OverlayStatus{}) {
		t.Errorf("the status of another overlay of that name was written: %+v", got.Status)
	}
	first := report(followed.UID, said)
	if first.Status != said {
		t.Errorf("got %+v, want %+v", first.Status, said)
	}
	time.Sleep(1100 * time.Millisecond) // conditions have times in seconds
	if again := report(followed.UID, said); again.UID != first.UID {
		t.Error("an unchanged status was written")
	}
	late := said
	late.Generation, late.Status = said.Generation+7, "True"
	if again := report(followed.UID, late); again.UID != first.UID {
		t.Error("the status of another generation was written")
	}
	listed, err := c.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(listed.Overlays, func(o model.Overlay) bool { return o.Name == name })
	if at < 0 || listed.Overlays[at].Status != said {
		t.Errorf("listed %+v", listed.Overlays)
	}
	if err := c.custom.Resource(v1alpha1.NodeOverlayResource).Delete(t.Context(), name,
		metav1.DeleteOptions{}); err == nil {
		t.Error("the functions may delete overlays")
	}
	eventually(t, "the status is followed", func() error {
		mu.Lock()
		defer mu.Unlock()
		if rows[name].Status != said {
			return fmt.Errorf("%+v", rows[name])
		}
		return nil
	})
}
