package ec2fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// drafted returns the template data of a launch of a class with one security group.
func drafted(t *testing.T, change func(*model.Launch, *model.LaunchTemplate)) *types.RequestLaunchTemplateData {
	t.Helper()
	data, err := draftData("us-west-2", change)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func draftData(region string, change func(*model.Launch, *model.LaunchTemplate)) (*types.RequestLaunchTemplateData, error) {
	launch := model.Launch{
		Cluster: "web", Pool: "default", CapacityType: model.OnDemand, Class: model.Class{Name: "general", Family: "AL2023", Status: model.ClassStatus{
			InstanceProfile: "nodes", SecurityGroups: []model.SecurityGroup{{ID: "sg-1"}, {ID: "sg-2"}},
		}},
	}
	template := model.LaunchTemplate{ImageID: "ami-1"}
	if change != nil {
		change(&launch, &template)
	}
	return templateData(region, launch, template)
}

// interfacesText writes interfaces as card.device type groups, with what concerns their addresses.
func interfacesText(data *types.RequestLaunchTemplateData) string {
	var out []string
	for _, n := range data.NetworkInterfaces {
		text := fmt.Sprintf("%d.%d %s %s", aws.ToInt32(n.NetworkCardIndex), aws.ToInt32(n.DeviceIndex), aws.ToString(n.InterfaceType), strings.Join(n.Groups, "+"))
		for name, count := range map[string]*int32{"v4prefixes": n.Ipv4PrefixCount, "v6prefixes": n.Ipv6PrefixCount} {
			if count != nil {
				text += fmt.Sprintf(" %s=%d", name, *count)
			}
		}
		if n.PrimaryIpv6 != nil {
			text += fmt.Sprintf(" v6=%d", aws.ToInt32(n.Ipv6AddressCount))
		}
		if n.AssociatePublicIpAddress != nil {
			text += fmt.Sprintf(" public=%v", *n.AssociatePublicIpAddress)
		}
		if c := n.ConnectionTrackingSpecification; c != nil {
			text += fmt.Sprintf(" tracking=%d/%d/%d", aws.ToInt32(c.TcpEstablishedTimeout), aws.ToInt32(c.UdpStreamTimeout), aws.ToInt32(c.UdpTimeout))
		}
		out = append(out, strings.TrimSpace(text))
	}
	return strings.Join(out, ", ")
}

func TestLA15NetworkInterfacesAreTheClasssOrOneEFAForEachCardOrOne(t *testing.T) {
	own := []model.NetworkInterface{{Type: "interface"}, {Card: 0, Device: 1, Type: "efa-only"}, {Card: 1, Device: 1, Type: "efa-only"}}
	tests := []struct {
		name   string
		change func(*model.Launch, *model.LaunchTemplate)
		want   string
	}{
		{"nothing asked for", nil, "0.0  sg-1+sg-2"},
		{"EFA of four cards", func(_ *model.Launch, t *model.LaunchTemplate) { t.EFA = 4 }, "0.0 efa sg-1+sg-2, 1.1 efa sg-1+sg-2, 2.1 efa sg-1+sg-2, 3.1 efa sg-1+sg-2"},
		{"the class's own win over EFA", func(l *model.Launch, t *model.LaunchTemplate) { l.Class.NetworkInterfaces, t.EFA = own, 4 },
			"0.0 interface sg-1+sg-2, 0.1 efa-only sg-1+sg-2, 1.1 efa-only sg-1+sg-2"},
		{"addresses are of interfaces that have any", func(l *model.Launch, _ *model.LaunchTemplate) {
			l.Class.NetworkInterfaces, l.Class.IPPrefixCount = own, aws.Int64(2)
			l.Class.AssociatePublicIPAddress = aws.Bool(false)
			l.Class.ConnectionTracking = &model.ConnectionTracking{TCPEstablishedSeconds: 600, UDPSeconds: 40}
		}, "0.0 interface sg-1+sg-2 v4prefixes=2 public=false tracking=600/0/40, 0.1 efa-only sg-1+sg-2, 1.1 efa-only sg-1+sg-2"},
		{"IPv6", func(l *model.Launch, _ *model.LaunchTemplate) { l.IPv6 = true }, "0.0  sg-1+sg-2 v6=1"},
		{"IPv6 prefixes", func(l *model.Launch, _ *model.LaunchTemplate) { l.IPv6, l.Class.IPPrefixCount = true, aws.Int64(1) }, "0.0  sg-1+sg-2 v6prefixes=1 v6=1"},
		{"a public address", func(l *model.Launch, _ *model.LaunchTemplate) { l.Class.AssociatePublicIPAddress = aws.Bool(true) }, "0.0  sg-1+sg-2 public=true"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := drafted(t, test.change)
			if got := interfacesText(data); got != test.want {
				t.Errorf("interfaces\n%s, want\n%s", got, test.want)
			}
			if len(data.SecurityGroupIds)+len(data.SecurityGroups) > 0 {
				t.Error("security groups beside interfaces: EC2 refuses that")
			}
		})
	}
}

// Upstream lets EC2 refuse it at each launch.
func TestPublicAddressOfSeveralInterfacesIsRefusedWithItsField(t *testing.T) {
	_, err := draftData("us-west-2", func(l *model.Launch, t *model.LaunchTemplate) {
		l.Class.AssociatePublicIPAddress, t.EFA = aws.Bool(true), 2
	})
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "EC2NodeClass general: spec.associatePublicIPAddress: true") {
		t.Errorf("%v", err)
	}
}

func TestLA16TenancyEnclavesPlacementAndProcessorAreThereOnlyWhereAskedFor(t *testing.T) {
	plain := drafted(t, nil)
	if plain.Placement != nil || plain.EnclaveOptions != nil || plain.CpuOptions != nil {
		t.Errorf("nothing asked for: %+v %+v %+v", plain.Placement, plain.EnclaveOptions, plain.CpuOptions)
	}
	all := drafted(t, func(l *model.Launch, t *model.LaunchTemplate) {
		t.Dedicated, t.Enclaves, t.Partition = true, true, 10
		l.Class.NestedVirtualization, l.Class.DetailedMonitoring = "enabled", true
		l.Class.Status.PlacementGroup = &model.PlacementGroup{ID: "pg-1", Strategy: "partition", Partitions: 12}
	})
	if p := all.Placement; p.Tenancy != types.TenancyDedicated || aws.ToString(p.GroupId) != "pg-1" || aws.ToInt32(p.PartitionNumber) != 10 {
		t.Errorf("placement %+v", p)
	}
	if !aws.ToBool(all.EnclaveOptions.Enabled) || all.CpuOptions.NestedVirtualization != types.NestedVirtualizationSpecificationEnabled || !aws.ToBool(all.Monitoring.Enabled) {
		t.Errorf("%+v %+v %+v", all.EnclaveOptions, all.CpuOptions, all.Monitoring)
	}
	group := drafted(t, func(l *model.Launch, _ *model.LaunchTemplate) {
		l.Class.Status.PlacementGroup = &model.PlacementGroup{ID: "pg-1"}
	})
	if p := group.Placement; p.Tenancy != "" || p.PartitionNumber != nil {
		t.Errorf("EC2 chooses the partition: %+v", p)
	}
}

func TestLA17InstancesTakeNoReservationButTheirOwn(t *testing.T) {
	tests := []struct {
		name       string
		template   model.LaunchTemplate
		capacity   string
		preference types.CapacityReservationPreference
		market     types.MarketType
	}{
		{"on demand", model.LaunchTemplate{}, model.OnDemand, "none", ""},
		{"spot", model.LaunchTemplate{}, model.Spot, "none", ""},
		{"plain", model.LaunchTemplate{Reservation: "cr-1"}, model.Reserved, "capacity-reservations-only", ""},
		{"block", model.LaunchTemplate{Reservation: "cr-1", Block: true}, model.Reserved, "capacity-reservations-only", "capacity-block"},
		{"interruptible", model.LaunchTemplate{Reservation: "cr-1", Interruptible: true}, model.Reserved, "capacity-reservations-only", "interruptible-capacity-reservation"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := drafted(t, func(l *model.Launch, template *model.LaunchTemplate) {
				l.CapacityType, *template = test.capacity, test.template
			})
			spec := data.CapacityReservationSpecification
			target := ""
			if spec.CapacityReservationTarget != nil {
				target = aws.ToString(spec.CapacityReservationTarget.CapacityReservationId)
			}
			if spec.CapacityReservationPreference != test.preference || target != test.template.Reservation {
				t.Errorf("reservation %+v of %q", spec, target)
			}
			market := types.MarketType("")
			if data.InstanceMarketOptions != nil {
				market = data.InstanceMarketOptions.MarketType
			}
			if market != test.market {
				t.Errorf("market %q, want %q", market, test.market)
			}
		})
	}
}

// What EC2 of an isolated region does not know is left out of the template, and the class stays as it is (so that its
// hash does).
func TestMetadataOptionsOfIsolatedRegions(t *testing.T) {
	options := model.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPPutResponseHopLimit: 1, HTTPTokens: "required"}
	for region, want := range map[string]types.LaunchTemplateInstanceMetadataProtocolIpv6{
		"us-west-2": "disabled", "us-iso-east-1": "", "us-isob-east-1": "", "us-isof-south-1": "", "us-gov-west-1": "disabled",
	} {
		var class *model.Class
		data, err := draftData(region, func(l *model.Launch, _ *model.LaunchTemplate) { l.Class.Metadata, class = options, &l.Class })
		if err != nil || data.MetadataOptions.HttpProtocolIpv6 != want || data.MetadataOptions.InstanceMetadataTags != "disabled" || class.Metadata != options {
			t.Errorf("%s: %+v, %v; class %+v", region, data.MetadataOptions, err, class.Metadata)
		}
	}
}

func TestTemplateTagsOfInterfacesAndSpotRequests(t *testing.T) {
	for capacityType, want := range map[string]string{model.OnDemand: "network-interface", model.Spot: "network-interface spot-instances-request"} {
		data := drafted(t, func(l *model.Launch, _ *model.LaunchTemplate) {
			l.CapacityType, l.Intent, l.Claims = capacityType, "01A", []string{"default-1"}
		})
		var resources []string
		for _, s := range data.TagSpecifications {
			resources = append(resources, string(s.ResourceType))
			for _, tag := range s.Tags {
				if key := aws.ToString(tag.Key); key == TagIntent || key == "karpenter.sh/nodeclaim" {
					t.Errorf("tag %s would make a template for each launch", key)
				}
			}
		}
		if got := strings.Join(resources, " "); got != want {
			t.Errorf("%s: %s, want %s", capacityType, got, want)
		}
	}
}

func TestLA08TemplatesAreNamedByWhatTheySay(t *testing.T) {
	r := start(t)
	names := func(change func(*model.Launch)) string {
		launch := r.launch(t, "01A", model.OnDemand, "default-1")
		if change != nil {
			change(&launch)
		}
		named, err := r.fleet.Named(r.request(t, launch))
		if err != nil || len(named) != 1 {
			t.Fatalf("%v %v", named, err)
		}
		return named[0]
	}
	first := names(nil)
	if again := names(func(l *model.Launch) { l.Intent, l.Token, l.Claims = "01B", "token-01B", []string{"default-2"} }); again != first {
		t.Errorf("another launch of the same machines has template %s, the first %s", again, first)
	}
	if n := len(r.templates(t)); n != 1 {
		t.Errorf("%d templates were made, want 1", n)
	}
	seen := map[string]string{first: "the first"}
	for what, change := range map[string]func(*model.Launch){
		"other max pods in the user data": func(l *model.Launch) { l.Templates[0].UserData = []byte("max-pods 20") },
		"dedicated":                       func(l *model.Launch) { l.Templates[0].Dedicated = true },
		"EFA":                             func(l *model.Launch) { l.Templates[0].EFA = 2 },
		"another class":                   func(l *model.Launch) { l.Class.Name = "other" },
		"monitoring":                      func(l *model.Launch) { l.Class.DetailedMonitoring = true },
	} {
		name := names(change)
		if other, taken := seen[name]; taken {
			t.Errorf("%s has the template of %s", what, other)
		}
		seen[name] = what
	}
}

func (r *region) templates(t *testing.T) []string {
	t.Helper()
	out, err := r.fleet.client.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, template := range out.LaunchTemplates {
		names = append(names, aws.ToString(template.LaunchTemplateName))
	}
	return names
}

func TestLA09OldTemplatesGoUnlessTheyAreUsed(t *testing.T) {
	r := start(t)
	named := func(userData string, class string) string {
		launch := r.launch(t, "01A", model.OnDemand, "default-1")
		launch.Templates[0].UserData, launch.Class.Name = []byte(userData), class
		names, err := r.fleet.Named(r.request(t, launch))
		if err != nil {
			t.Fatal(err)
		}
		return names[0]
	}
	oldest, used := named("oldest", "a"), named("used", "a")
	r.clock.Advance(time.Minute)
	old := named("old", "b")
	r.clock.Advance(2 * time.Hour)
	young := named("young", "b")
	if _, err := r.fleet.client.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("by-hand"), LaunchTemplateData: &types.RequestLaunchTemplateData{ImageId: aws.String("ami-1")},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: sdkTags(map[string]string{"kubernetes.io/cluster/web": "owned"})}},
	}); err != nil {
		t.Fatal(err)
	}
	before := r.clock.Now().Add(-time.Hour).Unix()
	want := func(left int, err error, wantLeft int, names ...string) {
		t.Helper()
		if have := strings.Join(sorted(r.templates(t)), " "); err != nil || left != wantLeft || have != strings.Join(sorted(append(names, "by-hand")), " ") {
			t.Errorf("%d left, %v, templates %s, want %d and %v", left, err, have, wantLeft, names)
		}
	}
	left, err := r.fleet.Collect(t.Context(), "other", nil, before, 10)
	want(left, err, 0, oldest, used, old, young)
	left, err = r.fleet.Collect(t.Context(), "web", []string{used}, before, 1)
	want(left, err, 1, used, old, young)
	left, err = r.fleet.Collect(t.Context(), "web", []string{used}, before, 10)
	want(left, err, 0, used, young)
	// What was collected is made again by whoever needs it.
	if again := named("old", "b"); again != old {
		t.Errorf("%s, then %s", old, again)
	}
	err = r.fleet.DeleteTemplates(t.Context(), "web", "b")
	want(0, err, 0, used)
}

func sorted(names []string) []string { return distinct(names) }

// A process that has not used a template for a while makes sure of it again: another may have collected it.
func TestLA10TemplateNotUsedForAWhileIsMadeSureOf(t *testing.T) {
	r := start(t)
	now := time.Unix(0, 0)
	r.fleet.now = func() time.Time { return now }
	r.request(t, r.launch(t, "01A", model.OnDemand, "x"))
	collected := func() {
		if _, err := New(r.fleet.client).Collect(t.Context(), "web", nil, r.clock.Now().Add(time.Hour).Unix(), 10); err != nil || len(r.templates(t)) != 0 {
			t.Fatalf("%v %v", r.templates(t), err)
		}
	}
	collected()
	for range 3 { // used all the time
		now = now.Add(trusted - time.Minute)
		r.request(t, r.launch(t, "01A", model.OnDemand, "x"))
	}
	if len(r.templates(t)) != 0 {
		t.Error("a template in use was made sure of")
	}
	now = now.Add(trusted)
	r.request(t, r.launch(t, "01A", model.OnDemand, "x"))
	if len(r.templates(t)) != 1 {
		t.Error("the template was not made again")
	}
}

func TestCT02TagsAreAddedOnlyWhereTheyAreMissing(t *testing.T) {
	r := start(t)
	id := r.launched(t, "01A", 1)[0]
	tags := map[string]string{"Name": "ip-10-0-0-1.internal", "karpenter.sh/nodeclaim": "other", "eks:eks-cluster-name": "web"}
	added, err := r.fleet.Tag(t.Context(), id, tags)
	if err != nil || !added {
		t.Fatalf("%v %v", added, err)
	}
	instance, _ := r.Lookup(id)
	if instance.Tags["Name"] != "ip-10-0-0-1.internal" || instance.Tags["karpenter.sh/nodeclaim"] != "a" {
		t.Errorf("tags %v: what was there must stay", instance.Tags)
	}
	r.clock.Advance(6 * time.Second)
	if added, err = r.fleet.Tag(t.Context(), id, tags); err != nil || added {
		t.Errorf("again: %v %v", added, err)
	}
	if _, err := r.fleet.Tag(t.Context(), "i-0123456789abcdef0", tags); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such instance: %v", err)
	}
}
