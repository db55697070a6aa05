package pack

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestHardRulesThatAreNotBuiltAreRefused(t *testing.T) {
	tests := []struct {
		name    string
		change  func(*model.PodShape)
		code    string // "" = placed
		message string
	}{
		{"spread that is a wish", func(s *model.PodShape) { s.Spread = []model.Spread{{TopologyKey: "zone", Anyway: true}} }, "", ""},
		{"preferences", func(s *model.PodShape) {
			s.PreferredNodeAffinity = []model.WeightedTerm{{Weight: 1}}
			s.PreferredPodAffinity = []model.WeightedPodTerm{{Weight: 1}}
			s.PreferredPodAntiAffinity = []model.WeightedPodTerm{{Weight: 1}}
		}, "", ""},
		{"dynamic resource", func(s *model.PodShape) { s.DynamicResource = true }, NotSupportedYet, "spec.resourceClaims"},
		{"outside the model", func(s *model.PodShape) { s.Unsupported = []string{"spec.x is y"} }, NotSupportedYet, "spec.x is y"},
		{"by node name", func(s *model.PodShape) {
			s.RequiredNodeAffinity = []model.NodeTerm{{Fields: []model.Requirement{{Key: "metadata.name", Operator: model.In, Values: []string{"n"}}}}}
		}, RequirementConflict, `the node name "n"`},
		{"by another field", func(s *model.PodShape) {
			s.RequiredNodeAffinity = []model.NodeTerm{{Fields: []model.Requirement{{Key: "metadata.uid", Operator: model.In, Values: []string{"n"}}}}}
		}, Invalid, "nodeSelectorTerms[0]: matchFields[0]"},
		{"by node name or otherwise", func(s *model.PodShape) {
			s.RequiredNodeAffinity = []model.NodeTerm{{Fields: []model.Requirement{{Key: "metadata.name", Operator: model.In, Values: []string{"n"}}}},
				{Requirements: []model.Requirement{{Key: model.LabelZone, Operator: model.Exists}}}}
		}, "", ""},
		{"negative request", func(s *model.PodShape) { s.Requests[model.CPU] = -1 }, Invalid, "cpu is negative"},
		{"unknown operator", func(s *model.PodShape) {
			s.RequiredNodeAffinity = []model.NodeTerm{{Requirements: []model.Requirement{{Key: "a", Operator: "Near"}}}}
		}, Invalid, `nodeSelectorTerms[0]: a has the unknown operator "Near"`},
		{"empty term", func(s *model.PodShape) { s.RequiredNodeAffinity = []model.NodeTerm{{}} }, Invalid, "matches no node"},
		{"selector against affinity", func(s *model.PodShape) {
			s.NodeSelector = map[string]string{model.LabelZone: "a"}
			s.RequiredNodeAffinity = []model.NodeTerm{{Requirements: []model.Requirement{{Key: model.LabelZone, Operator: model.In, Values: []string{"b"}}}}}
		}, Invalid, "no term is compatible with spec.nodeSelector"},
		{"selector no label can meet", func(s *model.PodShape) { s.NodeSelector = map[string]string{"a b": "c"} }, Invalid, "spec.nodeSelector"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plan := newWorld(8).pool("general", nil).pods("web", 1, test.change).pods("other", 1, nil).plan()
			if placed(plan) == 0 {
				t.Error("another pod was held back")
			}
			got := codes(plan, "web-00000")
			switch {
			case test.code == "" && got != nil:
				t.Errorf("refused: %+v", plan.Unschedulable)
			case test.code != "" && (len(got) != 1 || got[0] != test.code || !strings.Contains(plan.Unschedulable[0].Reasons[0].Message, test.message)):
				t.Errorf("reasons = %+v, want %s %q", plan.Unschedulable, test.code, test.message)
			}
		})
	}
}

func TestPodsStayOffNodesOfPodsThatKeepThemAway(t *testing.T) {
	web := &model.Selector{MatchLabels: map[string]string{"app": "web"}}
	tests := []struct {
		name string
		term model.PodTerm
		away bool
	}{
		{"matched", model.PodTerm{TopologyKey: model.LabelHostname, Selector: web}, true},
		{"another namespace", model.PodTerm{TopologyKey: model.LabelHostname, Selector: web, Namespaces: []string{"other"}}, false},
		{"this namespace by its labels", model.PodTerm{TopologyKey: model.LabelHostname, Selector: web, NamespaceSelector: &model.Selector{MatchLabels: map[string]string{"tier": "front"}}}, true},
		{"every namespace", model.PodTerm{TopologyKey: model.LabelHostname, Selector: web, NamespaceSelector: &model.Selector{}}, true},
		{"another label", model.PodTerm{TopologyKey: model.LabelHostname, Selector: &model.Selector{MatchLabels: map[string]string{"app": "db"}}}, false},
		{"by an expression", model.PodTerm{TopologyKey: model.LabelHostname, Selector: &model.Selector{Expressions: []model.Requirement{{Key: "app", Operator: model.NotIn, Values: []string{"db"}}}}}, true},
		{"no selector", model.PodTerm{TopologyKey: model.LabelHostname}, false},
		{"of the same revision only", model.PodTerm{TopologyKey: model.LabelHostname, Selector: web, MatchLabelKeys: []string{"rev"}}, false},
		{"of another revision only", model.PodTerm{TopologyKey: model.LabelHostname, Selector: web, MismatchLabelKeys: []string{"rev"}}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(8).pool("general", nil).node("n", nil)
			w.in.Snapshot.Namespaces = []model.Namespace{{Name: "default", Labels: map[string]string{"tier": "front"}}}
			w.running("guard", "n", func(s *model.PodShape) {
				s.Labels = map[string]string{"app": "guard", "rev": "1"}
				s.PodAntiAffinity = []model.PodTerm{test.term}
			})
			w.pods("web", 1, func(s *model.PodShape) { s.Labels = map[string]string{"app": "web", "rev": "2"} })
			if plan := w.plan(); placed(plan) != 1 || (len(plan.Nominations) == 0) != test.away {
				t.Errorf("plan = %+v, want away = %v", plan, test.away)
			}
		})
	}
}
