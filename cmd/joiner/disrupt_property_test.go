package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

type object = map[string]any

// sampleCluster is a random cluster as objects, with its own small catalog.
type sampleCluster struct {
	random  *rand.Rand
	objects []object
	types   []testClusterType
}

type testClusterType struct {
	name     string
	cpu, gib int
	price    float64
}

const testClusterEpoch = "2026-02-01T00:00:00Z"

// newTestCluster makes a cluster of nodes, most of which hold less than they could, with daemons, budgets, and pods that stay.
func newTestCluster(seed uint64, nodes int) *sampleCluster {
	t := &sampleCluster{random: rand.New(rand.NewPCG(seed, 7))}
	for _, family := range []struct {
		name string
		gib  int
		unit float64
	}{{"m5", 4, 0.048}, {"c5", 2, 0.0425}, {"r5", 8, 0.063}} {
		for cpu, size := range map[int]string{2: "large", 4: "xlarge", 8: "2xlarge", 16: "4xlarge"} {
			t.types = append(t.types, testClusterType{family.name + "." + size, cpu, cpu * family.gib, family.unit * float64(cpu)})
		}
	}
	slices.SortFunc(t.types, func(a, b testClusterType) int { return strings.Compare(a.name, b.name) })
	t.add(t.class(""), t.pool("default", nil), t.pool("other", func(spec object) {
		spec["template"].(object)["metadata"] = object{"labels": object{"team": "b"}}
	}))
	t.add(object{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": object{"namespace": "default", "name": "kept"},
		"spec": object{"maxUnavailable": 0, "selector": object{"matchLabels": object{"app": "kept"}}}, "status": object{"disruptionsAllowed": 0}})
	for i := range nodes {
		t.node(i)
	}
	return t
}

func (t *sampleCluster) add(objects ...object) { t.objects = append(t.objects, objects...) }

func (t *sampleCluster) class(userData string) object {
	return object{"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": object{"name": "default", "uid": "class", "generation": 1},
		"spec": object{"role": "nodes", "amiSelectorTerms": []any{object{"alias": "al2023@latest"}}, "userData": userData,
			"subnetSelectorTerms": []any{object{"tags": object{"a": "b"}}}, "securityGroupSelectorTerms": []any{object{"tags": object{"a": "b"}}}}}
}

func (t *sampleCluster) pool(name string, change func(spec object)) object {
	spec := object{
		"disruption": object{"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s", "budgets": []any{object{"nodes": "100%"}}},
		"template": object{"spec": object{"nodeClassRef": object{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
			"requirements": []any{object{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand"}}}}},
	}
	if change != nil {
		change(spec)
	}
	return object{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": object{"name": name, "uid": "pool-" + name, "generation": 1}, "spec": spec}
}

// node adds a node with its NodeClaim and some pods.
func (t *sampleCluster) node(i int) {
	of := t.types[t.random.IntN(len(t.types))]
	pool := []string{"default", "default", "other"}[t.random.IntN(3)]
	name := fmt.Sprintf("node-%03d", i)
	zone := "us-west-2" + string("ab"[t.random.IntN(2)])
	labels := t.labels(of, pool, zone, name)
	t.add(t.claimObject(name, pool, zone, labels), t.nodeObject(name, zone, of, labels))
	left := float64(of.cpu) - 0.2
	for p := 0; t.random.IntN(4) > 0 && left > 0.5 && p < 6; p++ {
		cpu := []float64{0.25, 0.5, 1, 2}[t.random.IntN(4)]
		if cpu > left {
			break
		}
		left -= cpu
		app := fmt.Sprintf("app-%d", t.random.IntN(8))
		if t.random.IntN(30) == 0 {
			app = "kept"
		}
		selector := object{}
		if pool == "other" && t.random.IntN(2) == 0 {
			selector["team"] = "b"
		}
		t.add(t.pod(fmt.Sprintf("p-%03d-%d", i, p), name, app, cpu, selector))
	}
}

func (t *sampleCluster) labels(of testClusterType, pool, zone, name string) object {
	out := object{
		"karpenter.sh/nodepool": pool, "karpenter.sh/capacity-type": "on-demand", "node.kubernetes.io/instance-type": of.name, "topology.kubernetes.io/zone": zone,
		"kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name, "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true",
	}
	if pool == "other" {
		out["team"] = "b"
	}
	return out
}

func amounts(cpu string, gib int) object {
	return object{"cpu": cpu, "memory": fmt.Sprintf("%dGi", gib), "pods": "58"}
}

func providerID(name, zone string) string { return "aws:///" + zone + "/i-" + name }

func (t *sampleCluster) nodeObject(name, zone string, of testClusterType, labels object) object {
	has := amounts(fmt.Sprint(of.cpu), of.gib)
	return object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name, "uid": "n-" + name, "creationTimestamp": testClusterEpoch, "labels": labels},
		"spec":   object{"providerID": providerID(name, zone)},
		"status": object{"capacity": has, "allocatable": has, "conditions": []any{object{"type": "Ready", "status": "True", "lastTransitionTime": testClusterEpoch}}}}
}

func (t *sampleCluster) claimObject(name, pool, zone string, labels object) object {
	conditions := []any{}
	for _, c := range []string{"Launched", "Registered", "Initialized"} {
		conditions = append(conditions, object{"type": c, "status": "True", "lastTransitionTime": testClusterEpoch})
	}
	return object{"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
		"metadata": object{"name": "claim-" + name, "uid": "c-" + name, "creationTimestamp": testClusterEpoch, "labels": labels},
		"spec":     object{"nodeClassRef": object{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "requirements": []any{}},
		"status":   object{"providerID": providerID(name, zone), "nodeName": name, "imageID": "ami-1", "conditions": conditions}}
}

func (t *sampleCluster) pod(name, node, app string, cpu float64, selector object) object {
	return object{"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"namespace": "default", "name": name, "uid": "u-" + name, "creationTimestamp": testClusterEpoch, "labels": object{"app": app},
			"ownerReferences": []any{object{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": "rs-" + app, "controller": true}}},
		"spec": object{"nodeName": node, "nodeSelector": selector, "containers": []any{object{"name": "a", "resources": object{"requests": object{
			"cpu": fmt.Sprintf("%dm", int(cpu*1000)), "memory": "512Mi"}}}}},
		"status": object{"phase": "Running", "startTime": testClusterEpoch, "conditions": []any{object{"type": "Ready", "status": "True"}, object{"type": "PodScheduled", "status": "True"}}}}
}

func (t *sampleCluster) text(tb testing.TB, objects ...object) string {
	tb.Helper()
	text, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// catalog writes what can be bought to a file and returns its path.
func (t *sampleCluster) catalog(tb testing.TB) string {
	tb.Helper()
	var types []any
	for _, of := range t.types {
		var offerings []any
		for _, zone := range []string{"us-west-2a", "us-west-2b"} {
			offerings = append(offerings, object{"zone": zone, "capacityType": "on-demand", "pricePerHour": of.price, "available": true})
		}
		types = append(types, object{"name": of.name, "capacity": amounts(fmt.Sprint(of.cpu), of.gib), "offers": offerings})
	}
	text, err := json.Marshal(object{"instanceTypes": types})
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "catalog.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func named(o object) string { return o["metadata"].(object)["name"].(string) }

// carryOut does what a plan says: its nodes and their NodeClaims are gone, replacements are there, and pods are where they were to go.
func (t *sampleCluster) carryOut(tb testing.TB, d disruptionOutput) {
	tb.Helper()
	gone, to := map[string]bool{}, map[string]string{}
	for _, c := range d.Commands {
		moved := 0
		place := func(pods []string, node string) {
			for _, pod := range pods {
				to[strings.TrimPrefix(pod, "default/")] = node
				moved++
			}
		}
		for _, node := range c.Nodes {
			if gone[node] {
				tb.Errorf("node %s is given back twice", node)
			}
			gone[node] = true
		}
		for _, m := range c.Moves {
			place(m.Pods, m.Node)
		}
		for _, r := range c.Replacements {
			i := slices.IndexFunc(t.types, func(of testClusterType) bool { return of.name == r.Offer.InstanceType })
			if i < 0 {
				tb.Fatalf("replacement of unknown type %s", r.Offer.InstanceType)
			}
			labels := t.labels(t.types[i], r.NodePool, r.Offer.Zone, r.Name)
			t.add(t.claimObject(r.Name, r.NodePool, r.Offer.Zone, labels), t.nodeObject(r.Name, r.Offer.Zone, t.types[i], labels))
			place(r.Pods, r.Name)
		}
		if moved != c.PodsMoved {
			tb.Errorf("%s of %v moves %d pods and says %d", c.Reason, c.Nodes, moved, c.PodsMoved)
		}
	}
	t.objects = slices.DeleteFunc(t.objects, func(o object) bool {
		return o["kind"] == "Node" && gone[named(o)] || o["kind"] == "NodeClaim" && gone[strings.TrimPrefix(named(o), "claim-")]
	})
	for _, o := range t.objects {
		if o["kind"] != "Pod" {
			continue
		}
		spec := o["spec"].(object)
		if node := to[named(o)]; node != "" {
			spec["nodeName"] = node
		}
		if gone[spec["nodeName"].(string)] {
			tb.Errorf("pod %s is left on node %s, which is given back", named(o), spec["nodeName"])
		}
	}
}

// D1: the moves' savings are the difference of the prices, and what the cluster costs less once they are carried out.
func TestD1SavingsAreTheDifferenceAfterCarryingOut(t *testing.T) {
	commands := 0
	for seed := range uint64(12) {
		size := 30
		if seed == 0 {
			size = 200
		}
		testCluster := newTestCluster(seed, size)
		catalog := testCluster.catalog(t)
		d := disruptionOf(t, testCluster.text(t, testCluster.objects...), "-f", "-", "--catalog", catalog, "--now", atNight)
		sum := 0.0
		for _, c := range d.Commands {
			sum += c.SavingsPerHour
		}
		if !near(sum, d.PricePerHourBefore-d.PricePerHourAfter) {
			t.Errorf("seed %d: savings of %v, prices %v and %v", seed, sum, d.PricePerHourBefore, d.PricePerHourAfter)
		}
		commands += len(d.Commands)
		testCluster.carryOut(t, d)
		after := disruptionOf(t, testCluster.text(t, testCluster.objects...), "-f", "-", "--catalog", catalog, "--now", atNight)
		if !near(after.PricePerHourBefore, d.PricePerHourAfter) {
			t.Errorf("seed %d: carried out it costs %v, planned %v", seed, after.PricePerHourBefore, d.PricePerHourAfter)
		}
	}
	if commands < 12 {
		t.Fatalf("only %d commands: the clusters are too good to test anything", commands)
	}
}

// account is what the catalog function needs to evaluate drift: a ledger, an API server with other pools and classes than the
// claims were made from, and instances as the classes select them. What is not here is not to be asked for.
type account struct {
	port.Registry

	reg    model.Registration
	now    int64
	ledger model.Ledger
	config model.Configuration
}

func (a *account) Cluster(context.Context, string) (model.Registration, error) { return a.reg, nil }
func (a *account) AcquireLease(_ context.Context, cluster, lease, owner string, _, until int64) (model.Fence, error) {
	return model.Fence{Cluster: cluster, Lease: lease, Owner: owner, UntilUnix: until}, nil
}
func (a *account) Release(context.Context, model.Fence) error { return nil }
func (a *account) Load(context.Context, model.Registration) (model.Ledger, error) {
	ledger := a.ledger
	ledger.NowUnix = a.now
	return ledger, nil
}
func (a *account) PutClass(_ context.Context, _ string, r model.ClassRecord) (model.ClassRecord, error) {
	return r, nil
}
func (a *account) DeleteClass(context.Context, string, model.ClassRecord) error { return nil }
func (a *account) Advance(_ context.Context, _ string, claim model.Claim) (model.Claim, error) {
	for i := range a.ledger.Claims {
		if a.ledger.Claims[i].Name == claim.Name {
			a.ledger.Claims[i] = claim
			return claim, nil
		}
	}
	return claim, fault.New(fault.NotFound, "", "no claim %s", claim.Name)
}
func (a *account) Allowance(context.Context, model.Registration) (model.Allowance, error) {
	return model.Allowance{}, nil
}
func (a *account) Spend(context.Context, model.Registration, model.Allowance) error { return nil }
func (a *account) Connect(context.Context, model.Registration) (catalog.Clients, error) {
	s := &accountSite{account: a}
	return catalog.Clients{Cluster: s, Claims: s, Reporter: s, Catalog: s, Profiles: s, Trials: s, InstanceTypes: s}, nil
}
func (a *account) Ready(context.Context, string, string) error { return nil }

// accountSite is the cluster of an account.
type accountSite struct {
	catalog.Trials
	*account
}

func (a *accountSite) Configuration(context.Context) (model.Configuration, error) {
	return a.config, nil
}
func (a *accountSite) PatchClass(context.Context, model.ClassPatch) error { return nil }
func (a *accountSite) Definitions(context.Context) (model.Definitions, error) {
	return model.Definitions{}, nil
}
func (a *accountSite) ReadLive(context.Context) (model.LiveState, error) {
	return model.LiveState{}, nil
}
func (a *accountSite) PutClaim(context.Context, model.Claim) (string, error) { return "", nil }
func (a *accountSite) PatchNode(context.Context, model.NodePatch) error      { return nil }
func (a *accountSite) Report(context.Context, model.Report) error            { return nil }
func (a *accountSite) DeleteTemplates(context.Context, string, string) error { return nil }
func (a *accountSite) InstanceTypes(context.Context) (model.InstanceCatalog, error) {
	var out model.InstanceCatalog
	for _, claim := range a.ledger.Claims {
		out.Types = append(out.Types, model.InstanceTypeInfo{
			Name: claim.InstanceType, Arch: "amd64", VCPUs: 4, MemoryMiB: 8192, Hypervisor: "nitro", Interfaces: 3, IPv4PerInterface: 10, ENA: true,
			Offerings: []model.Offering{{Zone: "us-west-2a", CapacityType: model.OnDemand, Price: 1, Available: true}, {Zone: "us-west-2b", CapacityType: model.OnDemand, Price: 1}},
		})
	}
	return out, nil
}
func (a *accountSite) ResolveParts(_ context.Context, class model.Class, _ []model.ImageQuery) (model.ClassStatus, error) {
	return model.ClassStatus{
		ObservedGeneration: class.Generation, Subnets: []model.Subnet{{ID: "subnet", Zone: "us-west-2a"}}, SecurityGroups: []model.SecurityGroup{{ID: "sg"}},
		Images: []model.Image{{ID: "ami-1"}}, InstanceProfile: "p",
	}, nil
}
func (a *accountSite) DescribeInstances(_ context.Context, ids []string) ([]model.Instance, error) {
	var out []model.Instance
	for _, id := range ids {
		out = append(out, model.Instance{ID: id, State: "running", SubnetID: "subnet", SecurityGroups: []string{"sg"}})
	}
	return out, nil
}
func (a *accountSite) EnsureProfile(context.Context, model.InstanceProfile) error { return nil }
func (a *accountSite) Profiles(context.Context, string) ([]model.InstanceProfile, error) {
	return nil, nil
}

// drifted runs the catalog function's flow once and returns what has drifted, by node.
func (a *account) drifted(t *testing.T) map[string]string {
	t.Helper()
	flow := &catalog.Flow{
		Registry: a, Leases: a, Records: a, Allowances: a, Connector: a, ReportReady: a.Ready, Now: func() time.Time { return time.Unix(a.now, 0) },
		Settings: catalog.Settings{IsolatedVPC: true, NoDryRun: true},
	}
	if _, err := flow.Run(t.Context(), catalog.Request{Cluster: "town", Owner: "o", Config: true, Deadline: time.Unix(a.now+60, 0)}); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, claim := range a.ledger.Claims {
		if claim.Drift != "" {
			out[claim.NodeName] = claim.Drift
		}
	}
	return out
}

// parsed reads objects as the API server would show them.
func parsed(t *testing.T, testCluster *sampleCluster, objects ...object) *read.Cluster {
	t.Helper()
	cluster, err := read.Files([]string{"-"}, read.Options{Stdin: strings.NewReader(testCluster.text(t, objects...)), NowUnix: 1})
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func configurationOf(cluster *read.Cluster) model.Configuration {
	config := model.Configuration{Pools: cluster.Snapshot.Pools}
	for _, class := range cluster.Snapshot.Classes {
		config.Classes = append(config.Classes, model.ClassObject{Class: class, Annotations: map[string]string{}})
	}
	return config
}

// D2: what --with says would drift is what the catalog function finds once it is applied: the same nodes for the same reasons, for
// edits that drift all nodes of a pool, some of them, or none.
func TestD2WithSaysWhatWouldDrift(t *testing.T) {
	requirement := func(key, operator string, values ...any) func(object) {
		return func(spec object) {
			template := spec["template"].(object)["spec"].(object)
			template["requirements"] = append(template["requirements"].([]any), object{"key": key, "operator": operator, "values": values})
		}
	}
	field := func(name string, value any) func(object) {
		return func(spec object) { spec["template"].(object)["spec"].(object)[name] = value }
	}
	edits := []struct {
		name   string
		pool   func(spec object)
		class  string // its user data
		drifts string // all, some, none
	}{
		{"a label", func(spec object) { spec["template"].(object)["metadata"] = object{"labels": object{"tier": "front"}} }, "", "all"},
		{"a taint", field("taints", []any{object{"key": "a", "effect": "NoSchedule"}}), "", "all"},
		{"expiry", field("expireAfter", "10h"), "", "all"},
		{"fewer zones", requirement("topology.kubernetes.io/zone", "In", "us-west-2a"), "", "some"},
		{"other types", requirement("node.kubernetes.io/instance-type", "NotIn", "m5.large", "c5.xlarge"), "", "some"},
		{"a custom key", requirement("team", "Exists"), "", "all"},
		{"minValues", func(spec object) {
			template := spec["template"].(object)["spec"].(object)
			template["requirements"] = append(template["requirements"].([]any), object{"key": "node.kubernetes.io/instance-type", "operator": "Exists", "minValues": 3})
		}, "", "none"},
		{"weight", func(spec object) { spec["weight"] = 7 }, "", "none"},
		{"limits", func(spec object) { spec["limits"] = object{"cpu": "1"} }, "", "none"},
		{"budgets", func(spec object) { spec["disruption"].(object)["budgets"] = []any{object{"nodes": "1"}} }, "", "none"},
		{"nothing", nil, "", "none"},
		{"user data of the class", nil, "echo hello", "every pool"},
	}
	for _, hashed := range []bool{true, false} { // as a cluster of ours and as one of Karpenter's
		for _, edit := range edits {
			t.Run(fmt.Sprintf("%s, hashes of ours %v", edit.name, hashed), func(t *testing.T) {
				testCluster := newTestCluster(3, 24)
				a := &account{reg: model.Registration{Cluster: "town", Region: "us-west-2", CA: []byte("pem"), ServiceCIDR: "10.0.0.0/16", Version: "1.36"}}
				at, _ := time.Parse(time.RFC3339, atNight)
				a.now = at.Unix()
				now := parsed(t, testCluster, testCluster.objects...)
				testCluster.launchedFrom(now, a.reg.CA, hashed)
				ledger, _ := parsed(t, testCluster, testCluster.objects...).LedgerClaims()
				a.ledger.Claims, a.config = ledger, configurationOf(now)
				for i := range a.ledger.Claims {
					a.ledger.Claims[i].CapacityType = model.OnDemand
				}
				if before := a.drifted(t); len(before) != 0 {
					t.Fatalf("before the edit: %v", before)
				}

				change := []object{testCluster.pool("default", edit.pool)}
				if edit.class != "" {
					change = append(change, testCluster.class(edit.class))
				}
				path := filepath.Join(t.TempDir(), "change.json")
				if err := os.WriteFile(path, []byte(testCluster.text(t, change...)), 0o600); err != nil {
					t.Fatal(err)
				}
				d := disruptionOf(t, testCluster.text(t, testCluster.objects...), "-f", "-", "--with", path, "--catalog", testCluster.catalog(t), "--now", atNight)
				said := map[string]string{}
				for _, each := range d.Drift {
					said[each.Node] = each.Reason
				}

				for i := range change { // kubectl apply
					change[i]["metadata"].(object)["generation"] = 2
				}
				a.config = configurationOf(parsed(t, testCluster, append(slices.Clone(testCluster.objects), change...)...))
				a.now += 30
				is := a.drifted(t)
				if fmt.Sprint(said) != fmt.Sprint(is) {
					t.Errorf("--with says %v, applied %v", said, is)
				}
				mine := 0
				for _, claim := range a.ledger.Claims {
					if claim.Pool == "default" {
						mine++
					}
				}
				want := map[string]bool{"none": len(is) == 0, "all": len(is) == mine, "some": len(is) > 0 && len(is) < mine, "every pool": len(is) == len(a.ledger.Claims)}
				if !want[edit.drifts] {
					t.Errorf("%d of %d nodes drift, want %s", len(is), mine, edit.drifts)
				}
			})
		}
	}
}

// launchedFrom notes on every NodeClaim and class what it was launched from: hashes of ours, or of Karpenter's, which nobody else
// can compute.
func (t *sampleCluster) launchedFrom(now *read.Cluster, ca []byte, ours bool) {
	hashes := map[string]string{}
	for i := range now.Snapshot.Pools {
		hashes[now.Snapshot.Pools[i].Name] = now.Snapshot.Pools[i].Hash
	}
	class := now.Snapshot.Classes[0].HashFor(ca)
	for _, o := range t.objects {
		metadata := o["metadata"].(object)
		notes := object{model.AnnotationClassHash: class, model.AnnotationClassHashVersion: model.ClassHashVersion}
		if !ours {
			notes = object{model.AnnotationClassHash: "123", model.AnnotationClassHashVersion: "v6"}
		}
		switch o["kind"] {
		case "EC2NodeClass":
			metadata["annotations"] = notes
		case "NodeClaim":
			notes[model.AnnotationPoolHash], notes[model.AnnotationPoolHashVersion] = hashes[metadata["labels"].(object)["karpenter.sh/nodepool"].(string)], model.PoolHashVersion
			if !ours {
				notes[model.AnnotationPoolHash], notes[model.AnnotationPoolHashVersion] = "456", "v3"
			}
			metadata["annotations"] = notes
		}
	}
}

func (a *accountSite) DeleteProfile(context.Context, model.InstanceProfile) error { return nil }
