package pack

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/model"
	"pgregory.net/rapid"
)

// partitioned is a world whose class launches into a placement group of n partitions, with reservations.
func partitioned(n int64, reservations ...model.Reservation) *world {
	class := testClass()
	class.Status.PlacementGroup = &model.PlacementGroup{ID: "pg-1", Strategy: "partition", Partitions: n}
	class.Status.Reservations = reservations
	facts := instances(16)
	for i := range facts {
		facts[i].Strategies = []string{"partition"}
	}
	w := newWorld(1)
	w.in.Catalogs["default"] = offering.Catalog(facts, class, offering.Settings{Region: "here"})
	return w.pool("pool", nil)
}

func asksFor(claim model.PlannedClaim, key string) []string {
	for _, r := range claim.Requirements {
		if r.Key == key && r.Operator == model.In {
			return r.Values
		}
	}
	return nil
}

func spreadOver(key string, labels map[string]string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.Labels = labels
		s.Spread = []model.Spread{{TopologyKey: key, MaxSkew: 1, Selector: &model.Selector{MatchLabels: labels}}}
	}
}

func TestIT11SpreadOverPartitions(t *testing.T) {
	w := partitioned(3).pods("web", 6, spreadOver(model.LabelPartition, map[string]string{"app": "web"}))
	plan := Plan(w.in)
	if len(plan.Unschedulable) > 0 {
		t.Fatalf("unschedulable: %+v", plan.Unschedulable)
	}
	perPartition := map[string]int{}
	for _, claim := range plan.Claims {
		partition := asksFor(claim, model.LabelPartition)
		if len(partition) != 1 {
			t.Fatalf("claim %s asks for partitions %v, want one", claim.Name, partition)
		}
		perPartition[partition[0]] += len(claim.Pods)
	}
	if fmt.Sprint(perPartition) != "map[1:2 2:2 3:2]" {
		t.Errorf("pods by partition = %v, want two in each", perPartition)
	}
}

// What is on its way counts where it will come up, and so do nodes.
func TestIT11SpreadCountsPartitionsThatAreTaken(t *testing.T) {
	labels := map[string]string{"app": "web"}
	spread := spreadOver(model.LabelPartition, labels)
	w := partitioned(3)
	w.in.Snapshot.Nodes = []model.Node{{Name: "n1", UID: "u1", Ready: true,
		Labels:      map[string]string{model.LabelPartition: "1", model.LabelNodePool: "pool", model.LabelZone: "a", model.LabelHostname: "n1"},
		Capacity:    model.Resources{model.CPU: 1000, model.Memory: 2 << 30, model.Pods: 1},
		Allocatable: model.Resources{model.CPU: 1000, model.Memory: 2 << 30, model.Pods: 1}}}
	w.running("old", "n1", spread).pods("new", 2, spread)
	plan := Plan(w.in)
	var got []string
	for _, claim := range plan.Claims {
		got = append(got, asksFor(claim, model.LabelPartition)...)
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"2", "3"}) || len(plan.Unschedulable) > 0 {
		t.Errorf("partitions = %v, unschedulable = %v; want the two that are free", got, plan.Unschedulable)
	}
}

func TestIT11PodKeptToAPartition(t *testing.T) {
	w := partitioned(3).
		pods("one", 2, func(s *model.PodShape) { s.NodeSelector = map[string]string{model.LabelPartition: "2"} }).
		pods("two", 2, func(s *model.PodShape) {
			s.RequiredNodeAffinity = []model.NodeTerm{{Requirements: []model.Requirement{{Key: model.LabelPartition, Operator: model.In, Values: []string{"1", "3"}}}}}
		}).
		pods("none", 1, func(s *model.PodShape) { s.NodeSelector = map[string]string{model.LabelPartition: "4"} })
	plan := Plan(w.in)
	got := map[string]int{}
	for _, claim := range plan.Claims {
		got[fmt.Sprint(asksFor(claim, model.LabelPartition))] += len(claim.Pods)
	}
	if got["[2]"] != 2 || got["[1 3]"]+got["[1]"]+got["[3]"] != 2 {
		t.Errorf("pods by partitions = %v, want two each for [2] and for [1 3]", got)
	}
	if len(plan.Unschedulable) != 1 || plan.Unschedulable[0].Pod.Name != "none-00000" {
		t.Errorf("unschedulable = %+v, want the pod for a partition that is not there", plan.Unschedulable)
	}
}

func TestPartitionsNobodyAsksForAreLeftOpen(t *testing.T) {
	w := partitioned(3).pods("web", 4, nil)
	if m := offerings.NewMarkets(&w.in, nil).Of("default", ""); m.Choosing || len(m.Columns) != 16*6 {
		t.Errorf("%d columns are told apart, want 96 that are not", len(m.Columns))
	}
	for _, claim := range Plan(w.in).Claims {
		if asked := asksFor(claim, model.LabelPartition); asked != nil {
			t.Errorf("claim %s asks for partitions %v", claim.Name, asked)
		}
	}
}

// IT-11: hardware of one's own is for pods that ask for it, and never shared with pods that refuse it.
func TestIT11TenancyIsWhatPodsAskFor(t *testing.T) {
	tenancy := func(operator model.Operator, values ...string) func(*model.PodShape) {
		return func(s *model.PodShape) {
			s.RequiredNodeAffinity = []model.NodeTerm{{Requirements: []model.Requirement{{Key: model.LabelTenancy, Operator: operator, Values: values}}}}
		}
	}
	w := newWorld(16).pool("pool", nil).
		pods("own", 1, tenancy(model.In, "dedicated")).
		pods("shared", 1, tenancy(model.NotIn, "dedicated")).
		pods("any", 1, nil)
	plan := Plan(w.in)
	if len(plan.Unschedulable) > 0 {
		t.Fatalf("unschedulable: %+v", plan.Unschedulable)
	}
	for _, claim := range plan.Claims {
		asked, names := asksFor(claim, model.LabelTenancy), fmt.Sprint(claim.Pods)
		own, shared := slices.ContainsFunc(claim.Pods, func(p model.PodRef) bool { return p.Name == "own-00000" }),
			slices.ContainsFunc(claim.Pods, func(p model.PodRef) bool { return p.Name == "shared-00000" })
		switch {
		case own && shared:
			t.Errorf("%s share a node", names)
		case own && !slices.Equal(asked, []string{"dedicated"}):
			t.Errorf("claim of %s asks for %v, want dedicated", names, asked)
		case shared && !slices.Equal(asked, []string{"default"}):
			t.Errorf("claim of %s asks for %v, want default", names, asked)
		}
	}
}

func TestIT11PoolForHardwareOfOnesOwn(t *testing.T) {
	w := newWorld(16).pool("pool", func(p *model.Pool) {
		p.Template.Requirements = []model.Requirement{{Key: model.LabelTenancy, Operator: model.In, Values: []string{"dedicated"}}}
	}).pods("any", 1, nil).pods("shared", 1, func(s *model.PodShape) { s.NodeSelector = map[string]string{model.LabelTenancy: "default"} })
	plan := Plan(w.in)
	if len(plan.Claims) != 1 || len(plan.Claims[0].Pods) != 1 || !slices.Equal(asksFor(plan.Claims[0], model.LabelTenancy), []string{"dedicated"}) {
		t.Errorf("claims = %+v, want one that asks for dedicated", plan.Claims)
	}
	if len(plan.Unschedulable) != 1 || plan.Unschedulable[0].Pod.Name != "shared-00000" {
		t.Errorf("unschedulable = %+v, want the pod that the pool has nothing for", plan.Unschedulable)
	}
}

func TestIT11PodsAskForKindsOfReservations(t *testing.T) {
	reservations := []model.Reservation{
		{ID: "cr-plain", InstanceType: "c5.xlarge", Zone: "a", Free: 5},
		{ID: "cr-block", InstanceType: "c5.2xlarge", Zone: "b", Free: 5, Block: true},
		{ID: "cr-loan", InstanceType: "c5.4xlarge", Zone: "c", Free: 5, Interruptible: true},
	}
	tests := []struct {
		name   string
		want   model.Requirement
		expect string
	}{
		{"block", model.Requirement{Key: model.LabelReservationType, Operator: model.In, Values: []string{"capacity-block"}}, "cr-block"},
		{"interruptible", model.Requirement{Key: model.LabelInterruptible, Operator: model.In, Values: []string{"true"}}, "cr-loan"},
		{"id", model.Requirement{Key: model.LabelReservationID, Operator: model.In, Values: []string{"cr-plain"}}, "cr-plain"},
		{"none", model.Requirement{Key: model.LabelReservationType, Operator: model.DoesNotExist}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := partitioned(2, reservations...).pods("web", 1, func(s *model.PodShape) {
				s.RequiredNodeAffinity = []model.NodeTerm{{Requirements: []model.Requirement{test.want}}}
			})
			plan := Plan(w.in)
			if len(plan.Claims) != 1 {
				t.Fatalf("plan = %+v, want one claim", plan)
			}
			if got := fmt.Sprint(asksFor(plan.Claims[0], model.LabelReservationID)); test.expect != "" && got != "["+test.expect+"]" {
				t.Errorf("reservation = %s, want %s", got, test.expect)
			}
			if reserved := plan.Claims[0].Offering.CapacityType == model.Reserved; reserved != (test.expect != "") {
				t.Errorf("bought as %s", plan.Claims[0].Offering.CapacityType)
			}
		})
	}
}

// PR-04: of reservations that both do, the one that is worth less is used first.
func TestPR04ReservedCapacityIsOrderedByItsWorth(t *testing.T) {
	w := partitioned(2,
		model.Reservation{ID: "cr-dear", InstanceType: "c5.24xlarge", Zone: "a", Free: 5},
		model.Reservation{ID: "cr-cheap", InstanceType: "c5.xlarge", Zone: "a", Free: 5}).pods("web", 1, nil)
	plan := Plan(w.in)
	if len(plan.Claims) != 1 || !slices.Equal(asksFor(plan.Claims[0], model.LabelReservationID), []string{"cr-cheap"}) {
		t.Errorf("claims = %+v, want one of the cheaper machine", plan.Claims)
	}
}

// Whatever pods ask for of partitions and tenancies, a claim accepts nothing that one of its pods does not, and pods
// that are spread over partitions are.
func TestIT11EveryClaimSuitsAllItsPods(t *testing.T) {
	all := map[string][]string{model.LabelPartition: {"1", "2", "3"}, model.LabelTenancy: {"dedicated", "default"}}
	rapid.Check(t, func(t *rapid.T) {
		w := partitioned(3, model.Reservation{ID: "cr-1", InstanceType: "c5.xlarge", Zone: "a", Free: 2})
		asked := map[string][]model.Requirement{} // by workload
		spread := map[string]bool{}
		for i := range rapid.IntRange(1, 5).Draw(t, "workloads") {
			name := fmt.Sprintf("w%d", i)
			for _, key := range []string{model.LabelPartition, model.LabelTenancy} {
				if operator := rapid.SampledFrom([]model.Operator{"", model.In, model.NotIn}).Draw(t, "operator"); operator != "" {
					values := rapid.SliceOfNDistinct(rapid.SampledFrom(all[key]), 1, len(all[key])-1, rapid.ID[string]).Draw(t, "values")
					asked[name] = append(asked[name], model.Requirement{Key: key, Operator: operator, Values: values})
				}
			}
			spread[name] = rapid.Bool().Draw(t, "spread")
			w.pods(name, rapid.IntRange(1, 6).Draw(t, "pods"), func(s *model.PodShape) {
				s.Labels = map[string]string{"app": name}
				if spread[name] {
					spreadOver(model.LabelPartition, s.Labels)(s)
				}
				if len(asked[name]) > 0 {
					s.RequiredNodeAffinity = []model.NodeTerm{{Requirements: asked[name]}}
				}
			})
		}
		plan := Plan(w.in)
		if len(plan.Unschedulable) > 0 {
			t.Fatalf("unschedulable: %+v", plan.Unschedulable)
		}
		counts := map[string]map[string]int{}
		for _, claim := range plan.Claims {
			for _, pod := range claim.Pods {
				name := pod.Name[:2]
				for _, r := range asked[name] {
					accepted := asksFor(claim, r.Key)
					if accepted == nil {
						accepted = all[r.Key]
					}
					for _, value := range accepted {
						if slices.Contains(r.Values, value) != (r.Operator == model.In) {
							t.Fatalf("claim %s accepts %s=%s, and %s asks for %+v", claim.Name, r.Key, value, pod.Name, r)
						}
					}
				}
				if spread[name] {
					at := asksFor(claim, model.LabelPartition)
					if len(at) != 1 {
						t.Fatalf("claim %s of %s accepts partitions %v, want one", claim.Name, pod.Name, at)
					}
					if counts[name] == nil {
						counts[name] = map[string]int{}
					}
					counts[name][at[0]]++
				}
			}
		}
		for name, by := range counts {
			if most, least := extremes(by, partitionsFor(asked[name], all[model.LabelPartition])); most-least > 1 {
				t.Fatalf("%s is spread as %v", name, by)
			}
		}
	})
}

// partitionsFor returns the partitions that requirements allow.
func partitionsFor(requirements []model.Requirement, all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(value string) bool {
		return slices.ContainsFunc(requirements, func(r model.Requirement) bool {
			return r.Key == model.LabelPartition && slices.Contains(r.Values, value) != (r.Operator == model.In)
		})
	})
}

func extremes(counts map[string]int, domains []string) (most, least int) {
	least = 1 << 30
	for _, domain := range domains {
		most, least = max(most, counts[domain]), min(least, counts[domain])
	}
	return most, least
}
