package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const began = int64(1_900_000_000)

// world is everything the flow speaks to, in memory, with a list of the calls made of AWS.
type world struct {
	t   *testing.T
	now int64

	reg           model.Registration
	ledger        model.Ledger
	allowance     model.Allowance
	config        model.Configuration
	live          model.LiveState
	going         bool // the definition of EC2NodeClasses is being deleted
	instanceTypes []model.InstanceTypeInfo
	instances     []model.Instance
	profiles      map[string]model.InstanceProfile
	roles         map[string]bool

	aws       []string // calls of EC2 and IAM, in order
	reported  model.Report
	hints     []string
	shown     []model.Claim
	patched   []model.NodePatch
	templates []string // classes whose templates were deleted
	launches  []model.Launch

	shifts    []model.ZonalShift // as ARC says
	managed   bool
	recorded  model.ZonalShifts
	shiftPuts int

	fail map[string]error // by call
	// examined changes what the class resolves to.
	examined func(class model.Class, status *model.ClassStatus) error
}

func newWorld(t *testing.T) *world {
	w := &world{
		t: t, now: began, profiles: map[string]model.InstanceProfile{}, roles: map[string]bool{"nodes": true}, fail: map[string]error{},
		reg: model.Registration{Cluster: "web", Account: "123456789012", Region: "us-west-2", Endpoint: "https://web", CA: []byte("pem"), ServiceCIDR: "10.96.0.0/16", Version: "1.36"},
	}
	for _, m := range []struct {
		name, arch string
		price      model.MicroUSD
		gpus       int64
	}{{"g5.xlarge", "amd64", 50, 1}, {"m5.large", "amd64", 100, 0}, {"m6g.large", "arm64", 90, 0}} {
		info := model.InstanceTypeInfo{
			Name: m.name, Arch: m.arch, VCPUs: 2, MemoryMiB: 8192, Hypervisor: "nitro", Interfaces: 3, IPv4PerInterface: 10, ENA: true,
			GPUCount: m.gpus, UsageClasses: []string{model.OnDemand},
		}
		if m.gpus > 0 {
			info.GPUName, info.GPUManufacturer = "a10g", "nvidia"
		}
		for _, zone := range []string{"us-west-2a", "us-west-2b"} {
			info.Offerings = append(info.Offerings, model.Offering{Zone: zone, CapacityType: model.OnDemand, Price: m.price, Available: true})
		}
		w.instanceTypes = append(w.instanceTypes, info)
	}
	w.config.Classes = []model.ClassObject{object(nil)}
	w.config.Pools = []model.Pool{{Name: "pool", UID: "p1", Hash: "11", Template: model.Template{ClassName: "default"}}}
	return w
}

// object is a class named default that has everything, changed by change.
func object(change func(*model.Class)) model.ClassObject {
	class := model.Class{
		Name: "default", UID: "c1", Generation: 1, Hash: "77", Family: "AL2023", Role: "nodes",
		Subnets: []model.SelectorTerm{{Tags: map[string]string{"a": "b"}}}, Images: []model.SelectorTerm{{ID: "ami-1"}},
	}
	if change != nil {
		change(&class)
	}
	return model.ClassObject{Class: class, Annotations: map[string]string{}}
}

func (w *world) flow() *Flow {
	return &Flow{
		Registry: w, Leases: w, Records: w, Allowances: w, Connector: w,
		RequestPass: w.RequestPass, ReportReady: w.Ready,
		Now: func() time.Time { return time.Unix(w.now, 0) },
	}
}

// pass makes one pass a while after the last.
func (w *world) pass(after time.Duration, change func(*Flow, *Request)) Outcome {
	w.t.Helper()
	w.now += int64(after.Seconds())
	w.aws, w.reported, w.hints, w.shown, w.launches = nil, model.Report{}, nil, nil, nil
	flow, request := w.flow(), Request{Cluster: "web", Owner: "o", Deadline: time.Unix(w.now+30, 0)}
	if change != nil {
		change(flow, &request)
	}
	out, err := flow.Run(w.t.Context(), request)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) class() *model.Class { return &w.config.Classes[0].Class }

// status is what the last pass reported of the class.
func (w *world) status() model.ClassStatus {
	w.t.Helper()
	if len(w.reported.Classes) != 1 {
		w.t.Fatalf("told of %d classes", len(w.reported.Classes))
	}
	return w.reported.Classes[0].Status
}

// problem is what the last pass reported of a condition, "" where it holds.
func (w *world) problem(condition string) string {
	w.t.Helper()
	for _, p := range w.status().Problems {
		if p.Condition == condition {
			if p.Unknown {
				return "Unknown " + p.Reason
			}
			return p.Reason
		}
	}
	return ""
}

func (w *world) asked(call string) int {
	n := 0
	for _, c := range w.aws {
		if strings.HasPrefix(c, call) {
			n++
		}
	}
	return n
}

func (w *world) call(name string) error {
	w.aws = append(w.aws, name)
	for _, key := range []string{name, strings.SplitN(name, " ", 2)[0]} {
		if err := w.fail[key]; err != nil {
			return err
		}
	}
	return nil
}

func (w *world) Clusters(context.Context) ([]model.Registration, error) {
	return []model.Registration{w.reg}, nil
}
func (w *world) Cluster(context.Context, string) (model.Registration, error) { return w.reg, nil }
func (w *world) AcquireLease(_ context.Context, cluster, lease, owner string, _, until int64) (model.Fence, error) {
	return model.Fence{Cluster: cluster, Lease: lease, Owner: owner, UntilUnix: until}, w.fail["Hold"]
}
func (w *world) Release(context.Context, model.Fence) error { return nil }
func (w *world) Load(context.Context, model.Registration) (model.Ledger, error) {
	ledger := w.ledger
	ledger.NowUnix = w.now
	ledger.Claims, ledger.Classes = slices.Clone(ledger.Claims), slices.Clone(ledger.Classes)
	return ledger, nil
}

func (w *world) PutClass(_ context.Context, _ string, record model.ClassRecord) (model.ClassRecord, error) {
	i := slices.IndexFunc(w.ledger.Classes, func(r model.ClassRecord) bool { return r.Name == record.Name })
	if i < 0 {
		w.ledger.Classes = append(w.ledger.Classes, model.ClassRecord{Name: record.Name})
		i = len(w.ledger.Classes) - 1
	}
	if w.ledger.Classes[i].Version != record.Version {
		return record, fault.New(fault.Conflict, "", "at version %d", w.ledger.Classes[i].Version)
	}
	record.Version++
	w.ledger.Classes[i] = record
	return record, nil
}

func (w *world) DeleteClass(_ context.Context, _ string, record model.ClassRecord) error {
	w.ledger.Classes = slices.DeleteFunc(w.ledger.Classes, func(r model.ClassRecord) bool { return r.Name == record.Name })
	return nil
}

func (w *world) Advance(_ context.Context, _ string, claim model.Claim) (model.Claim, error) {
	for i := range w.ledger.Claims {
		if w.ledger.Claims[i].Name == claim.Name && w.ledger.Claims[i].Version == claim.Version {
			claim.Version++
			w.ledger.Claims[i] = claim
			return claim, nil
		}
	}
	return claim, fault.New(fault.Conflict, "", "claim %s changed", claim.Name)
}

func (w *world) Allowance(context.Context, model.Registration) (model.Allowance, error) {
	return w.allowance, nil
}
func (w *world) Spend(_ context.Context, _ model.Registration, a model.Allowance) error {
	a.Version++
	w.allowance = a
	return nil
}
func (w *world) RequestPass(_ context.Context, cluster, key string) error {
	w.hints = append(w.hints, "look "+cluster+" "+key)
	return nil
}
func (w *world) Ready(_ context.Context, cluster, key string) error {
	w.hints = append(w.hints, "ready "+cluster+" "+key)
	return nil
}
func (w *world) Connect(context.Context, model.Registration) (Clients, error) {
	s := site{w}
	return Clients{Cluster: s, Claims: s, Reporter: s, Catalog: s, Profiles: s, Trials: s, InstanceTypes: s, Zones: s},
		nil
}

// site is the cluster and its account.
type site struct{ *world }

func (w site) Configuration(context.Context) (model.Configuration, error) {
	return w.config, w.fail["Configuration"]
}

func (w site) PatchClass(_ context.Context, mark model.ClassPatch) error {
	for i := range w.config.Classes {
		if o := &w.config.Classes[i]; o.Class.UID == mark.UID {
			if o.Finalized = mark.Finalized; !mark.Finalized && o.Class.DeletedUnix != 0 {
				w.config.Classes = slices.Delete(w.config.Classes, i, i+1)
				return nil
			}
			for key, value := range mark.Annotations {
				o.Annotations[key] = value
			}
			return nil
		}
	}
	return fault.New(fault.NotFound, "", "no class %s", mark.Name)
}

func (w site) Definitions(context.Context) (model.Definitions, error) {
	stands := model.Definition{Established: true}
	d := model.Definitions{Pools: stands, Claims: stands, Classes: stands}
	if w.going {
		d.Classes = model.Definition{Name: "ec2nodeclasses.karpenter.k8s.aws", Going: true}
	}
	return d, w.fail["Definitions"]
}

func (w site) ReadLive(context.Context) (model.LiveState, error) { return w.live, w.fail["Sight"] }
func (w site) PutClaim(_ context.Context, claim model.Claim) (string, error) {
	w.shown = append(w.shown, claim)
	return claim.ObjectUID, nil
}
func (w site) PatchNode(_ context.Context, patch model.NodePatch) error {
	w.patched = append(w.patched, patch)
	return nil
}
func (w site) Report(_ context.Context, report model.Report) error {
	w.reported = report
	for _, r := range report.Classes {
		for i := range w.config.Classes {
			if w.config.Classes[i].Class.UID == r.UID && r.Waiting == "" {
				w.config.Classes[i].Class.Status = r.Status
			}
		}
	}
	return nil
}

func (w site) InstanceTypes(context.Context) (model.InstanceCatalog, error) {
	return model.InstanceCatalog{Types: w.instanceTypes}, w.fail["Types"]
}

func (w site) ResolveParts(_ context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus, error) {
	err := w.call("Examine")
	status := model.ClassStatus{
		InstanceProfile: class.InstanceProfile, SecurityGroups: []model.SecurityGroup{{ID: "sg-1"}},
		Subnets: []model.Subnet{{ID: "subnet-a", Zone: "us-west-2a", FreeAddresses: 20}, {ID: "subnet-b", Zone: "us-west-2b", FreeAddresses: 10}},
	}
	for _, q := range images {
		for _, arch := range []string{"amd64", "arm64"} {
			status.Images = append(status.Images, model.Image{
				ID: q.Term.ID + "-" + arch, Name: arch, Requirements: []model.Requirement{{Key: model.LabelArch, Operator: model.In, Values: []string{arch}}},
			})
		}
	}
	if err != nil { // of the subnets nothing could be found out
		status.Subnets = nil
		status.Problems = []model.ClassProblem{{Condition: model.SubnetsReady, Reason: "ResolutionFailed", Unknown: true, Message: err.Error()}}
	} else if w.examined != nil {
		err = w.examined(class, &status)
	}
	return status, err
}

func (w site) EnsureProfile(_ context.Context, profile model.InstanceProfile) error {
	if err := w.call("MakeProfile"); err != nil {
		return err
	}
	if !w.roles[profile.Role] {
		return fault.New(fault.NotFound, "NoSuchEntity", "no role %s", profile.Role)
	}
	if _, there := w.profiles[profile.Name]; !there {
		profile.CreatedUnix = w.now
		w.profiles[profile.Name] = profile
	}
	return nil
}

func (w site) Profiles(_ context.Context, prefix string) ([]model.InstanceProfile, error) {
	var found []model.InstanceProfile
	for _, p := range w.profiles {
		if strings.HasPrefix(p.Path, prefix) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b model.InstanceProfile) int { return strings.Compare(a.Name, b.Name) })
	return found, w.call("Profiles")
}

func (w site) DeleteProfile(_ context.Context, profile model.InstanceProfile) error {
	delete(w.profiles, profile.Name)
	return w.call("DeleteProfile " + profile.Name)
}

func (w site) PrepareRequest(_ context.Context, launch model.Launch) ([]byte, error) {
	w.launches = append(w.launches, launch)
	return []byte("request"), w.call("CreateLaunchTemplate")
}
func (w site) DryRunFleet(context.Context, []byte) error { return w.call("DryFleet") }
func (w site) DryRun(_ context.Context, _ model.Launch, _ []byte, subnet string) error {
	return w.call("DryRun " + subnet)
}
func (w site) DescribeInstances(_ context.Context, ids []string) ([]model.Instance, error) {
	return w.instances, w.call(fmt.Sprintf("Describe %d", len(ids)))
}
func (w site) DeleteTemplates(_ context.Context, _, class string) error {
	w.templates = append(w.templates, class)
	return w.call("DeleteTemplates")
}
