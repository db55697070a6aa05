package ec2fleet

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

// M95: on-demand instances of a class that says so run in open reservations, which EC2 takes first. They stay on-demand
// instances. Spot instances and reserved ones do not change, nor do those of other classes.
func TestM95OpenReservationsFirst(t *testing.T) {
	const none, open = types.CapacityReservationPreferenceNone, types.CapacityReservationPreferenceOpen
	for name, c := range map[string]struct {
		capacityType, value string
		preference          types.CapacityReservationPreference
		first               bool
		version, inside     int
	}{
		"by default":    {model.OnDemand, "", none, false, 1, 0},
		"none":          {model.OnDemand, "none", none, false, 1, 0},
		"first":         {model.OnDemand, "first", open, true, 4, 2},
		"spot":          {model.Spot, "first", none, false, 1, 0},
		"another value": {model.OnDemand, "last", none, false, 1, 0},
	} {
		r := start(t)
		id := r.AddReservation(ec2model.Reservation{Type: "c5.large", Zone: catalog.Region + "a", Total: 2})
		launch := r.launch(t, "01A", c.capacityType, "a", "b")
		launch.Class.Annotations = map[string]string{model.AnnotationOpenReservations: c.value}
		in := r.asked(t, launch)
		options := in.OnDemandOptions
		first := options != nil && options.CapacityReservationOptions != nil &&
			options.CapacityReservationOptions.UsageStrategy ==
				types.FleetCapacityReservationUsageStrategyUseCapacityReservationsFirst
		data, err := templateData("us-west-2", launch, launch.Templates[0])
		if err != nil {
			t.Fatal(err)
		}
		stored, _ := decodeRequest(r.request(t, launch))
		got := data.CapacityReservationSpecification.CapacityReservationPreference
		if got != c.preference || first != c.first || stored.Version != c.version {
			t.Errorf("%s: preference %s, first %v, version %d", name, got, first, stored.Version)
		}
		result, err := r.fleet.Launch(t.Context(), r.request(t, launch))
		if err != nil || len(result.Instances) != 2 {
			t.Fatalf("%s: %+v, %v", name, result, err)
		}
		inside := 0
		for _, i := range r.Instances() {
			if i.ReservationID == id {
				inside++
			}
		}
		if inside != c.inside || result.Instances[0].CapacityType != c.capacityType {
			t.Errorf("%s: %d instances in the reservation, want %d; they are %s", name, inside, c.inside,
				result.Instances[0].CapacityType)
		}
	}
}

// M95: a reservation that is selected is used as before, whatever its class says of open ones.
func TestM95SelectedReservationsStayTargeted(t *testing.T) {
	r := start(t)
	launch := r.launch(t, "01A", model.Reserved, "a")
	launch.Templates[0].Reservation = "cr-1"
	launch.Class.Annotations = map[string]string{model.AnnotationOpenReservations: "first"}
	in := r.asked(t, launch)
	if in.OnDemandOptions.CapacityReservationOptions != nil {
		t.Errorf("%+v", in.OnDemandOptions)
	}
}
