package interruption_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// A3, S1, R16: instances beyond an intent's claims are terminated within 120 s of becoming visible, and no others.
func TestA3_S1_R16_InstancesNobodyOwnsEndWithin120Seconds(t *testing.T) {
	w := start(t, world.Options{Visibility: 5 * time.Second})
	w.Fleet.GiveMore(2)
	w.Cluster.AddPods("web", 2, big())
	w.Tick(time.Second)
	if _, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch); err != nil {
		t.Fatal(err)
	}
	w.Fleet.GiveMore(0)
	before := len(instances(w))
	if before != 4 {
		t.Fatalf("%d machines for two claims, want 4", before)
	}
	w.Tick(5 * time.Second)
	sum := pass(t, w, 120*time.Second)
	if got := len(instances(w)); got != 2 || len(sum.Terminated) != 2 {
		t.Errorf("%d machines run after 120 s, %d were terminated: %+v", got, len(sum.Terminated), sum.Outcome)
	}
	settle(t, w)
	nothing(t, w, pass(t, w, 10*time.Minute))
	sound(t, w)
}

// R22, S2: an instance of an open launch is nobody's orphan, however long its recovery takes.
func TestS2_InstancesOfAnOpenLaunchAreLeftAlone(t *testing.T) {
	w := start(t, world.Options{})
	w.Cluster.AddPods("web", 3, big())
	w.Tick(time.Second)
	killed := w.Process(world.Fault{At: 1, Effect: "launch", Mode: world.DiesAfter})
	_, _ = killed.Run(t.Context(), provision.TriggerBatch) // nobody hears what it returns
	sum := pass(t, w, 10*time.Minute)
	nothing(t, w, sum)
	settle(t, w)
	sound(t, w)
}

// S2, R19: however the reads of a look interleave with a launch, no fresh instance is taken for an orphan.
func TestS2_R19_LaunchBetweenTheReadsOfAPass(t *testing.T) {
	for _, at := range []string{"before EC2", "after EC2", "after the ledger", "after the API server"} {
		w := start(t, world.Options{})
		w.Cluster.AddPods("web", 2, big())
		w.Tick(time.Second)
		launch := func() {
			if _, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			flow := w.Ports(w.Process(world.Fault{}), "interleaved").Interruption(w.Clock.Now, interruption.Settings{})
			hook := &between{at, launch}
			flow.Connector = hookedConnector{flow.Connector, hook}
			flow.Collector = hookedStore{flow.Collector, hook}
			if at == "before EC2" {
				launch()
			}
			outcome, err := flow.Run(t.Context(), interruption.Request{Cluster: world.Name, Owner: at, Deadline: w.Clock.Now().Add(30 * time.Second)})
			if err != nil {
				t.Fatalf("%s: %v", at, err)
			}
			if outcome.Findings["Orphan"] > 0 || len(outcome.Terminated) > 0 {
				t.Errorf("%s: %+v", at, outcome)
			}
			launch = func() {}
			w.Tick(40 * time.Second)
		}
		settle(t, w)
		sound(t, w)
	}
}

// between calls launch after one of the reads of a look.
type between struct {
	at     string
	launch func()
}

func (b *between) after(read string) {
	if b.at == "after "+read {
		b.launch()
	}
}

type hookedConnector struct {
	port.Connector[interruption.Clients]
	*between
}

func (c hookedConnector) Connect(ctx context.Context, reg model.Registration) (interruption.Clients, error) {
	site, err := c.Connector.Connect(ctx, reg)
	return interruption.Clients{Cluster: hookedCluster{site.Cluster, c.between}, Fleet: hookedFleet{site.Fleet, c.between}, Health: site.Health}, err
}

type hookedFleet struct {
	interruption.Fleet
	*between
}

func (f hookedFleet) Owned(ctx context.Context, cluster string) ([]model.Instance, error) {
	defer f.after("EC2")
	return f.Fleet.Owned(ctx, cluster)
}

type hookedCluster struct {
	interruption.Cluster
	*between
}

func (c hookedCluster) ReadLive(ctx context.Context) (model.LiveState, error) {
	defer c.after("the API server")
	return c.Cluster.ReadLive(ctx)
}

type hookedStore struct {
	interruption.CollectorStore
	*between
}

func (b hookedStore) Records(ctx context.Context, reg model.Registration) (model.ClusterRecords, error) {
	defer b.after("the ledger")
	return b.CollectorStore.Records(ctx, reg)
}

// S3, R19, B7: instances that lack any of our three tags, or carry another cluster's, are never touched.
func TestS3_R19_ForeignInstancesAreNeverTouched(t *testing.T) {
	w := settled(t, 1, world.Options{})
	all := map[string]string{
		"kubernetes.io/cluster/world": "owned", "eks:eks-cluster-name": "world", model.LabelNodePool: "default", "joiner.sh/intent": "01NOBODY",
	}
	without := func(key string) map[string]string {
		tags := map[string]string{}
		for k, v := range all {
			if k != key {
				tags[k] = v
			}
		}
		return tags
	}
	other := without("kubernetes.io/cluster/world")
	other["kubernetes.io/cluster/shop"] = "owned"
	shared := without("kubernetes.io/cluster/world")
	shared["kubernetes.io/cluster/world"] = "shared"
	foreign := map[string]bool{}
	for _, tags := range []map[string]string{nil, other, shared, without("kubernetes.io/cluster/world"), without(model.LabelNodePool), without("joiner.sh/intent")} {
		foreign[w.Fleet.AddInstance(model.Instance{Type: "m5.large", Zone: "us-west-2a", CapacityType: model.OnDemand, Tags: tags})] = true
	}
	ours := w.Fleet.AddInstance(model.Instance{Type: "m5.large", Zone: "us-west-2a", CapacityType: model.OnDemand, Tags: all})
	sum := pass(t, w, 10*time.Minute)
	if len(sum.Terminated) != 1 || sum.Terminated[0] != ours {
		t.Errorf("terminated %v, want only %s", sum.Terminated, ours)
	}
	for _, m := range instances(w) {
		delete(foreign, m.ID)
	}
	if len(foreign) > 0 {
		t.Errorf("foreign machines ended: %v", foreign)
	}
}

// R66: that an orphan is not shown once, or its termination is refused, ends nothing: it is found again and ended.
func TestR66_OrphanIsEndedThoughCallsFail(t *testing.T) {
	w := settled(t, 1, world.Options{})
	id := w.Fleet.AddInstance(orphanOf("default"))
	collect(t, w)
	w.Tick(35 * time.Second)
	failing := w.Process(world.Fault{At: 1, Effect: "terminate", Mode: world.Fails})
	if outcome, err := failing.Collect(t.Context()); err != nil || len(outcome.Terminated) > 0 || len(outcome.Problems) == 0 {
		t.Fatalf("%+v %v", outcome, err)
	}
	sum := pass(t, w, 2*time.Minute)
	if m, _ := w.Fleet.Instance(id); m.State != "terminated" && m.State != "shutting-down" {
		t.Errorf("the orphan is %s: %+v", m.State, sum.Outcome)
	}
	sound(t, w)
}

func orphanOf(pool string) model.Instance {
	return model.Instance{Type: "m5.large", Zone: "us-west-2a", CapacityType: model.OnDemand, Tags: map[string]string{
		"kubernetes.io/cluster/world": "owned", "eks:eks-cluster-name": "world", model.LabelNodePool: pool, model.LabelNodeClass: "default", "joiner.sh/intent": "01NOBODY",
	}}
}

// The ledger is lost: every instance whose NodeClaim or node is there is adopted, none is ended, no pod moves, and what
// they take counts even where that is above the limit.
func TestLedgerLost_InstancesAreAdopted(t *testing.T) {
	for name, without := range map[string]func(w *world.World){
		"objects and nodes": func(*world.World) {},
		"nodes only": func(w *world.World) {
			for _, object := range w.Cluster.Claims() {
				w.Cluster.DeleteClaim(object.Claim.Name)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 6, world.Options{})
			pool := world.Pool("default", "default")
			pool.Limits = model.Resources{model.Nodes: 3}
			w.Cluster.AddPool(pool)
			before := instances(w)
			w.Ledger.Lose(world.Name)
			without(w)
			sum := pass(t, w, 5*time.Minute)
			if sum.Adopted != 6 || len(sum.Terminated) > 0 || sum.Closed > 0 {
				t.Errorf("%+v", sum.Outcome)
			}
			if after := instances(w); len(after) != len(before) {
				t.Errorf("%d machines, were %d", len(after), len(before))
			}
			settle(t, w)
			nothing(t, w, pass(t, w, 5*time.Minute))
			sound(t, w)
			if held, _ := w.Ledger.Held("default"); held[model.Nodes] != 6 || held[model.CPU] < 6*1900 {
				t.Errorf("the pool holds %v, want 6 nodes and their CPU", held)
			}
			if len(instances(w)) != 6 {
				t.Errorf("%d machines", len(instances(w)))
			}
		})
	}
}

// Instances that were on their way when the ledger was lost are adopted by their NodeClaim objects.
func TestLedgerLost_InstancesThatHaveNotJoinedAreAdopted(t *testing.T) {
	w := start(t, world.Options{Boot: 4 * time.Minute})
	w.Cluster.AddPods("web", 2, big())
	w.Tick(time.Second)
	if _, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch); err != nil {
		t.Fatal(err)
	}
	w.Ledger.Lose(world.Name)
	sum := pass(t, w, 3*time.Minute)
	if sum.Adopted != 2 || len(sum.Terminated) > 0 {
		t.Errorf("%+v", sum.Outcome)
	}
	w.Tick(2 * time.Minute)
	settle(t, w)
	sound(t, w)
	if len(instances(w)) != 2 {
		t.Errorf("%d machines for two pods", len(instances(w)))
	}
}

// R67: an instance nobody recorded whose node carries pods is adopted, even where nothing else speaks for it.
func TestR67_InstanceWithPodsIsNeverEnded(t *testing.T) {
	w := settled(t, 2, world.Options{})
	ledger := load(t, w)
	fence, err := w.Ledger.AcquireLease(t.Context(), world.Name, model.LeaseCollector, "somebody", w.Clock.Now().Unix(), w.Clock.Now().Unix())
	if err != nil {
		t.Fatal(err)
	}
	claim := ledger.Claims[0]
	claim.FailureCode = model.EndedMissing // EC2 lied for minutes
	if err := w.Ledger.CloseClaim(t.Context(), fence, claim, w.Clock.Now().Unix()); err != nil {
		t.Fatal(err)
	}
	w.Tick(2 * time.Second)
	sum := pass(t, w, 3*time.Minute)
	if sum.Adopted != 1 || len(sum.Terminated) > 0 {
		t.Errorf("%+v\n%s", sum.Outcome, claimsText(t, w))
	}
	settle(t, w)
	nothing(t, w, pass(t, w, 5*time.Minute))
	sound(t, w)
	if len(w.Cluster.Waiting()) > 0 || len(instances(w)) != 2 {
		t.Errorf("waiting %v, %d machines", w.Cluster.Waiting(), len(instances(w)))
	}
}

// An orphan whose claim we ended on purpose is ended, pods or not: the ledger names it.
func TestR67_InstanceTheLedgerCondemnedIsEnded(t *testing.T) {
	w := settled(t, 1, world.Options{})
	fence, err := w.Ledger.AcquireLease(t.Context(), world.Name, model.LeaseCollector, "somebody", w.Clock.Now().Unix(), w.Clock.Now().Unix())
	if err != nil {
		t.Fatal(err)
	}
	claim := load(t, w).Claims[0]
	claim.FailureCode = model.EndedNeverRegistered
	if err := w.Ledger.CloseClaim(t.Context(), fence, claim, w.Clock.Now().Unix()); err != nil {
		t.Fatal(err)
	}
	w.Tick(2 * time.Second)
	sum := pass(t, w, 2*time.Minute)
	if len(sum.Terminated) != 1 || sum.Adopted > 0 {
		t.Errorf("%+v", sum.Outcome)
	}
}

// C11: with any of the three unreachable nothing is removed.
func TestC11_NothingIsRemovedWhileAnythingIsUnreachable(t *testing.T) {
	down := fault.New(fault.Internal, "", "i/o timeout")
	for name, cut := range map[string]func(w *world.World){
		"EC2":        func(w *world.World) { w.Fleet.Unreachable(w.Clock.Now().Add(3 * time.Hour)) },
		"API server": func(w *world.World) { w.Cluster.Refuse(func(string) error { return down }) },
	} {
		t.Run(name, func(t *testing.T) {
			w := settled(t, 3, world.Options{})
			w.Fleet.AddInstance(orphanOf("default"))
			w.Cluster.DeleteNode(w.Cluster.Nodes()[0].Name)
			w.Tick(time.Second)
			cut(w)
			sum := pass(t, w, 20*time.Minute)
			nothing(t, w, sum)
			if len(sum.errs) != sum.runs {
				t.Errorf("%d of %d runs said that they could not look", len(sum.errs), sum.runs)
			}
		})
	}
}

// F3: while a claim cannot be read its instance is nobody's orphan, and neither is any other; drains and ends of claims that can be read go on.
func TestF3NoInstanceEndsForAClaimThatCannotBeRead(t *testing.T) {
	w := settled(t, 3, world.Options{})
	claims := load(t, w).Claims
	world.SpoilItem(w.Ledger, world.Name, model.UnreadClaim, claims[0].Name)
	sum := pass(t, w, 10*time.Minute)
	if len(sum.Terminated) != 0 || sum.Adopted != 0 || sum.Removed != 0 || len(instances(w)) != 3 {
		t.Errorf("%+v", sum.Outcome)
	}
	if len(sum.Problems) == 0 || !strings.Contains(sum.Problems[0], "CLAIM#"+claims[0].Name) {
		t.Errorf("problems %v", sum.Problems)
	}
	world.MendItems(w.Ledger, world.Name)
	nothing(t, w, pass(t, w, 10*time.Minute))
	sound(t, w)
}
