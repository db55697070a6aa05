package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/oklog/ulid/v2"

	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// lived gives the account's cluster shop a past: a node n-old that a command disrupted for n1 an hour ago, n1 with a pod on it and its
// instance in the ledger, and a pod that waits for a minute. It returns the time of now.
func (a *installedAccount) lived(t *testing.T) int64 {
	t.Helper()
	if code, _, errs := joiner("", "attach", "shop"); code != 0 {
		t.Fatal(errs)
	}
	ctx, now := t.Context(), time.Now().Unix()
	evaluated, provisioned := idOf(now-4100), idOf(now-4000)
	client := s3.NewFromConfig(a.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	store := s3snapshot.New(client, "joiner-data")
	reg, err := a.ledger.Cluster(ctx, "shop")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)

	bought := model.Claim{
		Name: "default-new", Pool: "default", Class: "default", State: model.Initialized, InstanceID: "i-new", ProviderID: "aws:///us-west-2a/i-new", InstanceType: "m7.large", Zone: "us-west-2a",
		CapacityType: model.OnDemand, Price: 100_000, NodeName: "n1", Version: 1, Reserved: model.Resources{model.Nodes: 1, model.CPU: 2000}, CreatedUnix: now - 4000, LaunchedUnix: now - 4000, Decision: provisioned,
		Pods: []model.PodRef{{Namespace: "shop", Name: "api-0", UID: "u-api"}},
	}
	fence, err := a.ledger.AcquireLease(ctx, "shop", model.LeaseCollector, "test", now, now+60)
	must(err)
	must(a.ledger.Adopt(ctx, fence, bought))
	must(a.ledger.Release(ctx, fence))

	gone := bought
	gone.Name, gone.InstanceID, gone.ProviderID, gone.NodeName, gone.Price, gone.Command, gone.LaunchedUnix = "default-old", "i-old", "aws:///us-west-2a/i-old", "n-old", 400_000, evaluated+"-0", now-90_000
	must(store.PutRemoval(ctx, model.Removal{Cluster: "shop", Claim: gone, Node: "n-old", Reason: model.ReasonUnderutilized, By: model.ByJoiner, Command: evaluated + "-0", Decision: evaluated,
		Replacements: []string{"default-new"}, PricePerHour: 400_000, GoneUnix: now - 3600}))
	must(store.PutDisruption(ctx, model.Disrupted{ID: evaluated, Cluster: "shop", AtUnix: now - 4100, Committed: []string{evaluated + "-0"}, Plan: model.DisruptPlan{Commands: []model.PlannedCommand{
		{Reason: model.ReasonUnderutilized, Nodes: []string{"n-old"}, Replacements: []model.PlannedClaim{{Name: "default-new"}}, PodsMoved: 1, Savings: 300_000, Workloads: []string{"shop/StatefulSet/api"}}}}}))
	must(store.PutDecision(ctx, model.Decision{ID: provisioned, Cluster: "shop", AtUnix: now - 4000, Trigger: "replace", Rounds: []model.Round{{
		Plan: model.Plan{Claims: []model.PlannedClaim{{Name: "default-new", Pool: "default", InstanceTypes: []string{"m7.large"}, Price: 100_000}}}, Launched: []model.Claim{bought}}}}))
	must(store.PutDecision(ctx, model.Decision{ID: idOf(now - 30), Cluster: "shop", AtUnix: now - 30, Trigger: "batch", Rounds: []model.Round{{Plan: model.Plan{Unschedulable: []model.Unschedulable{{
		Pod: model.PodRef{Namespace: "shop", Name: "web-0", UID: "u-web"}, Reasons: []model.Reason{{Pool: "default", Code: "LimitReached", Message: "spec.limits.cpu"}}}}}}}}))

	snapshot := &model.Snapshot{
		Cluster: "shop", Seq: 1, AtUnix: now,
		Pods: []model.Pod{{Namespace: "shop", Name: "api-0", UID: "u-api", NodeName: "n1", Phase: model.Running, Ready: true, StartedUnix: now - 3500},
			{Namespace: "shop", Name: "web-0", UID: "u-web", Shape: 1, Unschedulable: true, CreatedUnix: now - 60}},
		Shapes: []model.PodShape{{Namespace: "shop", OwnerKind: "StatefulSet", OwnerName: "api", Requests: model.Resources{model.CPU: 500, model.Memory: 1 << 30, model.Pods: 1}},
			{Namespace: "shop", OwnerKind: "StatefulSet", OwnerName: "web", Requests: model.Resources{model.CPU: 1800, model.Memory: 1 << 30, model.Pods: 1}}},
		Nodes: []model.Node{{Name: "n1", UID: "n1", ProviderID: "aws:///us-west-2a/i-new", Ready: true, Allocatable: model.Resources{model.CPU: 2000, model.Memory: 8 << 30, model.Pods: 29},
			Labels: map[string]string{model.LabelNodePool: "default", model.LabelRegistered: "true", model.LabelInitialized: "true", model.LabelInstanceType: "m7.large", model.LabelZone: "us-west-2a", model.LabelCapacityType: model.OnDemand}}},
		Pools: []model.Pool{{Name: "default", UID: "p", Limits: model.Resources{model.CPU: 3000}, Template: model.Template{ClassName: "default"}}},
		Classes: []model.Class{{Name: "default", UID: "c", Family: "AL2023", Generation: 1, Status: model.ClassStatus{ObservedGeneration: 1, ResolvedUnix: now,
			Subnets: []model.Subnet{{ID: "subnet-a", Zone: "us-west-2a"}}}}},
	}
	snapshot.Epoch, err = a.ledger.NextEpoch(ctx, "shop", "watcher")
	must(err)
	data, err := wire.EncodeSnapshot(snapshot)
	must(err)
	key, err := store.PutSnapshot(ctx, "shop", snapshot.Epoch, 1, data)
	must(err)
	_, err = a.ledger.AdvanceManifest(ctx, model.Manifest{Cluster: "shop", Epoch: snapshot.Epoch, SnapshotKey: key, SnapshotSeq: 1, HeadSeq: 1, WrittenUnix: now, HeartbeatAt: now, WatcherOwner: "watcher"})
	must(err)

	offerings := []model.Offering{{Zone: "us-west-2a", CapacityType: model.OnDemand, Price: 100_000, Available: true}}
	must(s3catalog.New(client, "joiner-data", s3catalog.Settings{}).Write(ctx, reg, model.InstanceCatalog{ReadUnix: now, PriceUnix: now, SpotUnix: now, Version: "1", Types: []model.InstanceTypeInfo{{
		Name: "m7.large", Arch: "amd64", VCPUs: 2, MemoryMiB: 8192, Hypervisor: "nitro", Interfaces: 3, IPv4PerInterface: 10, UsageClasses: []string{model.OnDemand}, Offerings: offerings}}}, ""))
	return now
}

// idOf returns the id of a decision of then.
func idOf(unix int64) string {
	return ulid.MustNew(uint64(unix)*1000, bytes.NewReader(make([]byte, 10))).String()
}

// What an installation keeps answers what files cannot: who launched a node for whom, who took one away, what that saved.
func TestAnInstallationAnswersWhyAndWhatFor(t *testing.T) {
	a := newAccount(t)
	now := a.lived(t)
	evaluated, refused := idOf(now-4100), idOf(now-30)
	ask := func(args ...string) string {
		t.Helper()
		code, out, errs := joiner("", args...)
		if code != 0 {
			t.Fatalf("%v: exit status %d: %s", args, code, errs)
		}
		return out
	}
	says := func(out string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("it is not said %q:\n%s", want, out)
			}
		}
	}
	says(ask("why", "pod", "shop/web-0"), "spec.limits.cpu 3 leaves 1", "Remedy: raise the limit", "then NodePool default would hold it on m7.large on-demand", refused)
	says(ask("why", "pod", "shop/api-0"), "is not pending: it is bound to node n1 (m7.large, on-demand, us-west-2a, NodePool default)")
	says(ask("why", "node", "n1"), "INSTANCE", "i-new", "WHY IT WAS LAUNCHED", "as a replacement for nodes that a command disrupts", "WHY IT STAYS")
	says(ask("why", "node", "i-old"), "is gone since", "Joiner disrupted it (Underutilized)", "command "+evaluated+"-0 was to save $0.3000 per hour and move 1 pod;", "its replacements are default-new", "COMMAND "+evaluated+"-0, done")
	if code, _, errs := joiner("", "why", "node", "n7"); code != 1 || !strings.Contains(errs,
		"neither a node, nor a NodeClaim, nor an instance") {
		t.Errorf("exit status %d: %s", code, errs)
	}
	says(ask("report", "--since", "2h", "--by", "workload"), "WORKLOAD", "StatefulSet shop/api", "IDLE NODES", "n1 (default)")

	var saving explain.Saving
	if err := json.Unmarshal([]byte(ask("savings", "--since", "2h", "-o", "json")), &saving); err != nil {
		t.Fatal(err)
	}
	if len(saving.Moves) != 1 || saving.PerHour != 300_000 || saving.Moves[0].State != explain.CommandDone || saving.Saved < 280_000 || saving.Saved > 310_000 {
		t.Errorf("%+v", saving)
	}
	says(ask("savings"), "1 command, 1 pod moved, 0 regrets", "Underutilized")
	var decided []explain.Decided
	if err := json.Unmarshal([]byte(ask("decisions", "--since", "2h", "-o", "json")), &decided); err != nil || len(decided) == 0 || decided[0].ID == "" {
		t.Fatalf("%+v %v", decided, err)
	}
	says(ask("decisions", "--since", "2h"), decided[0].ID, "1 node disrupted (Underutilized)")

	if code, _, errs := joiner("", "why", "pod", "shop/web-0", "--cluster", "other"); code != 2 || !strings.Contains(errs, `cluster "other" is not attached; there is shop`) {
		t.Errorf("exit status %d: %s", code, errs)
	}
	if code, _, errs := joiner("", "why", "pod", "shop/web-0", "--at", "-90d"); code != 2 || !strings.Contains(errs, "no snapshot of cluster shop is stored") {
		t.Errorf("exit status %d: %s", code, errs)
	}
}
