package execute

import (
	"bytes"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	chart "github.com/joiner-sh/joiner/infra/chart"
)

// What the chart lets functions do is carried out, and nothing is that it lets none of them do.
func TestTheChartsRightsAreWhatIsCarriedOut(t *testing.T) {
	granted := map[string][]string{}
	for document := range bytes.SplitSeq(chart.Rights(), []byte("\n---\n")) {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal(document, &role); err != nil {
			t.Fatal(err)
		}
		if role.Kind != "ClusterRole" || !slices.Contains([]string{"joiner-provision", "joiner-interruption", "joiner-catalog", "joiner-disrupt"}, role.Name) {
			continue
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					kind := group + "/" + resource
					granted[kind] = append(granted[kind], rule.Verbs...)
				}
			}
		}
	}
	if len(granted) < 10 {
		t.Fatalf("the chart grants %v", granted)
	}
	for kind, verbs := range granted {
		for _, verb := range verbs {
			if !slices.Contains(kinds[kind], verb) {
				t.Errorf("the chart grants %s %s, which is not carried out", verb, kind)
			}
		}
	}
	for kind, verbs := range kinds {
		for _, verb := range verbs {
			if !slices.Contains(granted[kind], verb) {
				t.Errorf("%s %s is carried out, and the chart grants it to nobody", verb, kind)
			}
		}
	}
}
