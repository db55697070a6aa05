package testcluster

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/console"
)

// TestNoNodeIsOverfull: what is shown of a cluster could be.
func TestNoNodeIsOverfull(t *testing.T) {
	testCluster, err := New(Options{Nodes: 30, Odd: true})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for step := range 80 {
		switch step % 40 {
		case 3:
			testCluster.ScaleUp("shop/web", 60)
		case 5, 30:
			testCluster.Plan()
		case 20:
			testCluster.ScaleDown(0.2)
		case 22:
			testCluster.Disrupt()
		}
		testCluster.Step()
		cluster, err := testCluster.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows := console.Rows(cluster)
		for _, row := range rows {
			seen[row.State] = true
			if row.State != console.StateLaunching && (row.CPU > row.CPUHas || row.Memory > row.MemoryHas || row.Price <= 0) {
				t.Fatalf("step %d: %+v", step, row)
			}
		}
	}
	for _, state := range []string{console.StateLaunching, console.StateJoining, console.StateReady, console.StateTainted, console.StateDraining} {
		if !seen[state] {
			t.Errorf("no node was ever %s", state)
		}
	}
}

// TestSameSeedSameTestCluster: screenshots and measurements can be taken again.
func TestSameSeedSameTestCluster(t *testing.T) {
	rows := func() []console.Row {
		testCluster, err := New(Options{Nodes: 20, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		cluster, err := testCluster.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return console.Rows(cluster)
	}
	if a, b := rows(), rows(); !slices.Equal(a, b) {
		t.Errorf("two clusters of one seed differ: %d and %d rows", len(a), len(b))
	}
}
