package replay

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// CT-07: while a zonal shift is in force no pod is moved to nodes of its zone; what was published stays as it is.
func TestCT07NoPodIsMovedToAShiftedZone(t *testing.T) {
	shown := &model.Snapshot{Nodes: []model.Node{
		{Name: "inside", Labels: map[string]string{model.LabelZoneID: "usw2-az1"}}, {Name: "outside",
			Labels: map[string]string{model.LabelZoneID: "usw2-az2"}},
	}}
	q := &model.DisruptionInput{}
	q.Offerings.NowUnix = 1000
	if DisruptionInput(q, shown, nil).Snapshot != shown {
		t.Error("without a zonal shift it is not the snapshot itself")
	}
	q.UnavailableOfferings = []model.UnavailableOffering{{ZoneID: "usw2-az1", UntilUnix: 1001,
		Reason: model.ReasonZonalShift}}
	closed := model.Taint{Key: model.TaintUnschedulable, Effect: model.NoSchedule}
	nodes := DisruptionInput(q, shown, nil).Snapshot.Nodes
	if !slices.Contains(nodes[0].Taints, closed) || slices.Contains(nodes[1].Taints, closed) ||
		len(shown.Nodes[0].Taints) != 0 {
		t.Errorf("%+v, published %+v", nodes, shown.Nodes)
	}
	q.UnavailableOfferings[0].UntilUnix = 1000
	if DisruptionInput(q, shown, nil).Snapshot != shown {
		t.Error("a zonal shift that is over closes nodes")
	}
}
