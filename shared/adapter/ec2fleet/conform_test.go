package ec2fleet

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// underTest is the adapter over our model of EC2, as the contract wants it.
type underTest struct {
	*Fleet
	*region
	t         *testing.T
	announced map[string][]string // events, by instance
}

func TestFleetKeepsTheContract(t *testing.T) {
	conform.Fleet(t, func(t *testing.T) conform.FleetPort { return contractOf(t) })
}

func TestFleetKeepsTheContractOfItsEnd(t *testing.T) {
	conform.Ender(t, func(t *testing.T) conform.EnderPort { return contractOf(t) })
}

func TestIN05FleetKeepsTheContractOfItsHealth(t *testing.T) {
	conform.Health(t, func(t *testing.T) conform.HealthPort { return contractOf(t) })
}

func (u underTest) Health() interruption.Health { return u.Fleet }

func (u underTest) Interrupt(id string) {
	if !u.Model.Interrupt(id) {
		u.t.Errorf("%s was not interrupted", id)
	}
}

func (u underTest) Impair(id, kind, code string) {
	u.t.Helper()
	there := false
	switch kind {
	case model.ImpairedInstance:
		there = u.Model.Impair(id, ec2model.InstanceCheck, time.Time{})
	case model.ImpairedSystem:
		there = u.Model.Impair(id, ec2model.SystemCheck, time.Time{})
	case model.ImpairedEvent:
		event := u.Schedule(id, ec2model.ScheduledEvent{Code: code, NotBefore: u.clock.Now().Add(72 * time.Hour)})
		there = event != ""
		u.announced[id] = append(u.announced[id], event)
	}
	if !there {
		u.t.Errorf("%s is not there to be impaired", id)
	}
}

// Mend completes the first event of an instance and cancels the others.
func (u underTest) Mend(id string) {
	u.t.Helper()
	for _, check := range []ec2model.Check{ec2model.InstanceCheck, ec2model.SystemCheck} {
		u.Recover(id, check)
	}
	for i, event := range u.announced[id] {
		end := u.Cancel
		if i == 0 {
			end = u.Complete
		}
		if !end(id, event) {
			u.t.Errorf("%s has no event %s", id, event)
		}
	}
	delete(u.announced, id)
}

func (u underTest) Ender() interruption.Fleet { return u.Fleet }

func contractOf(t *testing.T) underTest {
	r := start(t)
	r.SetTiming(ec2model.Timing{
		Visibility: conform.FleetVisibility, Shutdown: ec2model.Delay{Min: conform.FleetShutdown, Max: conform.FleetShutdown}, Gone: conform.FleetGone,
	})
	r.SetSpotPrice(conform.FleetCheap.InstanceType, conform.FleetCheap.Zone, 30_000)
	r.SetSpotPrice(conform.FleetExpensive.InstanceType, conform.FleetExpensive.Zone, 40_000)
	return underTest{r.fleet, r, t, map[string][]string{}}
}

func (u underTest) Draft(intent, capacityType string, claims ...string) model.Launch {
	u.t.Helper()
	return u.launch(u.t, intent, capacityType, claims...)
}

func (u underTest) Another() conform.FleetPort {
	return underTest{New(u.client), u.region, u.t, u.announced}
}

func poolOf(offering model.OfferingKey) ec2model.Pool {
	return ec2model.Pool{Type: offering.InstanceType, Zone: offering.Zone, CapacityType: offering.CapacityType}
}

func (u underTest) Stock(offering model.OfferingKey, n int) { u.SetCapacity(poolOf(offering), n) }

func (u underTest) Break(offering model.OfferingKey, code string) {
	u.FailPool(poolOf(offering), code, "broken")
}

func (u underTest) Throttle(api string) {
	if api == "" {
		u.SetThrottle("CreateFleet", ec2model.Rate{})
		return
	}
	u.SetThrottle(api, ec2model.Rate{PerSecond: 1})
}

func (u underTest) Reserve(id string, offering model.OfferingKey, n int) {
	u.AddReservation(ec2model.Reservation{ID: id, Type: offering.InstanceType, Zone: offering.Zone, Total: n, Targeted: true})
}

func (u underTest) Group(strategy string, partitions int64) string {
	return u.AddPlacementGroup(ec2model.PlacementGroup{Strategy: strategy, Partitions: int(partitions)})
}

func (u underTest) ForgetTemplates() {
	u.t.Helper()
	out, err := u.client.DescribeLaunchTemplates(u.t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		u.t.Fatal(err)
	}
	for _, template := range out.LaunchTemplates {
		if _, err := u.client.DeleteLaunchTemplate(u.t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: template.LaunchTemplateId}); err != nil {
			u.t.Fatal(err)
		}
	}
}

func (u underTest) End(id string) {
	u.t.Helper()
	if _, err := u.client.TerminateInstances(u.t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		u.t.Fatal(err)
	}
}

func (u underTest) Foreign(tags map[string]string) string {
	u.t.Helper()
	out, err := u.client.RunInstances(u.t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(image(u.t, catalog.X86_64)), InstanceType: types.InstanceTypeM5Large, MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: sdkTags(tags)}},
	})
	if err != nil {
		u.t.Fatal(err)
	}
	return *out.Instances[0].InstanceId
}

func (u underTest) Pass(d time.Duration) { u.clock.Advance(d) }
