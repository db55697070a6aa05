package provision_test

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// CT-07, M77, M20, M27: a run after a zonal shift was recorded launches nothing in its zone, and says why to the pods
// that need it. A run after its end launches there, whether or not the record is gone.
func TestCT07NothingIsLaunchedInAShiftedZone(t *testing.T) {
	const zone = "us-west-2a"
	w := start(t, world.Options{Types: []string{"m5.large"}})
	until := w.Clock.Now().Add(10 * time.Minute).Unix()
	shift := model.ZonalShift{ZoneID: catalog.ZoneID(zone), SinceUnix: w.Clock.Now().Unix(), UntilUnix: until}
	shifts := model.ZonalShifts{Managed: true, Shifts: []model.ZonalShift{shift}}
	if err := (world.ZonesLedger{Ledger: w.Ledger}).PutShifts(t.Context(), world.Name, shifts); err != nil {
		t.Fatal(err)
	}
	there := world.Shape(900, gib)
	there.NodeSelector = map[string]string{model.LabelZone: zone}
	w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "there", Shape: there, Replicas: 1})
	w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "anywhere", Shape: world.Shape(900, gib), Replicas: 6})
	launched := func() (inside, outside int) {
		for _, instance := range w.Fleet.Instances() {
			if instance.Zone == zone {
				inside++
			} else {
				outside++
			}
		}
		return inside, outside
	}
	for range 8 {
		w.Tick(time.Minute)
		pass(t, w, provision.TriggerResync)
	}
	if inside, outside := launched(); inside != 0 || outside == 0 {
		t.Fatalf("%d instances were launched in the shifted zone and %d elsewhere", inside, outside)
	}
	named := false
	for _, pod := range w.Cluster.Pods() {
		for _, event := range w.Cluster.Events("Pod", pod.Name) {
			named = named || strings.Contains(event.Message, "zonal shift") && strings.Contains(event.Message,
				shift.ZoneID)
		}
	}
	if !named {
		t.Error("no event names the zonal shift")
	}
	for w.Clock.Now().Unix() < until {
		w.Tick(time.Minute)
	}
	pass(t, w, provision.TriggerResync)
	if inside, _ := launched(); inside == 0 {
		t.Error("after its end nothing was launched in the zone")
	}
}
