package proof_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/cmd/joiner/proof"
	"github.com/joiner-sh/joiner/cmd/joiner/proof/probes"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/test/proof/account"
)

const cluster = "shop"

// options are those of a run of id in an account that makes things.
func options(a *account.Account, id string) proof.Options {
	return proof.Options{Config: a.Config(), Clock: a.Clock, Yes: true, Source: "testenv", Run: id}
}

func run(t *testing.T, o proof.Options, list []proof.Probe) *proof.Report {
	t.Helper()
	r, err := proof.Run(t.Context(), o, list)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// named returns probes by id.
func named(t *testing.T, ids ...string) []proof.Probe {
	t.Helper()
	list, err := proof.Choose(probes.All(), ids, nil)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// verdicts are the results that are not of a verdict, as a text a line.
func others(r *proof.Report, v proof.Verdict) string {
	var out []string
	for _, x := range r.Results {
		if x.Verdict != v {
			out = append(out, fmt.Sprintf("%s %s: %v %s", x.Verdict, x.ID, x.Seen, x.Why))
		}
	}
	return strings.Join(out, "\n")
}

// nothingLeft fails where something is in the account that it did not begin with.
func nothingLeft(t *testing.T, a *account.Account) {
	t.Helper()
	left, err := a.Left(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, ", "))
	}
}

// unprobed are doubts that no probe is about, and why.
var unprobed = map[string]string{
	reading.EventResource: "nobody can order a spot interruption; the probe of its id asks the rest of the assumption",
	reading.ClusterLag:    "a cluster costs more than the ceiling allows for, and AWS documents that it is CREATING for minutes",
}

// met are probes of what an account has to have met, and the tests that have it meet that.
var met = map[string]string{"ec2-block-end": "TestABlockThatEndedIsLookedAt"}

// Under the readings that the models take by default every probe passes, and nothing is left.
func TestEveryProbePassesUnderTheReadingsThatAreSet(t *testing.T) {
	a := account.New(reading.Default())
	a.AddCluster(t.Context(), cluster)
	o := options(a, "r1")
	o.Cluster = cluster
	list, err := proof.Choose(probes.All(), nil, slices.Collect(maps.Keys(met)))
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, o, list)
	if bad := others(r, proof.Pass); bad != "" {
		t.Errorf("not passed:\n%s", bad)
	}
	if len(r.Results) < 60 || r.Count(proof.Pass) != len(r.Results) || len(r.Errors) > 0 || len(r.Left) > 0 {
		t.Errorf("%d of %d pass, errors %v, left %v", r.Count(proof.Pass), len(r.Results), r.Errors, r.Left)
	}
	if r.Spent > proof.DefaultCeiling/2 {
		t.Errorf("it cost $%.4f; the ceiling of $%.2f leaves no room for what is dearer than here", r.Spent, r.Ceiling)
	}
	nothingLeft(t, a)
}

// With one doubt switched its probe, and no other but those about the same doubt, says that it differs.
func TestEachSwitchedReadingIsNamed(t *testing.T) {
	// Probes that are about a doubt without having its id, or whose answer it shows in: of a fleet that is evaluated on itself alone nothing else
	// is asked.
	also := map[string][]string{reading.RunInstancesTags: {"ec2-run-instances-tags-of-machine"}, reading.CreateFleetResources: {reading.CreateFleetTemplateKeys, reading.FleetCreateTags}}
	for _, d := range reading.All() {
		if unprobed[d.ID] != "" {
			continue
		}
		t.Run(d.ID, func(t *testing.T) {
			a := account.New(reading.Default().With(d.ID))
			a.AddCluster(t.Context(), cluster)
			o := options(a, "r1")
			o.Cluster = cluster
			var ids []string
			for _, d := range reading.All() {
				if unprobed[d.ID] == "" {
					ids = append(append(ids, d.ID), also[d.ID]...)
				}
			}
			differ := map[string]bool{}
			r := run(t, o, named(t, ids...))
			for _, x := range r.Results {
				switch x.Verdict {
				case proof.Differs:
					differ[x.ID] = true
				case proof.Pass:
				default:
					t.Errorf("%s %s: %v %s", x.Verdict, x.ID, x.Seen, x.Why)
				}
			}
			want := append([]string{d.ID}, also[d.ID]...)
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(differ)); !slices.Equal(got, want) {
				t.Errorf("differ: %v, want %v", got, want)
			}
			nothingLeft(t, a)
		})
	}
}

// With every doubt switched all of their probes differ, and every other one passes.
func TestAllReadingsSwitchedAtOnce(t *testing.T) {
	a := account.New(reading.AllOther())
	a.AddCluster(t.Context(), cluster)
	o := options(a, "r1")
	o.Cluster = cluster
	r := run(t, o, probes.All())
	doubts := map[string]bool{"ec2-run-instances-tags-of-machine": true}
	for _, d := range reading.All() {
		doubts[d.ID] = unprobed[d.ID] == ""
	}
	for _, x := range r.Results {
		want := proof.Pass
		switch {
		case doubts[x.ID]:
			want = proof.Differs
		case met[x.ID] != "":
			want = proof.Unknown
		}
		if x.Verdict != want {
			t.Errorf("%s is %s, want %s: %v %s", x.ID, x.Verdict, want, x.Seen, x.Why)
		}
	}
	nothingLeft(t, a)
}

// Every doubt has a probe of its id with two readings, or a reason.
func TestEveryDoubtHasAProbe(t *testing.T) {
	byID := map[string]proof.Probe{}
	for _, p := range probes.All() {
		if _, twice := byID[p.ID]; twice {
			t.Errorf("two probes are called %s", p.ID)
		}
		byID[p.ID] = p
	}
	for _, d := range reading.All() {
		p, ok := byID[d.ID]
		switch {
		case unprobed[d.ID] != "":
			if ok && len(p.Readings) > 1 {
				t.Errorf("%s has a probe, and a reason to have none", d.ID)
			}
		case !ok:
			t.Errorf("doubt %s has no probe", d.ID)
		case len(p.Readings) != 2:
			t.Errorf("probe %s has %d readings", d.ID, len(p.Readings))
		}
	}
}

// Without --yes nothing is made, whatever is asked for.
func TestWithoutYesNothingIsMade(t *testing.T) {
	a := account.New(reading.Default())
	var record bytes.Buffer
	o := options(a, "r1")
	o.Yes, o.Record = false, &record
	r := run(t, o, probes.All())
	tried := 0
	for i, p := range probes.All() {
		x := r.Results[i]
		switch {
		case p.Kind != proof.KindDryRuns && (x.Verdict != proof.Skipped || !strings.Contains(x.Why, "--yes")):
			t.Errorf("%s makes things, and is %s: %s", p.ID, x.Verdict, x.Why)
		case p.Kind == proof.KindDryRuns && x.Verdict != proof.Pass && !p.Needs.Cluster && met[p.ID] == "":
			t.Errorf("%s is %s: %v %s", p.ID, x.Verdict, x.Seen, x.Why)
		case p.Kind == proof.KindDryRuns && x.Verdict == proof.Pass:
			tried++
		}
	}
	if tried < 20 {
		t.Errorf("only %d dry probes passed", tried)
	}
	read, err := proof.ReadRecording(&record)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range read.Exchanges {
		if makes(x) {
			t.Errorf("%s asks for %s:%s: %s", x.Part, x.Service, x.Action, x.Request)
		}
	}
	nothingLeft(t, a)
}

// makes tells whether an exchange made something that stays.
func makes(x proof.Exchange) bool {
	verbs := []string{"Create", "Put", "Run", "Send", "Add", "Update", "Delete", "Remove", "Terminate", "Tag"}
	dry := strings.Contains(x.Request, "DryRun=true") || x.Service == "events" && x.Action == "PutEvents"
	return !dry && x.Status < 300 && slices.ContainsFunc(verbs, func(verb string) bool { return strings.HasPrefix(x.Action, verb) })
}

// The ceiling is kept: what would pass it is not begun, and nothing is launched for it.
func TestTheCeilingIsKept(t *testing.T) {
	for _, ceiling := range []float64{0.0001, 0.01, 0.05, 0.12} {
		a := account.New(reading.Default())
		o := options(a, "r1")
		o.Ceiling = ceiling
		r := run(t, o, probes.All())
		refused := 0
		for _, x := range r.Results {
			if strings.Contains(x.Why, "raise --ceiling") {
				refused++
			}
		}
		launched := len(a.EC2.Instances())
		if most := int(ceiling / proof.InstanceCost); launched > most {
			t.Errorf("ceiling $%v: %d machines were launched; it pays for %d", ceiling, launched, most)
		}
		if r.Spent > ceiling+0.002 { // cleaning up is never refused
			t.Errorf("ceiling $%v: spent $%v", ceiling, r.Spent)
		}
		if refused == 0 {
			t.Errorf("ceiling $%v: no probe was refused", ceiling)
		}
		nothingLeft(t, a)
	}
}

// Whatever is made has the run's tags from the request that makes it.
func TestEverythingIsMadeWithTags(t *testing.T) {
	r := recorded(t)
	made := map[string]int{}
	for _, x := range r.Exchanges {
		creates := strings.HasPrefix(x.Action, "Create") || x.Action == "RunInstances" || x.Action == "PutRule" || x.Service == "ssm" && x.Action == "PutParameter"
		if !creates || strings.Contains(x.Request, "DryRun=true") || x.Status >= 300 || x.Action == "CreateLaunchTemplateVersion" || strings.Contains(x.Request, `"Overwrite":true`) {
			continue
		}
		made[x.Action]++
		for _, tag := range []string{proof.TagRun, proof.TagOwner} {
			if !strings.Contains(x.Request, tag) {
				t.Errorf("%s: %s is asked for without the tag %s: %s", x.Part, x.Action, tag, x.Request)
			}
		}
	}
	for _, action := range []string{"CreateQueue", "CreateTable", "CreateBucket", "CreateRole", "CreateInstanceProfile", "CreateLaunchTemplate", "RunInstances", "CreateFleet", "CreateCapacityReservation", "PutRule", "PutParameter", "CreateAccessEntry"} {
		if made[action] == 0 {
			t.Errorf("nothing was made by %s: the test looks at the wrong place", action)
		}
	}
}

// A probe makes no call that its list of rights does not name.
func TestProbesNameTheRightsTheyTake(t *testing.T) {
	rights := map[string][]string{}
	for _, p := range probes.All() {
		rights[p.ID] = p.Rights
	}
	for _, x := range recorded(t).Exchanges {
		want, ofProbe := rights[x.Part]
		if !ofProbe || x.Caller != "" && x.Caller != "ready" { // sessions of the run's role, whose rights are the run's own
			continue
		}
		right := x.Service + ":" + iamName(x.Service, x.Action)
		if x.Service == "kubernetes" || right == "sts:GetCallerIdentity" || slices.Contains(want, right) {
			continue
		}
		t.Errorf("%s calls %s, and does not name it among %v", x.Part, right, want)
	}
}

// iamName is what IAM calls an action, where that is not its name.
func iamName(service, action string) string {
	names := map[string]string{
		"s3:HeadObject": "GetObject", "s3:ListObjectsV2": "ListBucket", "s3:PutBucketLifecycleConfiguration": "PutLifecycleConfiguration", "s3:ListBuckets": "ListAllMyBuckets",
		"sqs:SendMessageBatch": "SendMessage", "dynamodb:TransactWriteItems": "PutItem", // and what its other parts are
	}
	if name := names[service+":"+action]; name != "" {
		return name
	}
	return action
}

// The page and its JSON name what was expected under each reading, and what was seen.
func TestThePageNamesExpectedAndSeen(t *testing.T) {
	a := account.New(reading.Default().With(reading.GroupOnStandard))
	r := run(t, options(a, "r1"), named(t, reading.GroupOnStandard, "sqs-error-codes"))
	var page, doc bytes.Buffer
	if err := proof.Write(&page, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 pass, 1 differ, 0 fail", "says nothing about AWS", "DIFFERS sqs-group-on-standard", `expected under "refused", which the model of AWS follows: send=InvalidParameterValue`,
		`expected under "taken": group=g1, send=ok`, "seen: group=g1, send=ok", "pass      sqs            sqs-error-codes",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, page.String())
		}
	}
	if err := proof.WriteJSON(&doc, r); err != nil {
		t.Fatal(err)
	}
	var back proof.Report
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil || len(back.Results) != 2 || back.Results[1].Verdict != proof.Differs || back.Results[1].Reading != "taken" {
		t.Errorf("%v: %s", err, doc.String())
	}
}

// Where a capacity block's machines were ended, it is said by whom; where none were, that there were none.
func TestABlockThatEndedIsLookedAt(t *testing.T) {
	a := account.New(reading.Default())
	probe := named(t, "ec2-block-end")
	if x := run(t, options(a, "r1"), probe).Results[0]; x.Verdict != proof.Unknown || !strings.Contains(x.Why, "no capacity block") {
		t.Errorf("without one: %s %s", x.Verdict, x.Why)
	}
	zone := a.EC2.Subnets()[0].Zone
	id := a.EC2.AddReservation(ec2model.Reservation{Type: "m5.large", Zone: zone, Total: 1, Block: true, End: a.Clock.Now().Add(2 * time.Hour)})
	c := ec2.NewFromConfig(a.Config())
	images, err := c.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{proof.Filter("architecture", "x86_64"), proof.Filter("name", "amazon-eks-node-al2023-*")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.RunInstances(t.Context(), &ec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: types.InstanceTypeM5Large, ImageId: images.Images[0].ImageId, SubnetId: aws.String(a.EC2.Subnets()[0].ID),
		InstanceMarketOptions:            &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeCapacityBlock},
		CapacityReservationSpecification: &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{CapacityReservationId: &id}},
	}); err != nil {
		t.Fatal(err)
	}
	a.Clock.Advance(100 * time.Minute)
	if x := run(t, options(a, "r1"), probe).Results[0]; x.Verdict != proof.Pass || x.Seen["reason"] != "Server.CapacityReservationEnded" {
		t.Errorf("%s %v %s", x.Verdict, x.Seen, x.Why)
	}
}

// A root user may assume no role, which a probe of what roles may do says.
func TestProbesOfRolesAreNotForTheRootUser(t *testing.T) {
	a := account.New(reading.Default())
	o := options(a, "r1")
	o.Config = a.Root()
	r := run(t, o, named(t, "policy-deny-first", "sqs-error-codes"))
	if x := r.Results[1]; x.Verdict != proof.Skipped || !strings.Contains(x.Why, "root user") || r.Results[0].Verdict != proof.Pass {
		t.Errorf("%+v", r.Results)
	}
}
