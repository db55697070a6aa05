package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// CT-07, F148, M77: a minute after the start of a zonal shift nothing is launched in its zone, while pods come that
// need it and others that do not; within a minute of its end there is. It may expire, be canceled, or be AWS's own;
// events may be lost.
func TestCT07ZonalShiftIsKeptAndEnds(t *testing.T) {
	t.Parallel()
	const (
		zone  = "us-west-2a"
		start = 20*time.Minute + 7*time.Second
		end   = 45*time.Minute + 11*time.Second
	)
	id := catalog.ZoneID(zone)
	for name, c := range map[string]struct {
		auto, lost, expires bool
	}{
		"expires": {expires: true}, "canceled": {}, "autoshift": {auto: true}, "events are lost": {lost: true},
		"autoshift, events are lost": {auto: true, lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := small(6, time.Hour)
			there := world.Shape(900, 1<<30)
			there.NodeSelector = map[string]string{model.LabelZone: zone}
			// A pod that needs the zone, and one that does not, every minute.
			for minute := 2; minute < 55; minute++ {
				at := world.Start.Add(time.Duration(minute) * time.Minute)
				for i, shape := range []model.PodShape{there, world.Shape(900, 1<<30)} {
					run.Scenario.Workloads = append(run.Scenario.Workloads, world.Workload{
						Kind: world.Deployment, Name: fmt.Sprintf("late-%d-%d", minute, i), Shape: shape,
						Steps: []world.Step{{At: at, Replicas: 1}},
					})
				}
			}
			run.Scenario.Arrange = func(w *world.World, after func(time.Duration, func())) {
				w.Zones.Enable()
				if c.lost {
					w.Events.SetChances(world.EventChances{Lost: 1})
				}
				after(start, func() {
					until := time.Time{}
					if !c.auto {
						until = world.Start.Add(end)
						if !c.expires {
							until = until.Add(time.Hour)
						}
					}
					w.Zones.Shift(id, until)
				})
				if !c.expires {
					after(end, func() { w.Zones.Cancel(id) })
				}
			}
			d := play(t, run)
			before, during, elsewhere, soon := 0, 0, 0, 0
			for _, instance := range d.world.Fleet.Instances() {
				at, inside := instance.LaunchedAt.Sub(world.Start), instance.Zone == zone
				switch {
				case at > start+time.Minute && at < end && inside:
					during++
				case at > start+time.Minute && at < end:
					elsewhere++
				case inside && at <= start:
					before++
				case inside && at >= end && at <= end+time.Minute:
					soon++
				}
			}
			if during != 0 {
				t.Errorf("%d instances were launched in the zone more than a minute after the shift began", during)
			}
			if before == 0 || elsewhere == 0 || soon == 0 {
				t.Errorf("in the zone before: %d, elsewhere meanwhile: %d, in the zone within a minute of its end: %d",
					before, elsewhere, soon)
			}
		})
	}
}
