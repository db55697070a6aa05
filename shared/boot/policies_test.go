package boot

import (
	"testing"

	"github.com/caarlos0/env/v11"
)

func TestPoliciesAreWordsThatAreKnown(t *testing.T) {
	for _, test := range []struct {
		name  string
		given map[string]string
		want  Policies
		fails bool
	}{
		{"nothing", nil, Policies{}, false},
		{"both", map[string]string{"JOINER_PREFERENCE_POLICY": "Ignore", "JOINER_MIN_VALUES_POLICY": "BestEffort"}, Policies{Ignore, MinValuesPolicyBestEffort}, false},
		{"as usual", map[string]string{"JOINER_PREFERENCE_POLICY": "Respect", "JOINER_MIN_VALUES_POLICY": "Strict"}, Policies{Respect, MinValuesPolicyStrict}, false},
		{"preferences in another case", map[string]string{"JOINER_PREFERENCE_POLICY": "ignore"}, Policies{}, true},
		{"minValues of another policy", map[string]string{"JOINER_MIN_VALUES_POLICY": "Ignore"}, Policies{}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got struct{ Policies }
			err := env.ParseWithOptions(&got, env.Options{Environment: test.given})
			if (err != nil) != test.fails || err == nil && got.Policies != test.want {
				t.Errorf("read as %+v, %v; want %+v", got.Policies, err, test.want)
			}
		})
	}
}
