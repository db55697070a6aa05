package pack

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// Bugs other provisioners had, each named by its row in the list of regressions.

func TestR52ANodeWithoutTheLabelIsNoDomain(t *testing.T) {
	for name, change := range map[string]func(*model.Node){
		"no label":    func(*model.Node) {},
		"other label": func(n *model.Node) { n.Labels["topology.example/zone"] = "x" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).node("bare", change).pods("web", 6, asPod(appPod("web"), spreadBy(model.LabelZone, 1)))
			plan := w.complete(t)
			if got := w.perDomain(plan, model.LabelZone, "web"); countsOf(got) != "2 2 2" {
				t.Errorf("pods by zone: %v", got)
			}
			if len(plan.Nominations) != 0 {
				t.Errorf("nominations = %+v: kube-scheduler keeps the pods off a node without the label", plan.Nominations)
			}
		})
	}
}

// kube-scheduler looks only at nodes that have the keys of all the pod's constraints.
func TestR52ANodeWithoutOneOfTheLabelsIsNotCounted(t *testing.T) {
	w := newWorld(64).pool("general", func(p *model.Pool) { p.Template.Labels = map[string]string{"rack": "1"} }).zoned(0, "a", "b", "c")
	w.gone("*/c/*")
	w.pods("web", 4, asPod(appPod("web"), spreadBy(model.LabelZone, 1), spreadBy("rack", 10)))
	if got := w.perDomain(w.complete(t), model.LabelZone, "web"); countsOf(got) != "2 2" {
		t.Errorf("pods by zone: %v; the empty node in c has no rack and does not count", got)
	}
}

// Zones are those of every pool a pod may use, and of no pool it may not: not those of one pool at a time.
func TestR53ZonesOfAllPoolsThatAPodMayUseCount(t *testing.T) {
	in := func(zones ...string) func(*model.Pool) {
		return func(p *model.Pool) { p.Template.Requirements = []model.Requirement{oneOf(model.LabelZone, zones...)} }
	}
	both := newWorld(64).pool("some", in("a", "b")).pool("other", in("c"))
	both.pods("web", 6, asPod(appPod("web"), spreadBy(model.LabelZone, 1)))
	if got := both.perDomain(both.complete(t), model.LabelZone, "web"); countsOf(got) != "2 2 2" {
		t.Errorf("pods by zone: %v", got)
	}
	ofSome := func(s *model.PodShape) { s.NodeSelector = map[string]string{model.LabelNodePool: "some"} }
	one := newWorld(64).pool("some", in("a", "b")).pool("other", in("c")).zoned(0, "c")
	one.pods("web", 6, asPod(appPod("web"), ofSome, spreadBy(model.LabelZone, 1)))
	if got := one.perDomain(one.complete(t), model.LabelZone, "web"); countsOf(got) != "3 3" {
		t.Errorf("pods of one pool by zone: %v", got)
	}
}

func TestR54ZonesOfVolumesAreNotZonesOfCounts(t *testing.T) {
	w := newWorld(64).pool("general", nil).storage("standard", nil).pods("db", 3, asPod(appPod("db"), spreadBy(model.LabelZone, 1)))
	w.withClaim("db", func(i int, v *model.Volume) { boundIn(testZones[i], v) })
	plan := w.complete(t)
	zones := w.domainOf(plan, model.LabelZone)
	for i, zone := range testZones {
		if pod := fmt.Sprintf("db-%05d", i); zones[pod] != zone {
			t.Errorf("%s is in %s, its volume in %s", pod, zones[pod], zone)
		}
	}
}

// A StatefulSet in three zones loses one pod: it goes back to its volume, though another zone sorts first.
func TestR54AStatefulSetsPodGoesBackToItsZone(t *testing.T) {
	for i, zone := range testZones {
		t.Run(zone, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).zoned(600, testZones...)
			for j, other := range testZones {
				if j != i {
					w.running(fmt.Sprintf("db-%05d", j), "node-"+other, appPod("db"))
				}
			}
			w.node("busy-"+zone, func(n *model.Node) { n.Labels[model.LabelZone] = zone; n.Allocatable[model.CPU] = 100 })
			w.pods("new", 1, asPod(appPod("db"), spreadBy(model.LabelZone, 1))).withClaim("new", func(_ int, v *model.Volume) { boundIn(zone, v) })
			if plan := w.complete(t); nodeOf(plan, "new-00000") != "node-"+zone {
				t.Errorf("claims %d, nominations %+v", len(plan.Claims), plan.Nominations)
			}
		})
	}
}

func TestR54EveryZoneAVolumeMayBeMadeInIsTried(t *testing.T) {
	w := newWorld(64).pool("general", nil).storage("standard", zonesAllowed("a", "b", "c"))
	w.pods("db", 6, asPod(appPod("db"), spreadBy(model.LabelZone, 1))).withClaim("db", func(int, *model.Volume) {})
	if got := w.perDomain(w.complete(t), model.LabelZone, "db"); countsOf(got) != "2 2 2" {
		t.Errorf("pods by zone: %v; the first alternative is not the only one", got)
	}
}

// Selectors that differ although a careless writing, or an order-free hash, of them is the same.
var likeSelectors = []struct {
	name string
	a, b *model.Selector
}{
	{"one value with a comma-like join, two values", exprSelector(model.In, "app", "a", "b"), exprSelector(model.In, "app", "ab")},
	{"pairs that run together", &model.Selector{MatchLabels: map[string]string{"ab": "c"}}, &model.Selector{MatchLabels: map[string]string{"a": "bc"}}},
	{"keys and values exchanged", &model.Selector{MatchLabels: map[string]string{"a": "b", "c": "d"}}, &model.Selector{MatchLabels: map[string]string{"a": "d", "c": "b"}}},
	{"In and NotIn", exprSelector(model.In, "app", "a"), exprSelector(model.NotIn, "app", "a")},
	{"Exists and DoesNotExist", exprSelector(model.Exists, "app"), exprSelector(model.DoesNotExist, "app")},
	{"nothing and everything", nil, &model.Selector{}},
	{"a pair twice cancels out", &model.Selector{Expressions: []model.Requirement{oneOf("app", "a"), oneOf("app", "a")}}, &model.Selector{}},
	{"two pairs twice cancel out", &model.Selector{Expressions: []model.Requirement{oneOf("app", "a"), oneOf("app", "a")}}, &model.Selector{Expressions: []model.Requirement{oneOf("app", "b"), oneOf("app", "b")}}},
}

func exprSelector(operator model.Operator, key string, values ...string) *model.Selector {
	return &model.Selector{Expressions: []model.Requirement{{Key: key, Operator: operator, Values: values}}}
}

// Two pods that keep away from what their selectors match, side by side in one plan: each gets its own answer.
func TestR55SelectorsAreToldApartByWhatTheySay(t *testing.T) {
	labelSets := []map[string]string{{"app": "a"}, {"app": "b"}, {"app": "ab"}, {"ab": "c"}, {"a": "bc"}, {"a": "b", "c": "d"}, {"a": "d", "c": "b"}, {"x": "y"}}
	for _, pair := range likeSelectors {
		for _, labels := range labelSets {
			t.Run(fmt.Sprintf("%s/%v", pair.name, labels), func(t *testing.T) {
				w := newWorld(32).node("n", nil).running("r", "n", func(s *model.PodShape) { s.Labels = labels })
				for _, probe := range []struct {
					name     string
					selector *model.Selector
				}{{"one", pair.a}, {"two", pair.b}} {
					w.pods(probe.name, 1, func(s *model.PodShape) {
						s.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: probe.selector, Namespaces: []string{"default"}}}
					}).inNamespace("probes", nil)
				}
				plan := w.sound(t)
				for name, selector := range map[string]*model.Selector{"one-00000": pair.a, "two-00000": pair.b} {
					if kept := codes(plan, name) != nil; kept != selectorMatches(selector, labels) {
						t.Errorf("%s with %+v kept away from %v: %v", name, selector, labels, kept)
					}
				}
			})
		}
	}
}

// Terms that are repeated, or written in another order, say the same as once.
func TestS16RepeatedTermsCountOnce(t *testing.T) {
	a, b := oneOf("app", "web", "api"), model.Requirement{Key: "tier", Operator: model.Exists}
	writings := []*model.Selector{
		{Expressions: []model.Requirement{a, b}},
		{Expressions: []model.Requirement{b, a}},
		{Expressions: []model.Requirement{a, b, a, b}},
		{Expressions: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{"api", "web", "api"}}, b}},
	}
	w := newWorld(64).pool("general", nil)
	for i, selector := range writings {
		w.pods(fmt.Sprintf("w%d", i), 3, func(s *model.PodShape) {
			appPod("web")(s)
			s.Labels["tier"] = "x"
			s.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: selector}}
		})
	}
	plan := w.complete(t)
	total := make(map[string]int)
	for i := range writings {
		for zone, n := range w.perDomain(plan, model.LabelZone, fmt.Sprintf("w%d", i)) {
			total[zone] += n
		}
	}
	if countsOf(total) != "4 4 4" {
		t.Errorf("pods by zone: %v; four ways of writing are one constraint", total)
	}
}

func TestS16RepeatedTermsOfDifferentSelectorsGetTheirOwnResults(t *testing.T) {
	twice := func(value string) *model.Selector {
		return &model.Selector{Expressions: []model.Requirement{oneOf("app", value), oneOf("app", value)}}
	}
	w := newWorld(64).node("n", nil).running("r", "n", appPod("db"))
	for _, name := range []string{"db", "web"} {
		w.pods("not-"+name, 1, func(s *model.PodShape) {
			appPod("x")(s)
			s.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: twice(name)}}
		})
	}
	plan := w.sound(t)
	if codes(plan, "not-db-00000") == nil || codes(plan, "not-web-00000") != nil {
		t.Errorf("refused %+v, nominations %+v", plan.Unschedulable, plan.Nominations)
	}
}

// The API allows a rule without a selector.
func TestS17ANilSelectorMatchesNothingAndStopsNobody(t *testing.T) {
	rules := map[string]struct {
		change func(*model.PodShape)
		placed bool
	}{
		"spread":        {func(s *model.PodShape) { s.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1}} }, true},
		"anti-affinity": {func(s *model.PodShape) { s.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelZone}} }, true},
		"affinity":      {func(s *model.PodShape) { s.PodAffinity = []model.PodTerm{{TopologyKey: model.LabelZone}} }, false},
		"preferred anti-affinity": {func(s *model.PodShape) {
			s.PreferredPodAntiAffinity = []model.WeightedPodTerm{{Weight: 1, Term: model.PodTerm{TopologyKey: model.LabelZone}}}
		}, true},
		"preferred affinity": {func(s *model.PodShape) {
			s.PreferredPodAffinity = []model.WeightedPodTerm{{Weight: 1, Term: model.PodTerm{TopologyKey: model.LabelZone}}}
		}, true},
		"namespaces by a selector": {func(s *model.PodShape) {
			s.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelZone, NamespaceSelector: &model.Selector{}}}
		}, true},
	}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).pods("odd", 1, asPod(appPod("odd"), rule.change)).pods("web", 100, appPod("web"))
			plan := w.sound(t)
			if placed(plan) < 100 || (codes(plan, "odd-00000") == nil) != rule.placed {
				t.Errorf("%d placed, refused %+v", placed(plan), plan.Unschedulable)
			}
		})
	}
}

func TestS18AnInvalidSelectorStopsItsPodOnly(t *testing.T) {
	long := make([]byte, 300)
	for i := range long {
		long[i] = 'x'
	}
	selectors := map[string]*model.Selector{
		"unknown operator":       exprSelector("Near", "app", "web"),
		"numeric operator":       exprSelector(model.Gt, "app", "1"),
		"In without values":      exprSelector(model.In, "app"),
		"NotIn without values":   exprSelector(model.NotIn, "app"),
		"Exists with values":     exprSelector(model.Exists, "app", "web"),
		"no key":                 exprSelector(model.Exists, ""),
		"a key that cannot be":   exprSelector(model.Exists, "a b/c/d"),
		"a value that cannot be": exprSelector(model.In, "app", "a b"),
		"a value too long":       exprSelector(model.In, "app", string(long)),
		"a label that cannot be": {MatchLabels: map[string]string{"!": "?"}},
	}
	uses := map[string]func(*model.PodShape, *model.Selector){
		"spread": func(s *model.PodShape, l *model.Selector) {
			s.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: l}}
		},
		"affinity": func(s *model.PodShape, l *model.Selector) {
			s.PodAffinity = []model.PodTerm{{TopologyKey: model.LabelZone, Selector: l}}
		},
		"anti-affinity": func(s *model.PodShape, l *model.Selector) {
			s.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelZone, Selector: l}}
		},
		"namespaces": func(s *model.PodShape, l *model.Selector) {
			s.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelZone, Selector: ofApp("web"), NamespaceSelector: l}}
		},
	}
	for name, selector := range selectors {
		for use, apply := range uses {
			t.Run(name+"/"+use, func(t *testing.T) {
				w := newWorld(32).pool("general", nil).pods("odd", 1, asPod(appPod("odd"), func(s *model.PodShape) { apply(s, selector) })).pods("web", 10, appPod("web"))
				plan := w.plan()
				refusedWith(t, plan, "odd-00000", Invalid)
				if placed(plan) != 10 {
					t.Errorf("%d placed, want the ten others", placed(plan))
				}
			})
		}
	}
}

// What runs on a node may carry such a selector too; it matches nobody there.
func TestS18AnInvalidSelectorOfARunningPodStopsNobody(t *testing.T) {
	w := newWorld(32).pool("general", nil).node("n", nil).running("odd", "n", func(s *model.PodShape) {
		appPod("odd")(s)
		s.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: exprSelector("Near", "app", "web")}}
	})
	if plan := w.pods("web", 3, appPod("web")).plan(); placed(plan) != 3 {
		t.Errorf("%d placed: %+v", placed(plan), plan.Unschedulable)
	}
}

// kube-scheduler's built-in default constraints are preferences: the translation leaves them out, and where somebody
// writes them they cost nothing and hold nobody back.
func TestR57TheBuiltInDefaultConstraintsCostNothing(t *testing.T) {
	defaults := asPod(spreadBy(model.LabelHostname, 3, ifItCan), spreadBy(model.LabelZone, 5, ifItCan))
	with := newWorld(64).pool("general", nil).zoned(2000, "a").pods("web", 30, asPod(appPod("web"), defaults))
	without := newWorld(64).pool("general", nil).zoned(2000, "a").pods("web", 30, appPod("web"))
	a, b := with.complete(t), without.complete(t)
	if float64(a.Price) > 1.05*float64(b.Price) {
		t.Errorf("price %d with the defaults, %d without", a.Price, b.Price)
	}
}
