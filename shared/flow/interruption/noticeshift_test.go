package interruption

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// attached is an office with several clusters attached.
type attached struct {
	*office
	list []model.Registration
}

func (a attached) Clusters(context.Context) ([]model.Registration, error) {
	return a.list, a.did("clusters", "")
}

// CT-07: an event about zonal shifts has ARC asked for the clusters that it may be about, once each, and does nothing
// else. It comes again where that could not be done.
func TestCT07EventsOfZonalShiftsHaveARCAsked(t *testing.T) {
	o := attached{newOffice(), []model.Registration{
		{Cluster: "shop", Account: officeAccount, Region: officeRegion},
		{Cluster: "bank", Account: officeAccount, Region: officeRegion},
		{Cluster: "paused", Account: officeAccount, Region: officeRegion, Paused: true},
		{Cluster: "elsewhere", Account: "210987654321", Region: officeRegion},
		{Cluster: "far", Account: officeAccount, Region: "us-west-2"},
	}}
	at := time.Unix(officeNow, 0)
	handle := func(batch ...Received) (asked, failed []string) {
		flow := &Flow{
			Registry: o, Finder: o, Steps: o, Unavailable: o, RequestPlan: o.Plan, RequestDrain: o.Drain,
			RequestPass: o.RequestPass, Connector: o, Now: func() time.Time { return at }, Parallel: work.Sequential,
			RequestShift: func(_ context.Context, cluster, _ string) error {
				asked = append(asked, cluster)
				return o.did("shift", cluster)
			},
		}
		failed, _ = flow.Notices(t.Context(), batch, at.Add(20*time.Second))
		slices.Sort(asked)
		return asked, failed
	}
	shift := func(message string, clusters ...string) Received {
		return saidOf(t, message, model.Notice{Kind: model.NoticeZonalShift, Clusters: clusters})
	}
	asked, failed := handle(shift("1", "shop"), shift("2", "shop"))
	if !slices.Equal(asked, []string{"shop"}) || failed != nil {
		t.Errorf("of one cluster: asked %v, failed %v", asked, failed)
	}
	if asked, _ := handle(shift("3")); !slices.Equal(asked, []string{"bank", "shop"}) {
		t.Errorf("of no cluster by name: asked %v", asked)
	}
	if asked, _ := handle(shift("4", "unknown")); len(asked) != 0 {
		t.Errorf("of a cluster that is not attached: asked %v", asked)
	}
	if o.times("taint")+o.times("tell") != 0 {
		t.Errorf("more was done: %v", o.diary)
	}
	o.errs["shift shop"] = errors.New("no queue")
	if _, failed := handle(shift("5", "shop")); !slices.Equal(failed, []string{"5"}) {
		t.Errorf("failed %v", failed)
	}
	o.errs["clusters"] = errors.New("no table")
	if _, failed := handle(shift("6", "shop")); !slices.Equal(failed, []string{"6"}) {
		t.Errorf("failed %v", failed)
	}
}
