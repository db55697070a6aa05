package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// testNow is the date every test is at: 2026-05-28T20:26:40Z.
const testNow = 1_780_000_000

// aClusterState is a cluster with one NodePool and one pod that waits for a minute, web of namespace shop; an instance can be had for it.
func aClusterState() *Cluster {
	offerings := []model.Offering{
		{Zone: "a", CapacityType: model.OnDemand, Price: 100_000, Available: true}, {Zone: "b", CapacityType: model.OnDemand, Price: 110_000, Available: true},
	}
	labels := map[string][]string{model.LabelArch: {"amd64"}, model.LabelOS: {"linux"}, model.LabelInstanceType: {"m7.large"}}
	return &Cluster{
		Ask: pack.Input{
			Snapshot: &model.Snapshot{
				Pods: []model.Pod{{Namespace: "shop", Name: "web", UID: "uid-web", Unschedulable: true, CreatedUnix: testNow - 60}},
				Shapes: []model.PodShape{{Namespace: "shop", Requests: model.Resources{model.CPU: 1000, model.Memory: 1 << 30, model.Pods: 1},
					OwnerKind: "ReplicaSet", OwnerName: "web-5d4f"}},
				Pools: []model.Pool{{Name: "default", UID: "pool", Template: model.Template{ClassName: "default"}}},
			},
			Catalogs: map[string][]model.InstanceType{"default": {{
				Name: "m7.large", Labels: labels, Offerings: offerings, Capacity: model.Resources{model.CPU: 2000, model.Memory: 8 << 30, model.Pods: 29},
			}}},
			NowUnix: testNow,
		},
		Installation: &Installation{
			Registration: model.Registration{Cluster: "prod"},
			Ledger:       model.Ledger{NowUnix: testNow, Manifest: &model.Manifest{Cluster: "prod", HeartbeatAt: testNow - 5}},
		},
	}
}

func (s *Cluster) claimed(c model.Claim) {
	c.Name, c.Pool, c.Class, c.CreatedUnix, c.LaunchedUnix = "default-x1", "default", "default", testNow-50, testNow-45
	c.InstanceTypes, c.Pods = []string{"m7.large"}, []model.PodRef{{Namespace: "shop", Name: "web", UID: "uid-web"}}
	s.Installation.Ledger.Claims = append(s.Installation.Ledger.Claims, c)
	s.Ask.Claims = append(s.Ask.Claims, c)
}

// soldOut marks everything with an error of EC2's.
func (s *Cluster) soldOut(code string) {
	types := s.Ask.Catalogs["default"]
	for i := range types[0].Offerings {
		o := &types[0].Offerings[i]
		o.Available = false
		s.Ask.UnavailableOfferings = append(s.Ask.UnavailableOfferings, model.UnavailableOffering{OfferingKey: model.OfferingKey{InstanceType: "m7.large", Zone: o.Zone, CapacityType: o.CapacityType},
			Reason: code, UntilUnix: testNow + 180})
	}
}

// D3, of what only the ledger knows: the first line names the cause and the nearest remedy.
func TestWhyPodOfWhatTheLedgerKnows(t *testing.T) {
	tests := []struct {
		name   string
		make   func(*Cluster)
		code   string
		says   []string
		remedy []string
	}{
		{"the cluster is paused", func(s *Cluster) { s.Installation.Registration.Paused = true }, Paused, []string{"cluster prod is paused"}, []string{"joiner attach prod --paused=false"}},
		{"the cluster is being detached", func(s *Cluster) {
			no := false
			s.Installation.Registration.Paused, s.Installation.Registration.WasPaused = true, &no
		}, Paused, []string{"being detached"}, []string{"joiner attach prod attaches it again"}},
		{"the stop switch", func(s *Cluster) { s.Installation.Switch = "everything" }, SwitchedOff, []string{"stop switch"}, []string{"SSM parameter"}},
		{"disruption alone is stopped", func(s *Cluster) { s.Installation.Switch = "disruption" }, Planned, []string{"m7.large on-demand in a at $0.1000"}, nil},
		{"requested from EC2", func(s *Cluster) { s.claimed(model.Claim{State: model.Intended}) }, Launching, []string{"default-x1", "requested from EC2 50s ago"}, nil},
		{"its machine has not joined", func(s *Cluster) {
			s.claimed(model.Claim{State: model.Launched, InstanceID: "i-1", ProviderID: "aws:///a/i-1", InstanceType: "m7.large", Zone: "a", CapacityType: model.OnDemand, Price: 100_000})
		}, Joining, []string{"m7.large on-demand i-1 in a, $0.1000 per hour", "launched 45s ago"}, []string{"wait"}},
		{"M91: its NodePool waits longer", func(s *Cluster) {
			s.claimed(model.Claim{State: model.Launched, InstanceID: "i-1", ProviderID: "aws:///a/i-1"})
			s.Ask.Claims[0].LaunchedUnix, s.Installation.Ledger.Claims[0].LaunchedUnix = testNow-1000, testNow-1000
			s.Ask.Snapshot.Pools[0].Annotations = map[string]string{model.AnnotationJoinWithin: "40m"}
		}, Joining, nil, []string{"it is terminated at " + stamp(testNow-1000+2400)}},
		{"its node is not ready", func(s *Cluster) {
			s.claimed(model.Claim{State: model.Registered, InstanceID: "i-1", ProviderID: "aws:///a/i-1", InstanceType: "m7.large", Zone: "a"})
			s.Ask.Snapshot.Nodes = []model.Node{{Name: "n1", ProviderID: "aws:///a/i-1", Labels: map[string]string{model.LabelNodePool: "default"}, Conditions: []model.NodeCondition{{Type: "NetworkUnavailable", Status: "True"}}}}
		}, NodeNotReady, []string{"node n1", "not Ready", "NetworkUnavailable"}, []string{"network plugin"}},
		{"its device is missing", func(s *Cluster) {
			s.claimed(model.Claim{State: model.Registered, ProviderID: "aws:///a/i-1", Requests: model.Resources{"nvidia.com/gpu": 1}})
			s.Ask.Snapshot.Nodes = []model.Node{{Name: "n1", Ready: true, ProviderID: "aws:///a/i-1", Labels: map[string]string{model.LabelNodePool: "default"}}}
		}, DeviceMissing, []string{"nvidia.com/gpu"}, []string{"device plugin"}},
		{"its node is drained", func(s *Cluster) {
			s.Ask.Snapshot.Pods[0].NodeName, s.Ask.Snapshot.Pods[0].Unschedulable = "n0", false
			s.Ask.Snapshot.Nodes = []model.Node{{Name: "n0", Ready: true, ProviderID: "aws:///a/i-0"}}
			s.Installation.Ledger.Claims = []model.Claim{{Name: "default-old", State: model.Draining, ProviderID: "aws:///a/i-0", NodeName: "n0", FailureCode: model.EndedSpotInterrupted,
				Drain: &model.Drain{DeadlineUnix: testNow + 100, Waits: []string{"PodDisruptionBudget shop/web allows no eviction"}}}}
			s.claimed(model.Claim{State: model.Launched, ProviderID: "aws:///a/i-1"})
		}, Moving, []string{"node n0, which is being drained (SpotInterrupted)", "default-x1", "PodDisruptionBudget shop/web"}, []string{"continues without"}},
		{"sold out, until when", func(s *Cluster) { s.soldOut("InsufficientInstanceCapacity") }, pack.NoOffering, []string{"InsufficientInstanceCapacity", "2026-05-28T20:29:40Z"}, []string{"wait, or"}},
		{"the quota is used up", func(s *Cluster) { s.soldOut("VcpuLimitExceeded") }, pack.NoOffering, []string{"VcpuLimitExceeded"}, []string{"raise the account's quota"}},
		{"the class is not ready", func(s *Cluster) {
			s.Ask.ClassProblems = map[string]string{"default": "AMIsReady: no image matches alias al2023@v0"}
		}, pack.ClassNotReady, []string{`EC2NodeClass "default"`, "no image matches"}, []string{"correct the EC2NodeClass"}},
		{"the ledger was lost", func(s *Cluster) { s.Installation.Ledger.Notes.LostUnix = testNow - 20 }, LedgerLost, []string{"taken into the ledger"}, []string{"2026-05-28T20:29:20Z"}},
		{"planning fails over it", func(s *Cluster) {
			s.Installation.Ledger.Notes.Quarantine = []model.Quarantine{{What: "Pods/shop/ReplicaSet/web-5d4f", Count: 3, UntilUnix: testNow + 300}}
		}, Quarantined, []string{"Pods/shop/ReplicaSet/web-5d4f"}, []string{"report it"}},
		{"EC2 throttles", func(s *Cluster) { s.Installation.Ledger.Allowance.ClosedUntilUnix = testNow + 20 }, Throttled, []string{"throttles the account"}, []string{"what else in the account"}},
		{"no watcher was ever there", func(s *Cluster) { s.Installation.Ledger.Manifest = nil }, WatcherSilent, []string{"no watcher has ever published"}, []string{"joiner doctor prod"}},
		{"the watcher is silent", func(s *Cluster) { s.Installation.Ledger.Manifest.HeartbeatAt = testNow - 245 }, WatcherSilent, []string{"last heartbeat was 4m5s ago"}, []string{"joiner doctor prod"}},
		{"a batch is open", func(s *Cluster) { s.Ask.Snapshot.Pods[0].CreatedUnix = testNow - 2 }, Batching, []string{"since 2 s"}, nil},
		{"nobody came", func(s *Cluster) { s.Ask.Snapshot.Pods[0].CreatedUnix = testNow - 600 }, Overdue, []string{"for 10m"}, []string{"provision function"}},
		{"the last try failed", func(s *Cluster) {
			failed := model.Claim{Name: "default-x0", FailureCode: "InsufficientInstanceCapacity", FailureMessage: "no m7.large in a", Pods: []model.PodRef{{Namespace: "shop", Name: "web", UID: "uid-web"}}}
			s.Installation.Decisions = []model.Decision{{ID: "01D", AtUnix: testNow - 30, Rounds: []model.Round{{Failed: []model.Claim{failed}}}}}
		}, LaunchFailed, []string{"failed: InsufficientInstanceCapacity: no m7.large in a"}, []string{"tried again"}},
		{"no bad news is good news", func(*Cluster) {}, Planned, []string{"the next run of joiner-provision"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cluster := aClusterState()
			test.make(cluster)
			answer := Pod(cluster, "shop", "web")
			t.Log(answer.Line())
			if answer.Cause.Code != test.code {
				t.Errorf("code %s, want %s", answer.Cause.Code, test.code)
			}
			cause, remedy, _ := strings.Cut(answer.Line(), " Remedy: ")
			for _, want := range test.says {
				if !strings.Contains(cause, want) {
					t.Errorf("the cause does not say %q", want)
				}
			}
			for _, want := range test.remedy {
				if !strings.Contains(remedy, want) {
					t.Errorf("the remedy does not say %q", want)
				}
			}
		})
	}
}

// What is known of the ledger now says nothing of a time that is over.
func TestWhyPodInThePastGoesByRecordsAlone(t *testing.T) {
	cluster := aClusterState()
	cluster.Installation.Past, cluster.Installation.Registration.Paused = true, true
	cluster.Installation.Ledger.Notes.LostUnix = testNow - 1
	if answer := Pod(cluster, "shop", "web"); answer.Cause.Code != Planned {
		t.Errorf("%s: %s", answer.Cause.Code, answer.Line())
	}
}

// The pool with the fewest obstacles is the nearest, pools that say the same are one entry, and nothing of the scene is changed.
func TestWhyPodRanksAndFoldsPools(t *testing.T) {
	cluster := aClusterState()
	taint := []model.Taint{{Key: "gpu", Effect: model.NoSchedule}}
	cluster.Ask.Snapshot.Pools = []model.Pool{
		{Name: "far", UID: "1", Limits: model.Resources{model.CPU: 1}, Template: model.Template{ClassName: "default", Taints: taint, Labels: map[string]string{"rack": "a"}}},
		{Name: "near", UID: "2", Limits: model.Resources{model.CPU: 1}, Template: model.Template{ClassName: "default", Labels: map[string]string{"rack": "b"}}},
		{Name: "near-too", UID: "3", Limits: model.Resources{model.CPU: 1}, Template: model.Template{ClassName: "default", Labels: map[string]string{"rack": "b"}}},
	}
	cluster.Ask.Snapshot.Shapes[0].NodeSelector = map[string]string{"rack": "b"}
	before := fmt.Sprintf("%+v", *cluster.Ask.Snapshot)
	answer := Pod(cluster, "shop", "web")
	if len(answer.Pools) != 2 || fmt.Sprint(answer.Pools[0].Pools) != "[near near-too]" || len(answer.Pools[0].Obstacles) != 1 {
		t.Fatalf("%+v", answer.Pools)
	}
	var codes []string
	for _, o := range answer.Pools[1].Obstacles {
		codes = append(codes, o.Code)
	}
	if fmt.Sprint(codes) != fmt.Sprint([]string{pack.TaintNotTolerated, pack.RequirementConflict, pack.LimitReached}) || answer.Pools[1].Then == nil {
		t.Errorf("of the far pool %v, then %v", codes, answer.Pools[1].Then)
	}
	if answer.Then == nil || answer.Then.Pool != "near" || answer.Then.Offering.InstanceType != "m7.large" {
		t.Errorf("it would get %+v", answer.Then)
	}
	if after := fmt.Sprintf("%+v", *cluster.Ask.Snapshot); after != before {
		t.Error("the scene was changed")
	}
}

// What was decided about a pod is reported the latest first, each with its decision.
func TestWhyPodTellsWhatWasDecided(t *testing.T) {
	cluster := aClusterState()
	pods := []model.PodRef{{Namespace: "shop", Name: "web", UID: "uid-web"}}
	cluster.Installation.Decisions = []model.Decision{
		{ID: "01A", AtUnix: testNow - 300, Rounds: []model.Round{{Plan: model.Plan{Unschedulable: []model.Unschedulable{{Pod: pods[0], Reasons: []model.Reason{{Pool: "default", Code: pack.NoOffering, Message: "sold out"}}}}}}}},
		{ID: "01B", AtUnix: testNow - 200, Rounds: []model.Round{{Plan: model.Plan{Nominations: []model.Nomination{{Node: "n9", Pods: pods}}}}}},
		{ID: "01C", AtUnix: testNow - 100, Rounds: []model.Round{{Failed: []model.Claim{{Name: "x", FailureCode: "ICE", FailureMessage: "none", Pods: pods}}}, {Launched: []model.Claim{{Name: "y", InstanceType: "m7.large", Pods: pods}}}}},
	}
	var got []string
	for _, e := range Pod(cluster, "shop", "web").Events {
		got = append(got, e.Decision+" "+e.Text)
	}
	want := []string{"01C NodeClaim y was launched for it: m7.large.", "01C The launch of NodeClaim x for it failed: ICE: none.", "01B It was found to fit n9.", "01A No NodePool could hold it: NodePool default: sold out."}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
}
