package conform

import (
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// farFuture is after whatever a case does, by any clock.
const farFuture = int64(1) << 40

func (b yard) named(request []byte) []string {
	b.t.Helper()
	names, err := b.Named(request)
	if err != nil || !slices.IsSorted(names) {
		b.t.Fatalf("%v %v", names, err)
	}
	return names
}

func (b yard) collected(keep []string, beforeUnix int64, most, wantLeft int) {
	b.t.Helper()
	if left, err := b.Collect(b.t.Context(), "web", keep, beforeUnix, most); err != nil || left != wantLeft {
		b.t.Errorf("%d left, %v, want %d", left, err, wantLeft)
	}
}

func fleetCollects(b yard) {
	_, err := b.Named([]byte("{"))
	b.want(fault.Invalid, "bytes that are no request", err)
	launch := b.Draft("01A", model.OnDemand, "a")
	request := b.request(launch)
	names := b.named(request)
	if again := b.named(b.request(b.Draft("01B", model.OnDemand, "b"))); len(names) != 1 || !slices.Equal(again, names) {
		b.t.Errorf("like launches have templates %v and %v", names, again)
	}
	other := b.Draft("01C", model.OnDemand, "c")
	other.Templates[0].UserData = []byte("another")
	if b.Pass(time.Second); slices.Equal(b.named(b.request(other)), names) {
		b.t.Error("another user data has the same template")
	}
	b.collected(nil, 0, 10, 0)           // none is that old
	b.collected(nil, farFuture, 0, 2)    // none at once
	b.collected(names, farFuture, 10, 0) // the other one
	b.collected(names, farFuture, 10, 0) // nothing
	if result, err := b.Launch(b.t.Context(), request); err != nil || len(result.Instances) != 1 {
		b.t.Errorf("launch from the template that was kept: %+v %v", result, err)
	}
	b.collected(nil, farFuture, 10, 0)
	gone := b.Draft("01D", model.OnDemand, "d")
	if result := b.launch(gone); len(result.Instances) != 1 {
		b.t.Errorf("a collected template was not made again: %+v", result)
	}
}

func fleetTags(b yard) {
	id := b.launch(b.Draft("01A", model.OnDemand, "a", "b")).Instances[0].ID
	tags := map[string]string{"Name": "node-1", "team": "other"}
	b.Pass(FleetVisibility)
	if added, err := b.Tag(b.t.Context(), id, tags); err != nil || !added {
		b.t.Errorf("%v %v", added, err)
	}
	b.Pass(FleetVisibility)
	if added, err := b.Tag(b.t.Context(), id, tags); err != nil || added {
		b.t.Errorf("again: %v %v", added, err)
	}
	found, err := b.FindInstances(b.t.Context(), "01A")
	if err != nil || len(found) != 2 {
		b.t.Fatalf("%+v %v", found, err)
	}
	for _, instance := range found {
		want := map[bool]string{true: "node-1"}[instance.ID == id]
		if instance.Tags["Name"] != want || instance.Tags["team"] != "a" || instance.Tags["joiner.sh/intent"] != "01A" {
			b.t.Errorf("machine %s has tags %v", instance.ID, instance.Tags)
		}
	}
	_, err = b.Tag(b.t.Context(), "i-0123456789abcdef0", tags)
	b.want(fault.NotFound, "no such machine", err)
}

func fleetReserves(b yard) {
	b.Reserve("cr-0123456789abcdef0", FleetCheap, 2)
	reserved := func(intent string, claims ...string) model.Launch {
		launch := b.Draft(intent, model.Reserved, claims...)
		t := &launch.Templates[0]
		t.Reservation = "cr-0123456789abcdef0"
		t.Overrides = slices.DeleteFunc(t.Overrides, func(o model.Override) bool { return o.InstanceType != FleetCheap.InstanceType })
		return launch
	}
	result := b.launch(reserved("01A", "a", "b", "c"))
	if len(result.Instances) != 2 || len(result.Errors) == 0 {
		b.t.Fatalf("%+v", result)
	}
	for _, e := range result.Errors {
		if e.Code != "ReservationCapacityExceeded" || e.Offering != fleetOffering(FleetCheap, model.Reserved) {
			b.t.Errorf("error %+v", e)
		}
	}
	b.Pass(FleetVisibility)
	found, err := b.FindInstances(b.t.Context(), "01A")
	if err != nil || len(found) != 2 {
		b.t.Fatalf("%+v %v", found, err)
	}
	for _, instance := range append(found, result.Instances...) {
		if instance.CapacityType != model.Reserved || instance.Reservation != "cr-0123456789abcdef0" {
			b.t.Errorf("machine %+v", instance)
		}
	}
	plain := b.launch(b.Draft("01B", model.OnDemand, "a")).Instances
	if len(plain) != 1 || plain[0].Reservation != "" || plain[0].CapacityType != model.OnDemand {
		b.t.Errorf("on demand: %+v", plain)
	}
}

func fleetPlaces(b yard) {
	group := &model.PlacementGroup{ID: b.Group("partition", 3), Strategy: "partition", Partitions: 3}
	for i, wanted := range []int64{0, 2} {
		launch := b.Draft(fmt.Sprint("01-", i), model.OnDemand, "a")
		launch.Class.Status.PlacementGroup, launch.Templates[0].Partition = group, wanted
		b.launch(launch)
		b.Pass(FleetVisibility)
		found, err := b.FindInstances(b.t.Context(), launch.Intent)
		if err != nil || len(found) != 1 || found[0].PlacementGroup != group.ID || found[0].Partition < 1 || found[0].Partition > 3 || wanted != 0 && found[0].Partition != wanted {
			b.t.Errorf("partition %d: %+v, %v", wanted, found, err)
		}
	}
}
