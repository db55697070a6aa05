package translate

import (
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestATermThatCannotBeReadMatchesNothing(t *testing.T) {
	required := func(terms string) string {
		return `{spec: {containers: [], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [` + terms + `]}}}}}`
	}
	const good = `{matchExpressions: [{key: a, operator: In, values: [b]}]}`
	readable := model.NodeTerm{Requirements: []model.Requirement{{Key: "a", Operator: model.In, Values: []string{"b"}}}}
	for bad, want := range map[string]string{
		`{matchExpressions: [{key: a, operator: Gt, values: [many]}]}`:             `nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "many"`,
		`{matchExpressions: [{key: a, operator: Gt, values: ["-5"]}]}`:             `nodeSelectorTerms[0].matchExpressions[0].values[0][a]: Invalid value: "-5"`,
		`{matchExpressions: [{key: a, operator: Lt, values: ["1", "2"]}]}`:         `nodeSelectorTerms[0].matchExpressions[0].values`,
		`{matchExpressions: [{key: a, operator: In}]}`:                             `nodeSelectorTerms[0].matchExpressions[0].values`,
		`{matchExpressions: [{key: "a b", operator: Exists}]}`:                     `nodeSelectorTerms[0].matchExpressions[0].key: Invalid value: "a b"`,
		`{matchExpressions: [{key: a, operator: Near, values: [x]}]}`:              `nodeSelectorTerms[0].matchExpressions[0].operator: "Near"`,
		`{matchFields: [{key: spec.nodeName, operator: In, values: [x]}]}`:         `nodeSelectorTerms[0].matchFields[0].key: "spec.nodeName"`,
		`{matchFields: [{key: metadata.name, operator: Exists}]}`:                  `nodeSelectorTerms[0].matchFields[0].operator: "Exists"`,
		`{matchFields: [{key: metadata.name, operator: NotIn, values: [x, "y"]}]}`: `nodeSelectorTerms[0].matchFields[0].values has 2 values`,
	} {
		t.Run(bad, func(t *testing.T) {
			_, alone := Pod(parsePod(t, required(bad)))
			if len(alone.Unsupported) != 1 || !strings.Contains(alone.Unsupported[0], want) {
				t.Errorf("alone: got %q, want one with %q", alone.Unsupported, want)
			}
			_, beside := Pod(parsePod(t, required(bad+", "+good)))
			if want := []model.NodeTerm{{}, readable}; beside.Unsupported != nil || !reflect.DeepEqual(beside.RequiredNodeAffinity, want) {
				t.Errorf("beside another: got %+v %q, want %+v", beside.RequiredNodeAffinity, beside.Unsupported, want)
			}
		})
	}
}

func TestPreferencesThatCountForNothingAreLeftOut(t *testing.T) {
	_, shape := Pod(parsePod(t, `{spec: {containers: [], affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
		{weight: 0, preference: {matchExpressions: [{key: a, operator: Near}]}}, {weight: 7, preference: {}}, {weight: 3, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}}}`))
	want := []model.WeightedTerm{{Weight: 3, Term: model.NodeTerm{Requirements: []model.Requirement{{Key: "a", Operator: model.Exists}}}}}
	if !reflect.DeepEqual(shape.PreferredNodeAffinity, want) || shape.Unsupported != nil {
		t.Errorf("got %+v %q, want %+v", shape.PreferredNodeAffinity, shape.Unsupported, want)
	}
}

// Each of these is something other than its neighbor in the API, and stays so.
func TestAbsentAndEmptyStayApart(t *testing.T) {
	affinity := func(term string) model.PodTerm {
		_, shape := Pod(parsePod(t, `{spec: {containers: [], affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [`+term+`]}}}}`))
		if len(shape.PodAffinity) != 1 || shape.Unsupported != nil {
			t.Fatalf("%s: %+v", term, shape)
		}
		return shape.PodAffinity[0]
	}
	spread := func(more string) model.Spread {
		_, shape := Pod(parsePod(t, `{spec: {containers: [], topologySpreadConstraints: [{topologyKey: z, maxSkew: 1, whenUnsatisfiable: DoNotSchedule`+more+`}]}}`))
		if len(shape.Spread) != 1 || shape.Unsupported != nil {
			t.Fatalf("%s: %+v", more, shape)
		}
		return shape.Spread[0]
	}
	everything := &model.Selector{}
	app := &model.Selector{MatchLabels: map[string]string{"app": "a"}}
	for text, want := range map[string]model.PodTerm{
		`{topologyKey: z}`:                                                                 {TopologyKey: "z"},
		`{topologyKey: z, labelSelector: {}}`:                                              {TopologyKey: "z", Selector: everything},
		`{topologyKey: z, labelSelector: {}, namespaceSelector: {}}`:                       {TopologyKey: "z", Selector: everything, NamespaceSelector: everything},
		`{topologyKey: z, labelSelector: {}, namespaceSelector: {matchLabels: {app: a}}}`:  {TopologyKey: "z", Selector: everything, NamespaceSelector: app},
		`{topologyKey: z, labelSelector: {}, namespaces: [b, a]}`:                          {TopologyKey: "z", Selector: everything, Namespaces: []string{"b", "a"}},
		`{topologyKey: z, labelSelector: {}, matchLabelKeys: [h], mismatchLabelKeys: [t]}`: {TopologyKey: "z", Selector: everything, MatchLabelKeys: []string{"h"}, MismatchLabelKeys: []string{"t"}},
	} {
		if got := affinity(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
	base := model.Spread{TopologyKey: "z", MaxSkew: 1}
	with := func(change func(*model.Spread)) model.Spread { s := base; change(&s); return s }
	for text, want := range map[string]model.Spread{
		``:                                         base,
		`, labelSelector: {}`:                      with(func(s *model.Spread) { s.Selector = everything }),
		`, minDomains: 1`:                          with(func(s *model.Spread) { s.MinDomains = 1 }),
		`, nodeAffinityPolicy: Honor`:              base,
		`, nodeAffinityPolicy: Ignore`:             with(func(s *model.Spread) { s.IgnoreNodeAffinity = true }),
		`, nodeTaintsPolicy: Ignore`:               base,
		`, nodeTaintsPolicy: Honor`:                with(func(s *model.Spread) { s.HonorNodeTaints = true }),
		`, labelSelector: {}, matchLabelKeys: [h]`: with(func(s *model.Spread) { s.Selector, s.MatchLabelKeys = everything, []string{"h"} }),
	} {
		if got := spread(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

func TestTolerationsKeepTheirOperators(t *testing.T) {
	_, shape := Pod(parsePod(t, `{spec: {containers: [], tolerations: [{operator: Exists}, {key: a, value: b}, {key: num, operator: Gt, value: "5", effect: NoSchedule}, {key: num, operator: Lt, value: "9"}]}}`))
	want := []model.Toleration{{Operator: "Exists"}, {Key: "a", Value: "b"}, {Key: "num", Operator: "Gt", Value: "5", Effect: "NoSchedule"}, {Key: "num", Operator: "Lt", Value: "9"}}
	if !reflect.DeepEqual(shape.Tolerations, want) {
		t.Errorf("got %+v, want %+v", shape.Tolerations, want)
	}
}

func TestWhatCannotBeExpressedIsSaid(t *testing.T) {
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+", ", n), ", ") }
	cases := map[string]struct{ pod, want string }{
		"selecting on a label of one pod": {
			`spec: {containers: [], affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {matchLabels: {statefulset.kubernetes.io/pod-name: db-0}}}]}}}`,
			`podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchLabels: "statefulset.kubernetes.io/pod-name"`},
		"spreading by a label of one pod": {
			`spec: {containers: [], topologySpreadConstraints: [{topologyKey: z, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [apps.kubernetes.io/pod-index]}]}`,
			`spec.topologySpreadConstraints[0].matchLabelKeys: "apps.kubernetes.io/pod-index"`},
		"operator of a node term": {
			`spec: {containers: [], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Near}]}]}}}}`,
			`nodeSelectorTerms[0].matchExpressions[0].operator: "Near"`},
		"operator of a selector": {
			`spec: {containers: [], topologySpreadConstraints: [{topologyKey: z, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: a, operator: Gt}]}}]}`,
			`labelSelector.matchExpressions[0].operator: "Gt"`},
		"spread that is neither": {
			`spec: {containers: [], topologySpreadConstraints: [{topologyKey: z, maxSkew: 1, whenUnsatisfiable: Perhaps}]}`,
			`whenUnsatisfiable: "Perhaps"`},
		"no terms at all": {
			`spec: {containers: [], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}}`,
			`nodeSelectorTerms is empty`},
		"a disk named in the pod": {
			`spec: {containers: [], volumes: [{name: d, awsElasticBlockStore: {volumeID: v}}]}`,
			`spec.volumes[0].awsElasticBlockStore: "d"`},
		"a group": {`spec: {containers: [], schedulingGroup: {podGroupName: g}}`, `spec.schedulingGroup`},
		"no topology key": {
			`spec: {containers: [], affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{labelSelector: {}, topologyKey: ""}]}}}`,
			`podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey is empty`},
		"a skew of nothing": {
			`spec: {containers: [], topologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: DoNotSchedule, maxSkew: 0}]}`,
			`spec.topologySpreadConstraints[0].maxSkew: 0`},
		"fewer than one domain": {
			`spec: {containers: [], topologySpreadConstraints: [{topologyKey: z, whenUnsatisfiable: DoNotSchedule, maxSkew: 1, minDomains: 0}]}`,
			`spec.topologySpreadConstraints[0].minDomains: 0`},
		"a weight beyond bounds": {
			`spec: {containers: [], affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 2147483647, podAffinityTerm: {topologyKey: z}}]}}}`,
			`podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: 2147483647`},
		"a preference that cannot be read": {
			`spec: {containers: [], affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: a, operator: Lt, values: [few]}]}}]}}}`,
			`preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values[0]: Invalid value: "few"`},
		"a selector without values": {
			`spec: {containers: [], topologySpreadConstraints: [{topologyKey: z, maxSkew: 1, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: a, operator: In}]}}]}`,
			`spec.topologySpreadConstraints[0].labelSelector: `},
		"too many containers": {`spec: {containers: [` + many(101, `{name: a}`) + `]}`, `101 containers`},
		"too many terms": {
			`spec: {containers: [], affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [` + many(51, `{weight: 1, podAffinityTerm: {topologyKey: z}}`) + `]}}}`,
			`51 terms`},
		"too many spreads": {`spec: {containers: [], topologySpreadConstraints: [` + many(21, `{topologyKey: z, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway}`) + `]}`, `21 entries`},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			_, shape := Pod(parsePod(t, tt.pod))
			if len(shape.Unsupported) != 1 || !strings.Contains(shape.Unsupported[0], tt.want) {
				t.Errorf("got %q, want one with %q", shape.Unsupported, tt.want)
			}
		})
	}
}
