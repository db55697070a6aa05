package disruption

import (
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// F143, F144, F145, B2: what a node and its pods say when they are read after the taint.
func TestB2LiveSaysWhatSpeaksAgainstGivingANodeBackNow(t *testing.T) {
	const now = int64(1_900_000_000)
	grace := int64(60)
	web := &model.Selector{MatchLabels: map[string]string{"app": "web"}}
	none := model.PDB{Namespace: "a", Name: "none", Selector: web}
	room := model.PDB{Namespace: "a", Name: "room", Selector: web, DisruptionsAllowed: 1}
	unready := model.PDB{Namespace: "a", Name: "unready", Selector: web, AlwaysEvictUnready: true}
	garbled := model.PDB{Namespace: "a", Name: "garbled", Selector: &model.Selector{Expressions: []model.Requirement{{Key: "app", Operator: "Near"}}}}
	shield := func(value string) func(*model.Occupant) { return func(o *model.Occupant) { o.DoNotDisrupt = value } }
	for name, test := range map[string]struct {
		reason  string
		pod     func(*model.Occupant)
		node    func(*model.Node)
		claim   model.Claim
		budgets []model.PDB
		want    []string
	}{
		"nothing":                      {reason: model.ReasonUnderutilized, budgets: []model.PDB{room}},
		"a pod that came":              {reason: model.ReasonEmpty, pod: func(o *model.Occupant) { o.UID = "new" }, want: []string{PodsArrived}},
		"a pod that came, for drift":   {reason: model.ReasonDrifted, pod: func(o *model.Occupant) { o.UID = "new" }},
		"a daemon that came":           {reason: model.ReasonEmpty, pod: func(o *model.Occupant) { o.UID, o.OwnerKind = "new", "DaemonSet" }},
		"do-not-disrupt":               {reason: model.ReasonEmpty, pod: shield("true"), want: []string{PodDoNotDisrupt}},
		"do-not-disrupt of a daemon":   {reason: model.ReasonEmpty, pod: func(o *model.Occupant) { o.DoNotDisrupt, o.OwnerKind = "true", "DaemonSet" }, want: []string{PodDoNotDisrupt}},
		"do-not-disrupt that runs":     {reason: model.ReasonDrifted, pod: shield("11m"), want: []string{PodDoNotDisrupt}},
		"do-not-disrupt that is over":  {reason: model.ReasonDrifted, pod: shield("10m")},
		"do-not-disrupt and a grace":   {reason: model.ReasonDrifted, pod: shield("true"), claim: model.Claim{GraceSeconds: &grace}, budgets: []model.PDB{none}},
		"a grace, to save money":       {reason: model.ReasonUnderutilized, pod: shield("true"), claim: model.Claim{GraceSeconds: &grace}, want: []string{PodDoNotDisrupt}},
		"a grace and the node's word":  {reason: model.ReasonExpired, node: func(n *model.Node) { n.Annotations = map[string]string{model.AnnotationNotDisrupt: "true"} }, claim: model.Claim{GraceSeconds: &grace}, want: []string{NodeDoNotDisrupt}},
		"a static pool's":              {reason: model.ReasonReplicas, pod: shield("true"), budgets: []model.PDB{none, room}},
		"a static pool's being gone":   {reason: model.ReasonReplicas, node: func(n *model.Node) { n.DeletedUnix = now }, want: []string{Ending}},
		"no room":                      {reason: model.ReasonEmpty, budgets: []model.PDB{none}, want: []string{DisruptionBudget}},
		"no room elsewhere":            {reason: model.ReasonEmpty, budgets: []model.PDB{{Namespace: "b", Name: "none", Selector: web}}},
		"no room for what is ready":    {reason: model.ReasonEmpty, budgets: []model.PDB{unready}, want: []string{DisruptionBudget}},
		"not ready, and that is asked": {reason: model.ReasonEmpty, pod: func(o *model.Occupant) { o.Ready = false }, budgets: []model.PDB{unready}},
		"two budgets":                  {reason: model.ReasonEmpty, budgets: []model.PDB{room, room}, want: []string{TooManyBudgets}},
		"a budget nobody can read":     {reason: model.ReasonEmpty, budgets: []model.PDB{garbled}, want: []string{DisruptionBudget}},
		"a pod that stays":             {reason: model.ReasonEmpty, pod: func(o *model.Occupant) { o.Tolerations = []model.Toleration{{Operator: "Exists"}} }, budgets: []model.PDB{none}},
		"a pod that goes": {reason: model.ReasonEmpty, pod: func(o *model.Occupant) {
			o.DeletedUnix, o.UID, o.DoNotDisrupt = now, "new", "true"
		}, budgets: []model.PDB{none}},
		"a pod that has ended": {reason: model.ReasonEmpty, pod: func(o *model.Occupant) { o.Phase, o.UID = model.Failed, "new" }, budgets: []model.PDB{none}},
	} {
		t.Run(name, func(t *testing.T) {
			node := model.Occupied{ReadUnix: now, Node: model.Node{Name: "n"}, Pods: []model.Occupant{{
				PodRef: model.PodRef{Namespace: "a", Name: "p", UID: "u"}, Phase: model.Running, Ready: true, OwnerKind: "ReplicaSet",
				Labels: map[string]string{"app": "web"}, StartedUnix: now - 600,
			}}}
			if test.pod != nil {
				test.pod(&node.Pods[0])
			}
			if test.node != nil {
				test.node(&node.Node)
			}
			var got []string
			for _, why := range Live(Sighting{Reason: test.reason, Target: &model.Target{Node: "n", Pods: []string{model.PodDigest("u")}}, Claim: &test.claim, Node: &node, Budgets: test.budgets}) {
				got = append(got, why.Code)
				if why.Message == "" {
					t.Errorf("%s says nothing", why.Code)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
