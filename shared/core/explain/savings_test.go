package explain

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

const hour = 3600

// instance is a claim with an instance that cost a dollar an hour and was launched then.
func instance(name string, launchedUnix int64, price model.MicroUSD) model.Claim {
	return model.Claim{Name: name, Pool: "default", InstanceID: "i-" + name, ProviderID: "aws:///a/i-" + name, InstanceType: "m7.large", CapacityType: model.OnDemand,
		State: model.Initialized, Price: price, LaunchedUnix: launchedUnix}
}

// aMove is the record of a command that gave node old (10 dollars an hour) back for new (4).
func aMove() ([]model.Decision, []model.Disrupted, []model.Removal, model.Ledger) {
	bought := instance("new", 1000, 4_000_000)
	decisions := []model.Decision{{ID: "01P", AtUnix: 990, Trigger: "replace", Rounds: []model.Round{{Launched: []model.Claim{bought}}}}}
	disruptions := []model.Disrupted{{ID: "01J", AtUnix: 950, Committed: []string{"01J-0"}, Plan: model.DisruptPlan{Commands: []model.PlannedCommand{
		{Reason: model.ReasonUnderutilized, Nodes: []string{"n-old"}, Replacements: []model.PlannedClaim{{Name: "new"}}, PodsMoved: 7, Savings: 6_000_000, Workloads: []string{"shop/ReplicaSet/web-5d4f"}},
		{Reason: model.ReasonEmpty, Nodes: []string{"n-refused"}},
	}}}}
	removals := []model.Removal{{Claim: instance("old", 10, 10_000_000), Reason: model.ReasonUnderutilized, By: model.ByJoiner, Command: "01J-0", Decision: "01J", PricePerHour: 10_000_000, GoneUnix: 1600}}
	return decisions, disruptions, removals, model.Ledger{Claims: []model.Claim{bought}}
}

// What was spent and what was saved come together to what the span would have cost without the move.
func TestSavingsAndSpendingComeToWhatItWouldHaveCost(t *testing.T) {
	decisions, disruptions, removals, ledger := aMove()
	end := int64(1000 + 10*hour)
	s := Savings(decisions, disruptions, removals, &ledger, 0, end)
	without := over(10_000_000, end-10)
	if s.Spent+s.Saved != without {
		t.Errorf("spent %d and saved %d, together %d; without the move it were %d", s.Spent, s.Saved, s.Spent+s.Saved, without)
	}
	if len(s.Moves) != 1 { // the other was refused
		t.Fatalf("%d moves", len(s.Moves))
	}
	m := s.Moves[0]
	if m.State != CommandDone || m.PerHour != 6_000_000 || s.PerHour != 6_000_000 || m.PodsMoved != 7 || s.Pods != 7 || s.Regrets != 0 {
		t.Errorf("%+v", m)
	}
}

// D19: a move that is undone within the hour is regretted, and saves nothing from then on; later it is not.
func TestAMoveUndoneWithinTheHourIsARegret(t *testing.T) {
	for _, test := range []struct {
		name    string
		at      int64 // of the purchase
		pod     string
		regrets int
	}{{"within the hour", 1600 + hour - 1, "web-5d4f-x", 1}, {"after the hour", 1600 + hour + 1, "web-5d4f-x", 0}, {"for somebody else", 1600 + 60, "api-77-x", 0}} {
		decisions, disruptions, removals, ledger := aMove()
		again := instance("again", test.at, 10_000_000)
		again.Pods = []model.PodRef{{Namespace: "shop", Name: test.pod}}
		decisions = append(decisions, model.Decision{ID: "01Q", AtUnix: test.at, Rounds: []model.Round{{Launched: []model.Claim{again}}}})
		s := Savings(decisions, disruptions, removals, &ledger, 0, 1000+10*hour)
		if s.Regrets != test.regrets || (s.Moves[0].Regret != "") != (test.regrets > 0) {
			t.Errorf("%s: %d regrets: %q", test.name, s.Regrets, s.Moves[0].Regret)
		}
		if test.regrets > 0 {
			if want := over(10_000_000, test.at-1600) - over(4_000_000, test.at-1000); s.Moves[0].Saved != want || s.PerHour != 0 {
				t.Errorf("%s: saved %d, want %d; %d per hour now", test.name, s.Moves[0].Saved, want, s.PerHour)
			}
		}
	}
}

// A replacement that is disrupted by the next command within the hour was bought without effect.
func TestAReplacementGivenBackIsARegret(t *testing.T) {
	decisions, disruptions, removals, _ := aMove()
	gone := instance("new", 1000, 4_000_000)
	removals = append(removals, model.Removal{Claim: gone, Reason: model.ReasonEmpty, Command: "01K-0", GoneUnix: 2000, PricePerHour: 4_000_000})
	s := Savings(decisions, disruptions, removals, &model.Ledger{}, 0, 5000)
	if s.Regrets != 1 || s.Moves[0].RegretUnix != 2000 {
		t.Errorf("%+v", s.Moves[0])
	}
}

// What is paid for anyway is not saved.
func TestReservedCapacityIsNotSaved(t *testing.T) {
	decisions, disruptions, removals, ledger := aMove()
	removals[0].Claim.CapacityType = model.Reserved
	s := Savings(decisions, disruptions, removals, &ledger, 0, 1000+hour)
	if s.Moves[0].Committed != 1 || s.Moves[0].PerHour != -4_000_000 || s.Saved != -4_000_000 {
		t.Errorf("%+v", s.Moves[0])
	}
}

// A command that is taken back saves nothing, and what it bought meanwhile costs.
func TestACommandThatIsUndoneCostsWhatItBought(t *testing.T) {
	decisions, disruptions, _, ledger := aMove()
	ledger.Commands = []model.Command{{ID: "01J-0", State: model.CommandUndone, SinceUnix: 950}}
	s := Savings(decisions, disruptions, nil, &ledger, 0, 1000+hour)
	if len(s.Moves) != 1 || s.Moves[0].State != CommandUndone || s.Saved != -4_000_000 || s.Pods != 0 {
		t.Errorf("%+v", s.Moves)
	}
}

// An instance's cost goes to its pods by the largest share of what each asks for, and what is left is idle; nothing is lost on the way.
func TestCostsAreSharedByTheLargestPart(t *testing.T) {
	node := model.Node{Name: "n1", ProviderID: "aws:///a/i-m", Labels: map[string]string{model.LabelNodePool: "default"}, Allocatable: model.Resources{model.CPU: 4000, model.Memory: 16 << 30, "nvidia.com/gpu": 1}}
	shape := func(ns, owner string, cpu, memory, gpu int64) model.PodShape {
		return model.PodShape{Namespace: ns, OwnerKind: "ReplicaSet", OwnerName: owner, Requests: model.Resources{model.CPU: cpu, model.Memory: memory, "nvidia.com/gpu": gpu, model.Pods: 1}}
	}
	snapshot := &model.Snapshot{
		Nodes:  []model.Node{node},
		Shapes: []model.PodShape{shape("shop", "web-5d4f8c7b9f", 1000, 1<<30, 0), shape("shop", "web-77bcdf9d4c", 0, 4<<30, 0), shape("ml", "train-7d9f4c", 100, 1<<30, 1)},
		Pods: []model.Pod{{Namespace: "shop", Name: "a", Shape: 0, NodeName: "n1"}, {Namespace: "shop", Name: "b", Shape: 1, NodeName: "n1"},
			{Namespace: "shop", Name: "over", Shape: 0, NodeName: "n1", Phase: model.Succeeded}, {Namespace: "shop", Name: "waits", Shape: 0}},
	}
	life := lifeOf(&model.Claim{Name: "c", Pool: "default", ProviderID: "aws:///a/i-m", Price: 4_000_000, LaunchedUnix: 100, State: model.Initialized})
	cost := Costs([]InstanceLifetime{life}, []Sample{{FromUnix: 1000, Seconds: hour, Snapshot: snapshot}}, nil)
	if cost.Total != 4_000_000 || cost.Idle != 2_000_000 || cost.Unseen != 0 {
		t.Errorf("total %d, idle %d, unseen %d", cost.Total, cost.Idle, cost.Unseen)
	}
	if len(cost.Workloads) != 1 || cost.Workloads[0].Name != "web" || cost.Workloads[0].Kind != "Deployment" || cost.Workloads[0].Cost != 2_000_000 || cost.Workloads[0].PodSeconds != 2*hour {
		t.Errorf("workloads %+v", cost.Workloads)
	}
	snapshot.Pods = append(snapshot.Pods, model.Pod{Namespace: "ml", Name: "train", Shape: 2, NodeName: "n1"}) // now 1.5 of the node
	cost = Costs([]InstanceLifetime{life}, []Sample{{FromUnix: 1000, Seconds: hour, Snapshot: snapshot}}, nil)
	if cost.Idle > 3 || cost.Namespaces[0].Namespace != "ml" || cost.Namespaces[0].Cost < 2_666_000 || cost.Namespaces[0].Cost > 2_667_000 {
		t.Errorf("idle %d, namespaces %+v", cost.Idle, cost.Namespaces)
	}
}

// Instances are counted for as long as they ran; where no sample shows their node what they cost is counted apart.
func TestCostsCountInstancesToTheSecond(t *testing.T) {
	lives := []InstanceLifetime{{Claim: "a", Pool: "p", ProviderID: "x", Price: 3_600_000, LaunchedUnix: 1500, EndUnix: 1800}, {Claim: "b", Pool: "p", ProviderID: "y", Price: 3_600_000, LaunchedUnix: 2900}}
	cost := Costs(lives, []Sample{{FromUnix: 1000, Seconds: 1000, Snapshot: &model.Snapshot{}}, {FromUnix: 2000, Seconds: 1000, Snapshot: &model.Snapshot{}}}, nil)
	if cost.Total != 400_000 || cost.Unseen != 400_000 || cost.Pools[0].NodeSeconds != 400 {
		t.Errorf("%+v", cost)
	}
}

// Of a node it is reported what launched it, among which alternatives, and what EC2 refused on the way.
func TestWhyNodeNamesTheDecisionThatLaunchedIt(t *testing.T) {
	cluster := aClusterState()
	claim := instance("default-x1", testNow-500, 110_000)
	claim.NodeName, claim.Decision = "n1", "01B"
	cluster.Installation.Ledger.Claims = []model.Claim{claim}
	cluster.Ask.Snapshot.Nodes = []model.Node{{Name: "n1", ProviderID: claim.ProviderID, Labels: map[string]string{model.LabelNodePool: "default"}}}
	born := &model.Decision{ID: "01B", AtUnix: testNow - 510, Trigger: "batch", Rounds: []model.Round{
		{UnavailableOfferings: []model.UnavailableOffering{{OfferingKey: model.OfferingKey{InstanceType: "m7.large", Zone: "a", CapacityType: model.OnDemand}, Reason: "InsufficientInstanceCapacity"}}},
		{Plan: model.Plan{Claims: []model.PlannedClaim{{Name: "default-x1", InstanceTypes: []string{"m7.large", "m7.huge"}, Zones: []string{"b"}, Price: 110_000, Pods: []model.PodRef{{Namespace: "shop", Name: "web"}}}}}, Launched: []model.Claim{claim}},
	}}
	for _, asked := range []string{"default-x1", "n1", "i-default-x1"} {
		found := Find(cluster, asked)
		if found.Claim == nil || found.Node == nil {
			t.Fatalf("%s is not found", asked)
		}
		a := Node(cluster, asked, found, NodeFacts{Launch: born, Market: cluster.Ask.Catalogs["default"], Plan: &model.DisruptPlan{Kept: []model.KeptNode{{Node: "n1", Reasons: []model.KeptReason{{Code: "DisruptionBudget", Message: "PodDisruptionBudget shop/web lets pod shop/web not go now"}}}}}})
		b := a.Launch
		if a.Cause.Code != "DisruptionBudget" || b == nil || b.For != "for pod shop/web" || b.Acceptable != 2 || len(b.Refused) != 1 || b.Refused[0].Offering != "m7.large on-demand a" {
			t.Fatalf("%s: %s: %+v", asked, a.Line(), b)
		}
		if got := b.Alternatives[0]; got.Price != 110_000 || got.Zone != "b" || !got.Chosen || b.Alternatives[1].Chosen {
			t.Errorf("alternatives %+v", b.Alternatives)
		}
	}
}

// D5: whoever removed a node is reported, with the command and what it was to save.
func TestWhyNodeTellsWhoRemovedIt(t *testing.T) {
	_, disruptions, removals, _ := aMove()
	removals[0].Claim.NodeName, removals[0].Node, removals[0].Claim.Command = "n-old", "n-old", "01J-0"
	removals[0].Replacements = []string{"new"}
	cluster := &Cluster{Ask: pack.Input{Snapshot: &model.Snapshot{}, NowUnix: 9000}, Installation: &Installation{Removals: removals}}
	a := Node(cluster, "n-old", Find(cluster, "n-old"), NodeFacts{Moved: &disruptions[0]})
	want := "node n-old is gone since 1970-01-01T00:26:40Z: Joiner disrupted it (Underutilized); command 01J-0 was to save $6.0000 per hour and move 7 pods; its replacements are new."
	if a.Line() != want {
		t.Errorf("got  %s\nwant %s", a.Line(), want)
	}
	removals[0].By, removals[0].Reason, removals[0].Command, removals[0].Claim.Command, removals[0].Replacements = model.ByAWS, model.EndedSpotInterrupted, "", "", nil
	if a := Node(cluster, "i-old", Find(cluster, "i-old"), NodeFacts{}); a.Line() != "node n-old is gone since 1970-01-01T00:26:40Z: AWS terminated it (SpotInterrupted)." {
		t.Error(a.Line())
	}
	if a := Node(cluster, "n-odl", Find(cluster, "n-odl"), NodeFacts{}); a.Cause.Code != NotThere {
		t.Error(a.Line())
	}
}
