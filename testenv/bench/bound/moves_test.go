package bound

import (
	"math/rand/v2"
	"testing"
)

func TestMovesAreNeverMoreThanTheBestChoiceOfNodesNeeds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		nodes := make([]Kept, 1+random.IntN(10))
		total := 0
		for i := range nodes {
			nodes[i] = Kept{Price: float64(random.IntN(20)) / 10, Pods: random.IntN(12)}
			total += nodes[i].Pods
		}
		price := random.Float64() * 8
		most := 0
		for chosen := range 1 << len(nodes) {
			pods, costs := 0, 0.0
			for i, n := range nodes {
				if chosen>>i&1 == 1 {
					pods, costs = pods+n.Pods, costs+n.Price
				}
			}
			if costs <= price {
				most = max(most, pods)
			}
		}
		if got := Moves(nodes, price); got > total-most {
			t.Fatalf("round %d: at least %d moves for %.3f, and %d are enough: %+v", round, got, price, total-most, nodes)
		}
	}
}

func TestMovesOfWhatIsWorthKeepingAreNone(t *testing.T) {
	nodes := []Kept{{1, 10}, {4, 10}, {2, 10}, {1, 0}}
	for price, want := range map[float64]int{0: 30, 1: 20, 2: 15, 3: 10, 5: 5, 7: 0, 100: 0} {
		if got := Moves(nodes, price); got != want {
			t.Errorf("for %v: %d moves, want %d", price, got, want)
		}
	}
	if got := Moves(nil, 5); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}
