package ekscluster

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestBudgetsAreReadAsTheyStand(t *testing.T) {
	c := connect(t)
	name := budget(t, "listed", unique("nobody"), 1, 0)
	budgets, err := c.PDBs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(budgets, func(b model.PDB) bool { return b.Namespace == "default" && b.Name == name })
	if at < 0 || budgets[at].DisruptionsAllowed != 0 || budgets[at].MinAvailable != "1" || len(budgets[at].Selector.MatchLabels) != 1 {
		t.Errorf("%s is not among %+v", name, budgets)
	}
	if !slices.IsSortedFunc(budgets, func(a, b model.PDB) int {
		if a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name {
			return -1
		}
		return 1
	}) {
		t.Errorf("not by namespace and name: %+v", budgets)
	}
}
