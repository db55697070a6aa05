package conform_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	"github.com/joiner-sh/joiner/testenv/local/cloud/pricing"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/sim/world"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// What the functions do on an account, with the adapters they have: each case is a cluster of its own in a table, a bucket
// and queues of its own.
func TestFunctions(t *testing.T) {
	timing := ec2.Timing{
		Boot: ec2.Delay{Min: 100 * time.Millisecond, Max: 300 * time.Millisecond}, Shutdown: ec2.Delay{Min: 100 * time.Millisecond, Max: 300 * time.Millisecond},
		Visibility: 100 * time.Millisecond, Gone: time.Hour,
	}
	// A single pass is told to do all; what comes late is for the next one.
	instances := ec2.New(ec2.Options{Clock: clock.System(), Timing: &timing, Readings: reading.Strict(reading.Delays()...)})
	services := conform.Services{
		"ec2": ec2.NewHandler(instances), "iam": iam.NewHandler(instances), "ssm": ssm.NewHandler(ssm.New(ssm.Options{})),
		"pricing": pricing.NewHandler(pricing.New(pricing.Options{})), "dynamodb": dynamodb.NewHandler(dynamodb.NewModel(dynamodb.Options{})),
	}
	conform.Each(t, services, func(t *testing.T, target conform.Target) {
		on := func(rule func(*account)) func(conform.T) {
			return func(t conform.T) { rule(newAccount(t, target)) }
		}
		target.Run(t, "functions", []conform.Case{
			{Name: "a pass makes a profile, tries the class and finds it ready", Run: on(functionsResolve)},
			{Name: "a class that selects nothing says which selector", Run: on(functionsFindNothing)},
			{Name: "a deleted class takes its profile and templates along", Run: on(functionsEndClass)},
			{Name: "the region pass keeps types and prices in the bucket", Run: on(functionsKeepInstances)},
			{Name: "the price list is read", Run: on(functionsReadPriceList)},
			{Name: "pods that wait get machines, once", Run: on(functionsLaunch)},
			{Name: "spot machines are bought and known as such", Run: on(functionsLaunchSpot)},
			{Name: "machines get the instance profile of their class", Run: on(functionsGiveProfile)},
			{Name: "machines get the security groups of their class", Run: on(functionsGiveGroups)},
			{Name: "provisioning reads what it needs where no other function ran", Run: on(functionsLaunchAlone)},
			{Name: "the collector ends a machine nobody recorded and leaves the others", Run: on(functionsCollect)},
			{Name: "a machine that was ended takes its claim along", Run: on(functionsCloseClaims)},
		})
	})
}

// functionsResolve: a tick becomes a hint in the catalog's queue, the hint a pass, the pass a ready class and a hint in
// the plan queue.
func functionsResolve(a *account) {
	a.addClass(nil)
	if out := a.resolve(); out.Resolved != 1 || out.Tried != 1 || len(out.NotReady) != 0 {
		a.t.Errorf("the pass: %+v", out)
	}
	ledger := a.load()
	if len(ledger.Classes) != 1 {
		a.t.Fatalf("class records: %+v", ledger.Classes)
	}
	status := ledger.Classes[0].Status
	if len(status.Problems) != 0 || status.ResolvedUnix == 0 || len(status.Images) != 1 || len(status.SecurityGroups) != 1 {
		a.t.Errorf("status %+v", status)
	}
	var subnets []string
	for _, s := range status.Subnets {
		subnets = append(subnets, s.ID)
		if s.Zone == "" || s.ZoneID == "" || s.FreeAddresses <= 0 {
			a.t.Errorf("subnet %+v", s)
		}
	}
	if slices.Sort(subnets); !slices.Equal(subnets, a.subnets) {
		a.t.Errorf("subnets %v, tagged are %v", subnets, a.subnets)
	}
	made, err := awsiam.NewFromConfig(a.config).GetInstanceProfile(a.t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: &status.InstanceProfile})
	if err != nil || len(made.InstanceProfile.Roles) != 1 || *made.InstanceProfile.Roles[0].RoleName != a.role {
		a.t.Errorf("instance profile %q: %+v, %v", status.InstanceProfile, made, err)
	}
	if instances := a.owned(); len(instances) != 0 {
		a.t.Errorf("a trial ran instances: %+v", instances)
	}
	if hint := a.receive(a.planURL); hint.Cluster != a.reg.Cluster || hint.Reason != wire.ReasonConfig {
		a.t.Errorf("the plan queue got %+v", hint)
	}
	// Another pass finds everything made, and nothing to say.
	if out := a.resolve(); out.Resolved+out.Tried != 0 {
		a.t.Errorf("a second pass at once: %+v", out)
	}
}

func functionsFindNothing(a *account) {
	absent := []model.SelectorTerm{{Tags: map[string]string{a.tagKey: conform.Unique("absent")}}}
	a.addClass(func(class *model.Class) {
		class.Subnets, class.SecurityGroups, class.Role = absent, absent, conform.Unique("absent")
	})
	out := a.resolve()
	if !slices.Equal(out.NotReady, []string{"default"}) || out.Tried != 0 {
		a.t.Errorf("the pass: %+v", out)
	}
	var reasons []string
	for _, p := range a.load().Classes[0].Status.Problems {
		reasons = append(reasons, p.Reason)
	}
	for _, want := range []string{"SubnetsNotFound", "SecurityGroupsNotFound", "RoleNotFound", "DependenciesNotReady"} {
		if !slices.Contains(reasons, want) {
			a.t.Errorf("reasons %v, without %s", reasons, want)
		}
	}
}

func functionsEndClass(a *account) {
	a.addClass(nil)
	a.resolve()
	profile := a.load().Classes[0].Status.InstanceProfile
	if len(a.templates()) == 0 {
		a.t.Errorf("the trial left no launch template")
	}
	a.settings.EndAfter = time.Second
	a.cluster.DeleteClass("default")
	time.Sleep(2 * time.Second)
	if out := a.resolve(); !slices.Equal(out.Ended, []string{"default"}) {
		a.t.Errorf("the pass: %+v", out)
	}
	if _, err := awsiam.NewFromConfig(a.config).GetInstanceProfile(a.t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: &profile}); err == nil {
		a.t.Errorf("instance profile %s is still there", profile)
	}
	if left := a.templates(); len(left) != 0 {
		a.t.Errorf("launch templates are left: %v", left)
	}
	if config, err := a.cluster.Configuration(a.t.Context()); err != nil || len(config.Classes) != 0 || len(a.load().Classes) != 0 {
		a.t.Errorf("left: %+v, %v", config.Classes, err)
	}
}

func functionsKeepInstances(a *account) {
	catalog, _ := a.keepInstances()
	at, found := slices.BinarySearchFunc(catalog.Types, "m5.large", byName)
	if !found || len(catalog.Types) < 100 {
		a.t.Fatalf("%d types, m5.large among them: %v", len(catalog.Types), found)
	}
	zones := map[string]bool{}
	for _, o := range catalog.Types[at].Offerings {
		if !o.Available || o.Price <= 0 {
			a.t.Errorf("offer %+v of m5.large", o)
		}
		zones[o.Zone+" "+o.CapacityType] = true
	}
	if len(zones) < 4 || catalog.SpotUnix == 0 {
		a.t.Errorf("m5.large is offered in %v, spot prices of %d", zones, catalog.SpotUnix)
	}
	// The next tick reads nothing and replaces nothing.
	if again, out := a.keepInstances(); len(out.Refreshed) != 0 && !slices.Equal(out.Refreshed, []string{"prices"}) || again.Version != catalog.Version {
		a.t.Errorf("a second pass: %+v", out)
	}
}

func functionsReadPriceList(a *account) {
	catalog, out := a.keepInstances()
	if catalog.PriceUnix == 0 || !slices.Contains(out.Refreshed, "prices") {
		a.t.Errorf("no prices were read: %+v", out)
	}
}

func functionsLaunch(a *account) {
	a.addClass(nil)
	a.keepInstances()
	a.resolve()
	a.launch(model.OnDemand)
}

func functionsGiveProfile(a *account) {
	a.addClass(nil)
	a.resolve()
	a.launch(model.OnDemand)
	for _, i := range a.owned() {
		if i.Profile != a.profile() {
			a.t.Errorf("instance %s has profile %q, its class %q", i.ID, i.Profile, a.profile())
		}
	}
}

func functionsGiveGroups(a *account) {
	a.addClass(nil)
	a.resolve()
	a.launch(model.OnDemand)
	for _, i := range a.owned() {
		if !slices.Equal(i.SecurityGroups, []string{a.group}) {
			a.t.Errorf("instance %s has security groups %v, its class %s", i.ID, i.SecurityGroups, a.group)
		}
	}
}

func functionsLaunchSpot(a *account) {
	a.addClass(nil)
	a.keepInstances()
	a.resolve()
	a.launch(model.Spot)
}

func functionsLaunchAlone(a *account) {
	a.addClass(func(class *model.Class) { class.Role, class.InstanceProfile = "", a.newProfile() })
	a.launch(model.OnDemand)
}

func functionsCollect(a *account) {
	a.addClass(func(class *model.Class) { class.Role, class.InstanceProfile = "", a.newProfile() })
	a.launch(model.OnDemand)
	orphan := a.runOrphan()
	first := a.collect()
	if first.Waiting != 1 || len(first.Terminated) != 0 || first.Findings["Orphan"] != 1 {
		a.t.Errorf("the first look: %+v", first)
	}
	var ended []string
	a.until("the orphan is told to end", func() bool {
		ended = append(ended, a.collect().Terminated...)
		return len(ended) > 0
	})
	if !slices.Equal(ended, []string{orphan}) {
		a.t.Errorf("%v were told to end, want %s", ended, orphan)
	}
	a.until("the orphan ends", func() bool { return over(a.instance(orphan)) })
	for _, claim := range a.load().Claims {
		if over(a.instance(claim.InstanceID)) || claim.State != model.Launched {
			a.t.Errorf("claim %s is %s and its instance %+v", claim.Name, claim.State, a.instance(claim.InstanceID))
		}
	}
}

func functionsCloseClaims(a *account) {
	a.addClass(func(class *model.Class) { class.Role, class.InstanceProfile = "", a.newProfile() })
	a.launch(model.OnDemand)
	claims := a.load().Claims
	lost := claims[0]
	if _, err := awsec2.NewFromConfig(a.config).TerminateInstances(a.t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: []string{lost.InstanceID}}); err != nil {
		a.t.Fatalf("terminate: %v", err)
	}
	a.until("the claim is closed", func() bool {
		a.collect()
		return slices.ContainsFunc(a.load().Ended, func(c model.Claim) bool { return c.Name == lost.Name })
	})
	live := 0
	for _, claim := range a.load().Claims {
		if claim.Live() {
			live++
		}
	}
	if live != len(claims)-1 {
		a.t.Errorf("%d claims live, want all but one of %d", live, len(claims))
	}
	if usage := a.load().Usage; len(usage) != 1 || usage[0].Reserved[model.Nodes] != int64(live) {
		a.t.Errorf("the pool holds %+v, want %d nodes", usage, live)
	}
}

// launch has the plan function launch for pods that wait, and checks that ledger, EC2, API server and bucket agree; a
// second run finds nothing to do.
func (a *account) launch(capacityType string) {
	a.t.Helper()
	a.cluster.AddPool(world.Pool("default", "default", world.Need(model.LabelCapacityType, capacityType), world.Need("node.kubernetes.io/instance-type", "m5.large", "c5.large")))
	shape := world.Shape(1500, 1<<30) // one to an instance
	a.cluster.AddPods("web", 3, shape)
	a.scheduler.Schedule()
	out := a.provision()
	if out.Claims != 3 || out.Failed != 0 || out.Unschedulable != 0 || out.Source != "list" {
		a.t.Fatalf("the run: %+v", out)
	}
	ledger := a.load()
	if len(ledger.Claims) != 3 || len(ledger.Intents) != 0 || len(ledger.Usage) != 1 || ledger.Usage[0].Reserved[model.Nodes] != 3 {
		a.t.Fatalf("the ledger: %d claims, open intents %+v, usage %+v", len(ledger.Claims), ledger.Intents, ledger.Usage)
	}
	objects, err := a.cluster.ReadLive(a.t.Context())
	if err != nil || len(objects.Objects) != 3 {
		a.t.Errorf("NodeClaim objects %+v, %v", objects.Objects, err)
	}
	for _, claim := range ledger.Claims {
		a.until("EC2 shows "+claim.InstanceID, func() bool { return a.instance(claim.InstanceID).ID != "" })
		i := a.instance(claim.InstanceID)
		if claim.State != model.Launched || claim.CapacityType != capacityType || i.CapacityType != capacityType || i.Type != claim.InstanceType ||
			i.Zone != claim.Zone || i.SubnetID != claim.SubnetID || i.ImageID != claim.ImageID || claim.Price <= 0 || claim.ZoneID == "" {
			a.t.Errorf("claim %+v\nruns as %+v", claim, i)
		}
		if i.Tags[ec2fleet.TagIntent] != claim.Intent || i.Tags[model.LabelNodePool] != "default" || i.Tags["kubernetes.io/cluster/"+a.reg.Cluster] != "owned" {
			a.t.Errorf("tags of %s: %v; its intent is %s", i.ID, i.Tags, claim.Intent)
		}
		if !slices.Contains(a.subnets, i.SubnetID) {
			a.t.Errorf("instance %s is in subnet %s, selected are %v", i.ID, i.SubnetID, a.subnets)
		}
	}
	a.checkTemplates()
	store := s3snapshot.New(a.objects(), a.bucket)
	if decision, err := store.Decision(a.t.Context(), a.reg.Cluster, s3snapshot.Day(time.Now().Unix()), out.Decision); err != nil || decision.ID != out.Decision {
		a.t.Errorf("decision %s: %+v, %v", out.Decision, decision, err)
	}
	if again := a.provision(); again.Claims != 0 || again.Nominated != 3 {
		a.t.Errorf("a second run: %+v", again)
	}
	if n := len(a.owned()); n != 3 {
		a.t.Errorf("%d instances are ours, want 3", n)
	}
}

// checkTemplates checks that the cluster's launch templates say what instances need in order to join it.
func (a *account) checkTemplates() {
	a.t.Helper()
	names := a.templates()
	if len(names) == 0 {
		a.t.Errorf("there is no launch template")
	}
	for _, name := range names {
		out, err := awsec2.NewFromConfig(a.config).DescribeLaunchTemplateVersions(a.t.Context(), &awsec2.DescribeLaunchTemplateVersionsInput{
			LaunchTemplateName: &name, Versions: []string{"$Latest"}})
		a.must(err)
		data := out.LaunchTemplateVersions[0].LaunchTemplateData
		text, err := base64.StdEncoding.DecodeString(aws.ToString(data.UserData))
		if err != nil || !strings.Contains(string(text), a.reg.Cluster) || !strings.Contains(string(text), a.reg.Endpoint) {
			a.t.Errorf("user data of %s: %q, %v", name, text, err)
		}
		for _, n := range data.NetworkInterfaces {
			data.SecurityGroupIds = append(data.SecurityGroupIds, n.Groups...)
		}
		if !slices.Equal(data.SecurityGroupIds, []string{a.group}) {
			a.t.Errorf("template %s has security groups %v, the class %s", name, data.SecurityGroupIds, a.group)
		}
		if aws.ToString(data.ImageId) != a.image || data.IamInstanceProfile == nil || aws.ToString(data.IamInstanceProfile.Name) != a.profile() {
			a.t.Errorf("template %s: %+v; want image %s and profile %s", name, data, a.image, a.profile())
		}
	}
}

// profile is the instance profile of the class, named by people or made by the catalog function.
func (a *account) profile() string {
	a.t.Helper()
	config, err := a.cluster.Configuration(a.t.Context())
	a.must(err)
	if named := config.Classes[0].Class.InstanceProfile; named != "" {
		return named
	}
	return a.load().Classes[0].Status.InstanceProfile
}

// runOrphan runs an instance with the tags of a launch that nobody recorded, and returns its id once EC2 shows it.
func (a *account) runOrphan() string {
	a.t.Helper()
	var tags []types.Tag
	for key, value := range map[string]string{"kubernetes.io/cluster/" + a.reg.Cluster: "owned", model.LabelNodePool: "default", ec2fleet.TagIntent: conform.Unique("nobody")} {
		tags = append(tags, types.Tag{Key: &key, Value: &value})
	}
	out, err := awsec2.NewFromConfig(a.config).RunInstances(a.t.Context(), &awsec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large", ImageId: &a.image, SubnetId: &a.subnets[0],
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: tags}},
	})
	if err != nil {
		a.t.Fatalf("run an orphan: %v", err)
	}
	id := aws.ToString(out.Instances[0].InstanceId)
	a.until("EC2 shows "+id, func() bool { return a.instance(id).ID != "" })
	return id
}

func over(i model.Instance) bool { return i.State == "shutting-down" || i.State == "terminated" }

func byName(m model.InstanceTypeInfo, name string) int { return strings.Compare(m.Name, name) }
