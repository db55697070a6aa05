package e2e

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// decidedAlike has `joiner replay` make each decision of the cluster once more, of the records, snapshots and catalogs that the
// functions left in the bucket: each comes out the same (D3). Every instance there is or was names a decision that is kept, and every
// end of one is recorded with its reason (D4).
func (c *cluster) decidedAlike(t *testing.T) {
	t.Helper()
	until := time.Now().Add(time.Hour).Unix()
	provisioned, err := c.Store.Decisions(t.Context(), c.Options.Cluster, 0, until)
	if err != nil {
		t.Fatal(err)
	}
	evaluated, err := c.Store.Disruptions(t.Context(), c.Options.Cluster, 0, until)
	if err != nil {
		t.Fatal(err)
	}
	removals, err := c.Store.Removals(t.Context(), c.Options.Cluster, 0, until)
	if err != nil {
		t.Fatal(err)
	}
	if len(provisioned) == 0 || len(evaluated) == 0 || len(removals) == 0 {
		t.Errorf("%d decisions to launch, %d to give back and %d ends are recorded", len(provisioned), len(evaluated), len(removals))
	}

	kept := map[string]bool{}
	var ids []string
	for i := range provisioned {
		kept[provisioned[i].ID] = true
		ids = append(ids, provisioned[i].ID)
	}
	for i := range evaluated {
		kept[evaluated[i].ID] = true
		ids = append(ids, evaluated[i].ID)
	}
	for _, id := range ids {
		var answer struct {
			Identical bool
			Rounds    []struct{ Identical bool }
		}
		c.joiner(t, 0, &answer, "replay", id, "--cluster", c.Options.Cluster, "-o", "json")
		if !answer.Identical || len(answer.Rounds) == 0 {
			t.Errorf("decision %s: %+v", id, answer)
		}
	}

	claims := c.ledger(t).Claims
	for i := range removals {
		claims = append(claims, removals[i].Claim)
		if removals[i].Reason == "" || removals[i].By == "" {
			t.Errorf("the end of claim %s is recorded with the reason %q, wanted by %q", removals[i].Claim.Name, removals[i].Reason, removals[i].By)
		}
		if removals[i].Decision != "" && !kept[removals[i].Decision] {
			t.Errorf("the end of claim %s names the decision %s, of which there is no record", removals[i].Claim.Name, removals[i].Decision)
		}
	}
	for _, claim := range claims {
		if claim.State != model.Intended && !kept[claim.Decision] {
			t.Errorf("claim %s (%s) names the decision %q, of which there is no record", claim.Name, claim.State, claim.Decision)
		}
	}
	t.Logf("%d decisions to launch and %d to give back come out the same; %d machines, %d of them ended", len(provisioned), len(evaluated), len(claims), len(removals))
}
