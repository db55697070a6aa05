package proof_test

import (
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/proof/probes"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
)

// Every probe is named by an assumption of testenv/local/cloud/ASSUMPTIONS.md, and every probe that an assumption names is there.
func TestAssumptionsAndProbesNameEachOther(t *testing.T) {
	rows, wanted, err := cloud.Assumptions()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, p := range probes.All() {
		there[p.ID] = true
	}
	named := map[string]bool{}
	for _, row := range rows {
		for _, id := range row.Probes {
			named[id] = true
			if !there[id] && wanted[id] == "" && unprobed[id] == "" {
				t.Errorf("assumption %s names probe %s, which there is not", row.ID, id)
			}
		}
	}
	for id := range there {
		if !named[id] {
			t.Errorf("no assumption names probe %s", id)
		}
		if wanted[id] != "" {
			t.Errorf("probe %s is there, and still in the table of probes that are wanted", id)
		}
	}
}
