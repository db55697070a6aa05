package conform

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
)

// FleetPort is EC2 as the launching flow asks it, with what a case needs to set the scene.
type FleetPort interface {
	provision.Fleet
	provision.Templates
	provision.Tagger
	// Draft returns a launch of class general for cluster web out of FleetCheap and FleetExpensive, of either capacity type,
	// whose images and subnets there are.
	Draft(intent, capacityType string, claims ...string) model.Launch
	// Another returns the same fleet as another process sees it.
	Another() FleetPort
	// Stock lets an offering give n more instances.
	Stock(offering model.OfferingKey, n int)
	// Break lets every launch from an offering fail with a code; empty fields match any.
	Break(offering model.OfferingKey, code string)
	// Throttle lets an API take no call any more; empty = all of them take calls again.
	Throttle(api string)
	// Reserve makes a reservation of an offering's type and zone that n instances can go into.
	Reserve(id string, offering model.OfferingKey, n int)
	// Group makes a placement group and returns its id.
	Group(strategy string, partitions int64) string
	// ForgetTemplates deletes every launch template.
	ForgetTemplates()
	// End tells an instance to end, as a person would.
	End(id string)
	// Foreign runs an instance that has nothing but these tags, and returns its id.
	Foreign(tags map[string]string) string
	// Pass lets time pass.
	Pass(d time.Duration)
}

// What the fleets of the contract are made with.
const (
	FleetVisibility = 5 * time.Second  // before describing calls show an instance
	FleetShutdown   = 10 * time.Second // from the order to end until terminated
	FleetGone       = time.Hour        // while a terminated instance is described
)

// The offerings of the contract's launches: FleetCheap is the cheaper one for both capacity types.
var (
	FleetCheap     = model.OfferingKey{InstanceType: "c5.large", Zone: "us-west-2a"}
	FleetExpensive = model.OfferingKey{InstanceType: "m5.large", Zone: "us-west-2a"}
)

// Fleet is the contract of a fleet. start returns one without instances for each case.
func Fleet(t *testing.T, start func(t *testing.T) FleetPort) {
	for name, rule := range map[string]func(yard){
		"the same launch is the same bytes, in any process":           fleetRepeatsBytes,
		"a launch of nothing is Invalid":                              fleetRefusesNothing,
		"a launch gives as many as claims, tagged, from the cheapest": fleetGivesAndTags,
		"the same bytes again are the same machines":                  fleetRepeatsAnswers,
		"other bytes under the same token are Conflict":               fleetGuardsTokens,
		"machines and errors come together":                           fleetGivesParts,
		"where nothing is left there is no machine and no error":      fleetHasNoCapacity,
		"a broken offer names itself and leaves the others":           fleetPassesBroken,
		"a throttled call did nothing":                                fleetThrottles,
		"a launch template that is gone is Invalid, and made again":   fleetRemakesTemplates,
		"bytes that are no request are Invalid":                       fleetRefusesBytes,
		"find shows an intent's machines that live, after the lag":    fleetFinds,
		"templates are named, kept while they are needed, collected":  fleetCollects,
		"tags are added where they are missing":                       fleetTags,
		"reserved capacity is the reservation's, as far as it goes":   fleetReserves,
		"a machine of a partition group is in one":                    fleetPlaces,
	} {
		t.Run(name, func(t *testing.T) { rule(yard{start(t), t}) })
	}
}

type yard struct {
	FleetPort
	t *testing.T
}

func (b yard) request(launch model.Launch) []byte {
	b.t.Helper()
	request, err := b.PrepareRequest(b.t.Context(), launch)
	if err != nil {
		b.t.Fatal(err)
	}
	return request
}

func (b yard) launch(launch model.Launch) model.LaunchResult {
	b.t.Helper()
	result, err := b.Launch(b.t.Context(), b.request(launch))
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

func (b yard) want(kind fault.Kind, what string, err error) {
	b.t.Helper()
	if !fault.Is(err, kind) {
		b.t.Errorf("%s: %v, want %s", what, err, kind)
	}
}

func (b yard) find(intent string) []string {
	b.t.Helper()
	found, err := b.FindInstances(b.t.Context(), intent)
	if err != nil {
		b.t.Fatal(err)
	}
	return idsOf(found)
}

func idsOf(instances []model.Instance) []string {
	ids := []string{}
	for _, i := range instances {
		ids = append(ids, i.ID)
	}
	return ids
}

func fleetOffering(offering model.OfferingKey, capacityType string) model.OfferingKey {
	offering.CapacityType = capacityType
	return offering
}

func fleetRepeatsBytes(b yard) {
	first := b.request(b.Draft("01A", model.OnDemand, "default-1"))
	for _, again := range []FleetPort{b.FleetPort, b.Another()} {
		if got, err := again.PrepareRequest(b.t.Context(), b.Draft("01A", model.OnDemand, "default-1")); err != nil || !bytes.Equal(got, first) {
			b.t.Errorf("%v\n%s\n%s", err, first, got)
		}
	}
	if other := b.request(b.Draft("01B", model.OnDemand, "default-1")); bytes.Equal(other, first) {
		b.t.Error("two intents share their bytes")
	}
}

func fleetRefusesNothing(b yard) {
	_, err := b.PrepareRequest(b.t.Context(), b.Draft("01A", model.OnDemand))
	b.want(fault.Invalid, "no claim", err)
	launch := b.Draft("01A", model.OnDemand, "default-1")
	launch.Templates = nil
	_, err = b.PrepareRequest(b.t.Context(), launch)
	b.want(fault.Invalid, "no template", err)
}

func fleetGivesAndTags(b yard) {
	for _, capacityType := range []string{model.OnDemand, model.Spot} {
		launch := b.Draft("01-"+capacityType, capacityType, "default-1", "default-2", "default-3")
		result := b.launch(launch)
		if len(result.Instances) != 3 || len(result.Errors) != 0 || !slices.IsSorted(idsOf(result.Instances)) {
			b.t.Fatalf("%+v", result)
		}
		b.Pass(FleetVisibility)
		found, err := b.FindInstances(b.t.Context(), launch.Intent)
		if err != nil || len(found) != 3 {
			b.t.Fatalf("%+v %v", found, err)
		}
		for i, instance := range found {
			if got := (model.OfferingKey{InstanceType: instance.Type, Zone: instance.Zone, CapacityType: instance.CapacityType}); got != fleetOffering(FleetCheap, capacityType) {
				b.t.Errorf("bought %+v", got)
			}
			answered := result.Instances[i]
			if answered.ID != instance.ID || answered.Type != instance.Type || answered.Zone != instance.Zone || answered.CapacityType != instance.CapacityType ||
				answered.SubnetID != instance.SubnetID || answered.ImageID != instance.ImageID || instance.ImageID != launch.Templates[0].ImageID {
				b.t.Errorf("answered %+v, found %+v", answered, instance)
			}
			for key, value := range map[string]string{
				"kubernetes.io/cluster/web": "owned", "eks:eks-cluster-name": "web", model.LabelNodePool: launch.Pool,
				model.LabelNodeClass: "general", "joiner.sh/intent": launch.Intent, "team": "a",
			} {
				if instance.Tags[key] != value {
					b.t.Errorf("tag %s is %q, want %q", key, instance.Tags[key], value)
				}
			}
		}
	}
}

func fleetRepeatsAnswers(b yard) {
	request := b.request(b.Draft("01A", model.Spot, "default-1", "default-2"))
	first, err := b.Launch(b.t.Context(), request)
	if err != nil || len(first.Instances) != 2 {
		b.t.Fatalf("%+v %v", first, err)
	}
	for _, later := range []time.Duration{0, 10 * time.Minute} {
		b.Pass(later)
		again, err := b.Another().Launch(b.t.Context(), request)
		if err != nil || !reflect.DeepEqual(idsOf(again.Instances), idsOf(first.Instances)) {
			b.t.Errorf("after %v: %v, %v; at first %v", later, idsOf(again.Instances), err, idsOf(first.Instances))
		}
	}
	if found := b.find("01A"); len(found) != 2 {
		b.t.Errorf("%d machines run", len(found))
	}
}

func fleetGuardsTokens(b yard) {
	b.launch(b.Draft("01A", model.OnDemand, "default-1"))
	other := b.Draft("01A", model.OnDemand, "default-1", "default-2")
	_, err := b.Launch(b.t.Context(), b.request(other))
	if !fault.Is(err, fault.Conflict) || fault.CodeOf(err) != "IdempotentParameterMismatch" {
		b.t.Errorf("%v, want Conflict", err)
	}
	b.Pass(FleetVisibility)
	if found := b.find("01A"); len(found) != 1 {
		b.t.Errorf("%d machines run", len(found))
	}
}

func fleetGivesParts(b yard) {
	b.Stock(fleetOffering(FleetCheap, model.OnDemand), 2)
	b.Stock(fleetOffering(FleetExpensive, model.OnDemand), 1)
	request := b.request(b.Draft("01A", model.OnDemand, "a", "b", "c", "d", "e"))
	result, err := b.Launch(b.t.Context(), request)
	if err != nil || len(result.Instances) != 3 {
		b.t.Fatalf("%d machines, %v", len(result.Instances), err)
	}
	b.wantErrors(result, "InsufficientInstanceCapacity", fleetOffering(FleetCheap, model.OnDemand), fleetOffering(FleetExpensive, model.OnDemand))
	b.Stock(fleetOffering(FleetCheap, model.OnDemand), 10)
	if again, err := b.Launch(b.t.Context(), request); err != nil || !reflect.DeepEqual(idsOf(again.Instances), idsOf(result.Instances)) || len(again.Errors) != len(result.Errors) {
		b.t.Errorf("the same bytes again: %+v, %v", again, err)
	}
}

// wantErrors checks that each of the offerings, and no other, gave the code.
func (b yard) wantErrors(result model.LaunchResult, code string, offerings ...model.OfferingKey) {
	b.t.Helper()
	for _, e := range result.Errors {
		if e.Code != code || !slices.Contains(offerings, e.Offering) || e.SubnetID == "" {
			b.t.Errorf("error %+v", e)
		}
	}
	for _, offering := range offerings {
		if !slices.ContainsFunc(result.Errors, func(e model.LaunchError) bool { return e.Offering == offering }) {
			b.t.Errorf("no error names %+v: %+v", offering, result.Errors)
		}
	}
}

func fleetHasNoCapacity(b yard) {
	b.Stock(fleetOffering(FleetCheap, model.Spot), 0)
	b.Stock(fleetOffering(FleetExpensive, model.Spot), 0)
	result := b.launch(b.Draft("01A", model.Spot, "a", "b"))
	if len(result.Instances) != 0 {
		b.t.Errorf("%+v", result)
	}
	b.wantErrors(result, "InsufficientInstanceCapacity", fleetOffering(FleetCheap, model.Spot), fleetOffering(FleetExpensive, model.Spot))
	if other := b.launch(b.Draft("01B", model.OnDemand, "a")); len(other.Instances) != 1 {
		b.t.Errorf("on demand: %+v", other)
	}
}

func fleetPassesBroken(b yard) {
	for i, code := range []string{"UnfulfillableCapacity", "InsufficientFreeAddressesInSubnet", "Unsupported", "VcpuLimitExceeded"} {
		b.Break(model.OfferingKey{InstanceType: FleetCheap.InstanceType}, code)
		result := b.launch(b.Draft(fmt.Sprint("01-", i), model.OnDemand, "a"))
		if len(result.Instances) != 1 || result.Instances[0].Type != FleetExpensive.InstanceType {
			b.t.Errorf("%s: %+v", code, result.Instances)
		}
		b.wantErrors(result, code, fleetOffering(FleetCheap, model.OnDemand))
	}
}

func fleetThrottles(b yard) {
	request := b.request(b.Draft("01A", model.OnDemand, "a"))
	b.Throttle("CreateFleet")
	_, err := b.Launch(b.t.Context(), request)
	b.want(fault.Throttled, "launch", err)
	b.Throttle("")
	if result, err := b.Launch(b.t.Context(), request); err != nil || len(result.Instances) != 1 {
		b.t.Errorf("the same bytes afterwards: %+v %v", result, err)
	}
	b.Pass(FleetVisibility)
	if found := b.find("01A"); len(found) != 1 {
		b.t.Errorf("%d machines run", len(found))
	}
}

func fleetRemakesTemplates(b yard) {
	launch := b.Draft("01A", model.OnDemand, "a")
	request := b.request(launch)
	b.ForgetTemplates()
	_, err := b.Launch(b.t.Context(), request)
	if !fault.Is(err, fault.Invalid) || fault.CodeOf(err) != "InvalidLaunchTemplateName.NotFoundException" {
		b.t.Errorf("%v, want Invalid", err)
	}
	if again := b.request(launch); !bytes.Equal(again, request) {
		b.t.Errorf("other bytes\n%s\n%s", request, again)
	}
	// Whether the token of what was refused is used up is read in two ways; another launch from the template is made.
	if result, err := b.Launch(b.t.Context(), b.request(b.Draft("01B", model.OnDemand, "b"))); err != nil || len(result.Instances) != 1 {
		b.t.Errorf("%+v %v", result, err)
	}
}

func fleetRefusesBytes(b yard) {
	for _, text := range []string{"", "{", "null and void"} {
		_, err := b.Launch(b.t.Context(), []byte(text))
		b.want(fault.Invalid, fmt.Sprintf("%q", text), err)
	}
}

func fleetFinds(b yard) {
	result := b.launch(b.Draft("01A", model.OnDemand, "a", "b"))
	b.launch(b.Draft("01B", model.OnDemand, "a"))
	if found := b.find("01A"); len(found) != 0 {
		b.t.Errorf("within the lag: %v", found)
	}
	b.Pass(FleetVisibility)
	if found := b.find("01A"); !reflect.DeepEqual(found, idsOf(result.Instances)) {
		b.t.Errorf("found %v, launched %v", found, idsOf(result.Instances))
	}
	if found := b.find("01C"); len(found) != 0 {
		b.t.Errorf("of an intent that never was: %v", found)
	}
	b.End(result.Instances[0].ID)
	if found := b.find("01A"); !reflect.DeepEqual(found, idsOf(result.Instances[1:])) {
		b.t.Errorf("found %v once the first was told to end", found)
	}
}
