package disruption

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// zonal is a world of a NodePool that goes zone by zone, with two nodes that drifted in each of two zones.
func zonal(changes ...func(*model.Pool)) *world {
	w := newWorld().pool("general", append([]func(*model.Pool){never, func(p *model.Pool) {
		p.Annotations = map[string]string{model.AnnotationZoneByZone: "true"}
	}}, changes...)...)
	for i, name := range []string{"b1", "a1", "b2", "a2"} {
		w.node(name, "general", inZone(name[:1]), drifted(testNow-400+int64(i)*100)).running(name, name, 3, cpu(1000))
	}
	return w
}

// M85, M100: with the annotation nodes that drifted go in one zone at a time, however many the budgets allow; the
// others say what they wait for. Without it all go.
func TestM85DriftGoesZoneByZone(t *testing.T) {
	w := zonal()
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonDrifted, "a1", "a2")
	if got := kept(plan, "b1"); !slices.Contains(got, ZoneWaits) || !plan.Constrained {
		t.Errorf("b1 is kept for %v", got)
	}
	w.in.Snapshot.Pools[0].Annotations = nil
	wantGiven(t, Plan(w.in), model.ReasonDrifted, "a1", "a2", "b1", "b2")
}

// M85: a zone is done when nothing of it is disrupted any more and all of it is ready, whatever began it.
func TestM85TheNextZoneWaitsUntilOneIsDone(t *testing.T) {
	notReady := func(w *world, name string) {
		for i := range w.in.Snapshot.Nodes {
			if node := &w.in.Snapshot.Nodes[i]; node.Name == name {
				node.Ready = false
			}
		}
	}
	w := zonal().command("x", model.ReasonDrifted, model.CommandReplacing, []string{"b1"})
	wantGiven(t, Plan(w.in), model.ReasonDrifted, "b2")
	w = zonal()
	notReady(w, "b1")
	w.in.Claims[0].Drift, w.in.Claims[2].Drift = "", ""
	wantGiven(t, Plan(w.in), model.ReasonDrifted)
	w = zonal().command("x", model.ReasonDrifted, model.CommandCommitted, []string{"a1"})
	if got := codesOf(Revalidate(w.in, &w.in.Commands[0])); slices.Contains(got, ZoneWaits) {
		t.Errorf("the command does not hold: %v", got)
	}
	notReady(w, "b1")
	if got := codesOf(Revalidate(w.in, &w.in.Commands[0])); !slices.Contains(got, ZoneWaits) {
		t.Errorf("the command holds while another zone lacks a node: %v", got)
	}
}

// M85: a zone whose nodes cannot be disrupted holds up no other one.
func TestM85AZoneThatCannotGoHoldsUpNoOther(t *testing.T) {
	w := zonal()
	for i := range w.in.Snapshot.Shapes {
		if app := w.in.Snapshot.Shapes[i].Labels["app"]; app == "a1" || app == "a2" {
			w.in.Snapshot.Shapes[i].DoNotDisrupt = "true"
		}
	}
	wantGiven(t, Plan(w.in), model.ReasonDrifted, "b1", "b2")
}

// M85: nodes of a static pool go zone by zone, too.
func TestM85StaticPoolsGoZoneByZone(t *testing.T) {
	wantGiven(t, Plan(zonal(replicas(4)).in), model.ReasonDrifted, "a1", "a2")
}
