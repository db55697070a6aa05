package bound

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// cheapestOfAll returns the lowest price of nodes for the problem's pods, by trying every way of sharing them out. Rules
// over zones are left aside, as the bound leaves them.
func cheapestOfAll(p *problem.Problem) float64 {
	ways := check.Ways(p)
	best := math.Inf(1)
	var nodes [][]*corev1.Pod
	var share func(i int, price float64)
	share = func(i int, price float64) {
		if i == len(p.Pods) {
			total := 0.0
			for _, pods := range nodes {
				total += cheapestNode(ways, pods)
			}
			best = min(best, total)
			return
		}
		for n := range nodes {
			nodes[n] = append(nodes[n], p.Pods[i])
			share(i+1, price)
			nodes[n] = nodes[n][:len(nodes[n])-1]
		}
		nodes = append(nodes, []*corev1.Pod{p.Pods[i]})
		share(i+1, price)
		nodes = nodes[:len(nodes)-1]
	}
	share(0, 0)
	return best
}

// cheapestNode returns the price of the cheapest node that holds the pods, +Inf where none does.
func cheapestNode(ways []check.Way, pods []*corev1.Pod) float64 {
	want, alone := model.Resources{}, 0
	for _, pod := range pods {
		for name, amount := range check.Requests(pod) {
			want[name] += amount
		}
		if pod.Labels["app"] == "alone" {
			alone++
		}
	}
	best := math.Inf(1)
	if alone > 1 {
		return best
	}
	for i := range ways {
		fits := true
		for name, amount := range want {
			fits = fits && ways[i].Room[name] >= amount
		}
		for _, pod := range pods {
			fits = fits && ways[i].Admits(pod)
		}
		if fits {
			best = min(best, ways[i].Price.USD())
		}
	}
	return best
}

func TestBoundIsNeverAboveTheCheapestOfEveryWayToPlace(t *testing.T) {
	closest := 0.0
	for _, family := range []string{"bench", "diverse", "gpu", "homogeneous", "spread"} {
		for seed := uint64(1); seed <= 12; seed++ {
			p, err := problem.New(problem.Spec{Family: family, Pods: 40, Types: 120, Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			first := int(seed*3) % 35 // a window of the pods, so that every kind has its turn
			p.Pods = p.Pods[first : first+5]
			if family == "bench" && seed%3 == 0 {
				p.Pods = p.Pods[:3]
			}
			cheapest := cheapestOfAll(p)
			b := Price(p, Options{})
			if b.PerHour > cheapest || b.PerHour <= 0 {
				t.Errorf("%s, pods %d to %d: bound %v, cheapest %v", p.Spec, first, first+5, b.PerHour, cheapest)
			}
			closest = max(closest, b.PerHour/cheapest)
		}
	}
	if closest < 0.9 {
		t.Errorf("the closest bound is %.2f of the cheapest: too low to say anything", closest)
	}
}

func TestBoundHoldsWhateverTheEffort(t *testing.T) {
	p, err := problem.New(problem.Spec{Family: "diverse", Pods: 300, Types: 100})
	if err != nil {
		t.Fatal(err)
	}
	full := Price(p, Options{})
	for _, options := range []Options{{Rounds: 1}, {Rounds: 5, Kinds: 10}, {Rounds: 40, Kinds: 30}} {
		if b := Price(p, options); b.PerHour > full.PerHour*1.01 || b.PerHour <= 0 {
			t.Errorf("with %+v the bound is %v, with all effort %v", options, b.PerHour, full.PerHour)
		}
	}
}

// TestHostsOfOnePodAreInTheBound guards the rule that pods which must not share a host need a node each.
func TestHostsOfOnePodAreInTheBound(t *testing.T) {
	p, err := problem.New(problem.Spec{Family: "bench", Pods: 200})
	if err != nil {
		t.Fatal(err)
	}
	smallest := math.Inf(1)
	for _, way := range check.Ways(p) {
		smallest = min(smallest, way.Price.USD())
	}
	if b := Price(p, Options{Branches: 200_000}); b.PerHour < 40*smallest {
		t.Errorf("40 pods want a host each and the cheapest node is $%v/h: bound %v", smallest, b.PerHour)
	}
}

func TestWholePodsRaiseTheBoundWhereTheyLeaveGaps(t *testing.T) {
	p, err := problem.New(problem.Spec{Family: "prefs", Pods: 100, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range p.Pods { // two of them never fit a node that one and a half would fill
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = *p.Pods[0].Spec.Containers[0].Resources.Requests.Cpu()
		delete(pod.Spec.Containers[0].Resources.Requests, corev1.ResourceMemory)
		cpu := pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
		cpu.SetMilli(110_000)
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = cpu
	}
	b := Price(p, Options{})
	if b.Whole <= b.Divisible*1.05 {
		t.Errorf("whole pods give %v, divisible ones %v: want a tenth more", b.Whole, b.Divisible)
	}
}

// TestLikePodsAreInEveryZoneWhereTheyAreSpread guards the share of each zone: with one zone made expensive, spread pods cost
// more, and a third of them at most are taken to be there.
func TestLikePodsAreInEveryZoneWhereTheyAreSpread(t *testing.T) {
	p, err := problem.New(problem.Spec{Family: "spread", Pods: 600, Types: 100})
	if err != nil {
		t.Fatal(err)
	}
	before := Price(p, Options{EveryZone: true})
	for i := range p.Types {
		for j := range p.Types[i].Offerings {
			if o := &p.Types[i].Offerings[j]; o.Zone == "zone-c" {
				o.Price *= 10
			}
		}
	}
	after, free := Price(p, Options{EveryZone: true}), Price(p, Options{})
	if low, high := 3.0*before.PerHour, 5.0*before.PerHour; after.PerHour < low || after.PerHour > high {
		t.Errorf("with a zone ten times as dear the bound is %v, want %v to %v", after.PerHour, low, high)
	}
	if free.PerHour > before.PerHour*1.2 {
		t.Errorf("without the rule the dear zone is avoided: bound %v, was %v", free.PerHour, before.PerHour)
	}
}

func TestPodsNothingHoldsAreCountedAndNotBound(t *testing.T) {
	p, err := problem.New(problem.Spec{Family: "diverse", Pods: 20, Types: 50})
	if err != nil {
		t.Fatal(err)
	}
	before := Price(p, Options{})
	p.Pods[0].Spec.NodeSelector = map[string]string{model.LabelZone: "nowhere"}
	after := Price(p, Options{})
	if before.Lost != 0 || after.Lost != 1 || after.PerHour >= before.PerHour {
		t.Errorf("before %+v, after %+v: want one pod lost and a lower bound", before, after)
	}
}

func TestDictionarySolvesAndRestores(t *testing.T) {
	d := newDictionary([]float64{3, 5}) // the textbook's: x ≤ 4, 2y ≤ 12, 3x + 2y ≤ 18
	d.add([]float64{1, 0}, 4)
	d.add([]float64{0, 2}, 12)
	d.add([]float64{3, 2}, 18)
	d.solve(100)
	if x := d.solution(); math.Abs(d.value-36) > 1e-9 || math.Abs(x[0]-2) > 1e-9 || math.Abs(x[1]-6) > 1e-9 {
		t.Errorf("value %v at %v, want 36 at 2, 6", d.value, x)
	}
	if y := d.prices(); math.Abs(y[0]) > 1e-9 || math.Abs(y[1]-1.5) > 1e-9 || math.Abs(y[2]-1) > 1e-9 {
		t.Errorf("prices %v, want 0, 1.5, 1", y)
	}
	d.add([]float64{1, 1}, 6)
	d.restore(100)
	if x := d.solution(); math.Abs(d.value-30) > 1e-9 || math.Abs(x[0]) > 1e-9 || math.Abs(x[1]-6) > 1e-9 {
		t.Errorf("with x + y ≤ 6: value %v at %v, want 30 at 0, 6", d.value, x)
	}
}
