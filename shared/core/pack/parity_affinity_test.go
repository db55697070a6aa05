package pack

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestF066SelfAffinePodsLandInOneZone(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("web", 40, asPod(appPod("web"), nearApp(model.LabelZone, "web")))
	plan := w.complete(t)
	if got := w.perDomain(plan, model.LabelZone, "web"); len(got) != 1 || countsOf(got) != "40" {
		t.Errorf("pods by zone: %v", got)
	}
}

func TestF066SelfAffinePodsShareAHost(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("web", 6, asPod(appPod("web"), nearApp(model.LabelHostname, "web")))
	if _, err := onlyClaim(w.complete(t)); err != nil {
		t.Error(err)
	}
}

func TestF066AffinityFollowsPodsThatRun(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(600, "b").running("db", "node-b", appPod("db"))
	w.pods("web", 5, asPod(appPod("web"), nearApp(model.LabelZone, "db")))
	if got := w.perDomain(w.complete(t), model.LabelZone, "web"); got["b"] != 5 {
		t.Errorf("pods by zone: %v", got)
	}
}

func TestF066SelfAffinityFollowsItsPodsThatRun(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(600, "c").running("web-old", "node-c", appPod("web"))
	w.pods("web", 5, asPod(appPod("web"), nearApp(model.LabelZone, "web")))
	if got := w.perDomain(w.complete(t), model.LabelZone, "web"); got["c"] != 6 {
		t.Errorf("pods by zone: %v", got)
	}
}

func TestF066AffinityThatMatchesNobodyIsRefused(t *testing.T) {
	w := newWorld(64).pool("general", nil).node("n", nil).pods("web", 2, asPod(appPod("web"), nearApp(model.LabelZone, "db")))
	refusedWith(t, w.sound(t), "web-00000", PodAffinity)
}

func TestF066ChainsWithinABatch(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	w.pods("c", 2, asPod(appPod("c"), nearApp(model.LabelZone, "b")))
	w.pods("b", 2, asPod(appPod("b"), nearApp(model.LabelZone, "a")))
	w.pods("a", 1, asPod(appPod("a"), selecting(model.LabelZone, "b")))
	plan := w.complete(t)
	for _, workload := range []string{"a", "b", "c"} {
		if got := w.perDomain(plan, model.LabelZone, workload); len(got) != 1 || got["b"] == 0 {
			t.Errorf("%s by zone: %v", workload, got)
		}
	}
}

// The same on one host, whichever of them comes first in the plan's order: the instance is large enough for the whole
// chain.
func TestF066ChainsOfOneHostAreOneNode(t *testing.T) {
	for _, sizes := range [][4]int64{{500, 500, 500, 500}, {400, 300, 200, 100}, {100, 200, 300, 400}, {100, 900, 1_000, 200}} {
		w := newWorld(64).pool("general", nil)
		w.pods("db", 1, asPod(appPod("db"), cpu(sizes[0])))
		w.pods("web", 1, asPod(appPod("web"), cpu(sizes[1]), nearApp(model.LabelHostname, "db")))
		w.pods("cache", 1, asPod(appPod("cache"), cpu(sizes[2]), nearApp(model.LabelHostname, "web")))
		w.pods("ui", 1, asPod(appPod("ui"), cpu(sizes[3]), nearApp(model.LabelHostname, "cache")))
		if _, err := onlyClaim(w.complete(t)); err != nil {
			t.Errorf("%v: %v", sizes, err)
		}
	}
}

// Two workloads that wait for each other: kube-scheduler binds neither.
func TestF066CirclesThatNobodyCanStartAreRefused(t *testing.T) {
	w := newWorld(64).pool("general", nil)
	w.pods("x", 1, asPod(appPod("x"), nearApp(model.LabelZone, "y"))).pods("y", 1, asPod(appPod("y"), nearApp(model.LabelZone, "x")))
	plan := w.sound(t)
	refusedWith(t, plan, "x-00000", PodAffinity)
	refusedWith(t, plan, "y-00000", PodAffinity)
}

// A pod counts only where it matches every term, and each term has its own domain.
func TestF066TwoTermsHoldTogether(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(600, "a", "b")
	w.running("half", "node-a", appPod("db")).running("whole", "node-b", asPod(appPod("db"), labeled("tier", "x")))
	tier := func(term *model.PodTerm) {
		term.Selector = &model.Selector{MatchLabels: map[string]string{"tier": "x"}}
	}
	w.pods("web", 3, asPod(appPod("web"), nearApp(model.LabelZone, "db"), nearApp(model.LabelZone, "", tier)))
	if got := w.perDomain(w.complete(t), model.LabelZone, "web"); got["b"] != 3 {
		t.Errorf("pods by zone: %v", got)
	}
}

// kube-scheduler lets a pod be the first of its kind only while no term finds anybody anywhere.
func TestF066TwoTermsAreStartedTogether(t *testing.T) {
	terms := asPod(appPod("web"), nearApp(model.LabelZone, "web"), nearApp("rack", "web"))
	racked := func(p *model.Pool) { p.Template.Labels = map[string]string{"rack": "1"} }
	t.Run("nobody is there", func(t *testing.T) {
		w := newWorld(64).pool("general", racked).pods("web", 5, terms)
		if got := w.perDomain(w.complete(t), model.LabelZone, "web"); countsOf(got) != "5" {
			t.Errorf("pods by zone: %v", got)
		}
	})
	t.Run("one runs where only one of the terms counts it", func(t *testing.T) {
		w := newWorld(64).pool("general", racked).zoned(500, "a").running("old", "node-a", appPod("web")).pods("web", 2, terms)
		refusedWith(t, w.sound(t), "web-00000", PodAffinity)
	})
	t.Run("one may come first where only one of the terms counts it", func(t *testing.T) {
		w := newWorld(64).pool("general", racked).zoned(500, "a").pods("other", 1, appPod("web")).pods("web", 2, terms)
		refusedWith(t, w.sound(t), "web-00000", PodAffinity)
	})
}

// One node that exists holds both, another only the first of them.
func TestF066SelfAffinePodsShareTheNodeThatHoldsAll(t *testing.T) {
	w := newWorld(64).zoned(1000, "a").node("roomy", nil)
	w.pods("web", 3, asPod(appPod("web"), nearApp(model.LabelHostname, "web")))
	if plan := w.complete(t); len(plan.Nominations) != 1 || plan.Nominations[0].Node != "roomy" {
		t.Errorf("nominations %+v", plan.Nominations)
	}
}

// A daemon that is looked for runs on some instances of some zones only: a node that may become one of them and one
// that is none is bought as what it was counted as.
func TestF066DaemonsOfNodesToComeAreWhereTheyWereCounted(t *testing.T) {
	w := newWorld(96).pool("general", nil)
	w.daemon("agent", asPod(appPod("web"), selecting(model.LabelArch, "arm64"), needing(oneOf(model.LabelZone, "a", "b"))))
	w.pods("other", 1, asPod(appPod("other"), selecting(model.LabelArch, "arm64")))
	w.pods("web", 2, asPod(appPod("web"), nearApp(model.LabelZone, "web"))).withClaim("web", func(_ int, v *model.Volume) { boundIn("a", v) })
	w.complete(t)
}

// The peer places one such pod a pass, until the first node's zone is known; pinned zones place all at once.
func TestF067ZonalAntiAffinity(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("web", 5, asPod(appPod("web"), apartFrom(model.LabelZone, "web")))
	plan := w.sound(t)
	if got := w.perDomain(plan, model.LabelZone, "web"); countsOf(got) != "1 1 1" || len(plan.Unschedulable) != 2 {
		t.Errorf("pods by zone: %v, %d left out", got, len(plan.Unschedulable))
	}
	for _, u := range plan.Unschedulable {
		refusedWith(t, plan, u.Pod.Name, PodAntiAffinity)
	}
}

func TestF067HostnameAntiAffinity(t *testing.T) {
	w := newWorld(64).pool("general", nil).node("n", nil).pods("web", 5, asPod(appPod("web"), apartFrom(model.LabelHostname, "web")))
	plan := w.complete(t)
	if got := w.perDomain(plan, model.LabelHostname, "web"); countsOf(got) != "1 1 1 1 1" || got["n"] != 1 {
		t.Errorf("pods by host: %v", got)
	}
}

func TestF067AntiAffinityToOthers(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(4000, "a").running("db", "node-a", appPod("db"))
	w.pods("web", 3, asPod(appPod("web"), apartFrom(model.LabelZone, "db"))).pods("db", 2, asPod(appPod("db"), selecting(model.LabelZone, "b")))
	if got := w.perDomain(w.complete(t), model.LabelZone, "web"); got["c"] != 3 {
		t.Errorf("pods by zone: %v", got)
	}
}

// A node without the label is in no domain: nothing is there to keep away from.
func TestF067NodesWithoutTheLabelAreOutsideAllDomains(t *testing.T) {
	w := newWorld(64).node("n", nil).running("db", "n", appPod("db")).pods("web", 2, asPod(appPod("web"), apartFrom(model.LabelZone, "db")))
	if plan := w.complete(t); nodeOf(plan, "web-00000") != "n" || nodeOf(plan, "web-00001") != "n" {
		t.Errorf("nominations = %+v", plan.Nominations)
	}
}

func TestF068AntiAffinityOfRunningPodsKeepsPlainPodsOut(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(4000, "a", "b").running("guard", "node-a", asPod(appPod("guard"), apartFrom(model.LabelZone, "web")))
	w.pods("web", 10, appPod("web")).pods("other", 2, appPod("other"))
	plan := w.complete(t)
	if got := w.perDomain(plan, model.LabelZone, "web"); got["a"] != 0 || got["b"] == 0 {
		t.Errorf("pods by zone: %v", got)
	}
	for zone, n := range w.perDomain(plan, model.LabelZone, "web") {
		if zone != "b" && zone != "c" && zone != "b|c" {
			t.Errorf("%d pods may come to %s", n, zone)
		}
	}
}

func TestF068AntiAffinityOfPodsOfTheSameBatchKeepsPlainPodsOut(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("guard", 1, asPod(appPod("guard"), apartFrom(model.LabelHostname, "web"))).pods("web", 3, appPod("web"))
	plan := w.complete(t)
	if hosts := w.domainOf(plan, model.LabelHostname); hosts["guard-00000"] == hosts["web-00000"] {
		t.Errorf("guard and web share %s", hosts["web-00000"])
	}
}

func TestF068PreferredTermsAreNotSymmetric(t *testing.T) {
	w := newWorld(64).node("n", nil).running("guard", "n", func(s *model.PodShape) {
		appPod("guard")(s)
		s.PreferredPodAntiAffinity = []model.WeightedPodTerm{{Weight: 100, Term: model.PodTerm{TopologyKey: model.LabelHostname, Selector: ofApp("web")}}}
	})
	if plan := w.pods("web", 1, appPod("web")).complete(t); nodeOf(plan, "web-00000") != "n" {
		t.Errorf("plan = %+v", plan)
	}
}

func TestF069Namespaces(t *testing.T) {
	tests := map[string]struct {
		change func(*model.PodTerm)
		apart  bool // from a pod of namespace "other", labeled team=x
	}{
		"own namespace by default": {func(*model.PodTerm) {}, false},
		"listed":                   {func(p *model.PodTerm) { p.Namespaces = []string{"other"} }, true},
		"another listed":           {func(p *model.PodTerm) { p.Namespaces = []string{"third"} }, false},
		"by labels": {func(p *model.PodTerm) {
			p.NamespaceSelector = &model.Selector{MatchLabels: map[string]string{"team": "x"}}
		}, true},
		"by other labels": {func(p *model.PodTerm) {
			p.NamespaceSelector = &model.Selector{MatchLabels: map[string]string{"team": "y"}}
		}, false},
		"every one": {func(p *model.PodTerm) { p.NamespaceSelector = &model.Selector{} }, true},
		"listed, or by labels that fail": {func(p *model.PodTerm) {
			p.Namespaces = []string{"other"}
			p.NamespaceSelector = &model.Selector{MatchLabels: map[string]string{"team": "y"}}
		}, true},
		"by an expression": {func(p *model.PodTerm) {
			p.NamespaceSelector = &model.Selector{Expressions: []model.Requirement{{Key: "team", Operator: model.NotIn, Values: []string{"y"}}}}
		}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).zoned(4000, "a").running("db", "node-a", appPod("db")).inNamespace("other", map[string]string{"team": "x"})
			w.in.Snapshot.Namespaces = append(w.in.Snapshot.Namespaces, model.Namespace{Name: "default"})
			w.pods("web", 1, asPod(appPod("web"), apartFrom(model.LabelHostname, "db", test.change)))
			if plan := w.complete(t); (nodeOf(plan, "web-00000") == "") != test.apart {
				t.Errorf("nominations = %+v, want apart = %v", plan.Nominations, test.apart)
			}
		})
	}
}

func TestF069MatchLabelKeysOfTerms(t *testing.T) {
	same := func(p *model.PodTerm) { p.MatchLabelKeys = []string{"rev"} }
	different := func(p *model.PodTerm) { p.MismatchLabelKeys = []string{"rev"} }
	for name, test := range map[string]struct {
		change func(*model.PodTerm)
		rev    string
		apart  bool
	}{
		"same revision, of the same":          {same, "1", true},
		"same revision, of another":           {same, "2", false},
		"different revision, of the same":     {different, "1", false},
		"different revision, of another":      {different, "2", true},
		"different revision, without a label": {different, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(64).pool("general", nil).node("n", nil).running("old", "n", func(s *model.PodShape) {
				appPod("web")(s)
				if test.rev != "" {
					s.Labels["rev"] = test.rev
				}
			})
			w.pods("web", 1, asPod(appPod("web"), labeled("rev", "1"), apartFrom(model.LabelHostname, "web", test.change)))
			if plan := w.complete(t); (nodeOf(plan, "web-00000") == "") != test.apart {
				t.Errorf("nominations = %+v, want apart = %v", plan.Nominations, test.apart)
			}
		})
	}
}

func preferredApart(key, app string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.PreferredPodAntiAffinity = append(s.PreferredPodAntiAffinity, model.WeightedPodTerm{Weight: 100, Term: model.PodTerm{TopologyKey: key, Selector: ofApp(app)}})
	}
}

func preferredNear(key, app string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.PreferredPodAffinity = append(s.PreferredPodAffinity, model.WeightedPodTerm{Weight: 100, Term: model.PodTerm{TopologyKey: key, Selector: ofApp(app)}})
	}
}

func TestF070PreferencesThatAreIgnoredChangeNothing(t *testing.T) {
	preferences := map[string]func(*model.PodShape){
		"anti-affinity":     preferredApart(model.LabelHostname, "web"),
		"affinity":          preferredNear(model.LabelZone, "db"),
		"spread":            spreadBy(model.LabelZone, 1, ifItCan),
		"node affinity":     preferring(50, oneOf(model.LabelZone, "c")),
		"spread over hosts": spreadBy(model.LabelHostname, 1, ifItCan),
	}
	for name, preference := range preferences {
		t.Run(name, func(t *testing.T) {
			with := newWorld(64).pool("general", nil).node("n", nil).pods("web", 10, asPod(appPod("web"), preference))
			with.in.IgnorePreferences = true
			without := newWorld(64).pool("general", nil).node("n", nil).pods("web", 10, appPod("web"))
			if a, b := with.complete(t), without.complete(t); a.Price != b.Price || len(a.Claims) != len(b.Claims) {
				t.Errorf("%d claims at %d with wishes, %d at %d without", len(a.Claims), a.Price, len(b.Claims), b.Price)
			}
		})
	}
}

func TestF066SelfAffinityThatNoNodeCanHoldLeavesPodsOut(t *testing.T) {
	w := newWorld(64).pool("general", nil).pods("web", 30, asPod(cpu(10_000), func(s *model.PodShape) { s.Labels = map[string]string{"app": "web"} }, nearApp(model.LabelHostname, "web")))
	plan := w.sound(t)
	if len(plan.Claims) != 1 || len(plan.Unschedulable) == 0 || placed(plan) < 8 {
		t.Errorf("%d claims, %d placed", len(plan.Claims), placed(plan))
	}
	for _, u := range plan.Unschedulable {
		refusedWith(t, plan, u.Pod.Name, PodAffinity)
	}
}

// The peer opens a node for each pod of a preferred anti-affinity, and so costs many times as much.
func TestF070PreferencesBetweenPodsAreNotPaidForWithNodes(t *testing.T) {
	for name, preference := range map[string]func(*model.PodShape){
		"apart on hosts": preferredApart(model.LabelHostname, "web"),
		"apart in zones": preferredApart(model.LabelZone, "web"),
		"near":           preferredNear(model.LabelHostname, "web"),
		"near nobody":    preferredNear(model.LabelZone, "no-such-app"),
	} {
		t.Run(name, func(t *testing.T) {
			with := newWorld(64).pool("general", nil).pods("web", 20, asPod(appPod("web"), preference)).complete(t)
			without := newWorld(64).pool("general", nil).pods("web", 20, appPod("web")).complete(t)
			if float64(with.Price) > 1.05*float64(without.Price) {
				t.Errorf("price %d with the wish, %d without", with.Price, without.Price)
			}
		})
	}
}

// On nodes that exist as on new ones, whoever is placed first.
func TestF068PlannedPodsKeepApartOnNodesThatExist(t *testing.T) {
	rules := map[string]func(*model.PodShape){
		"hosts":      apartFrom(model.LabelHostname, "web"),
		"zones":      apartFrom(model.LabelZone, "web"),
		"host ports": withPort(80, "TCP", ""),
	}
	for name, rule := range rules {
		for _, order := range [][2]int64{{100, 3000}, {3000, 100}, {500, 500}} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(64).pool("general", nil).zoned(4000, "a", "b", "c").node("d", func(n *model.Node) { n.Labels[model.LabelZone] = "a" })
				plain := asPod(appPod("web"), func(s *model.PodShape) { s.Requests[model.CPU] = order[1] })
				if name == "host ports" {
					plain = asPod(plain, rule)
				}
				w.pods("apart", 2, asPod(appPod("web"), rule, func(s *model.PodShape) { s.Requests[model.CPU] = order[0] })).pods("plain", 2, plain)
				w.sound(t)
			})
		}
	}
}

// openClaim puts a claim on its way that may still come up in any zone and by any capacity type, with room to spare.
func openClaim(w *world) {
	other := newWorld(64).pool("general", nil).pods("other", 1, cpu(1000))
	w.pods("other", 1, cpu(1000))
	for _, planned := range other.plan().Claims {
		w.in.Claims = append(w.in.Claims, asLedger(planned))
	}
}

func TestF068AnOpenClaimMayBeInAnyDomain(t *testing.T) {
	for _, key := range []string{model.LabelZone, model.LabelCapacityType} {
		for name, build := range map[string]func(w *world){
			"apart from what runs": func(w *world) {
				w.running("db", "node-a", appPod("db")).pods("web", 1, asPod(appPod("web"), apartFrom(key, "db")))
			},
			"kept apart by what runs": func(w *world) {
				w.running("db", "node-a", asPod(appPod("db"), apartFrom(key, "web"))).pods("web", 1, appPod("web"))
			},
			"kept apart by what is planned": func(w *world) {
				w.pods("db", 1, asPod(appPod("db"), apartFrom(key, "web"), selecting(model.LabelZone, "b"))).pods("web", 2, appPod("web"))
			},
			"apart from each other": func(w *world) { w.pods("web", 2, asPod(appPod("web"), apartFrom(key, "web"))) },
			"near what runs": func(w *world) {
				w.running("db", "node-a", appPod("db")).pods("web", 1, asPod(appPod("web"), nearApp(key, "db")))
			},
			"near each other": func(w *world) { w.pods("web", 12, asPod(appPod("web"), nearApp(key, "web"))) },
			"spread":          func(w *world) { w.pods("web", 6, asPod(appPod("web"), spreadBy(key, 1))) },
			"spread, others counted": func(w *world) {
				w.pods("web", 3, asPod(appPod("web"), spreadBy(key, 1))).pods("plain", 5, appPod("web"))
			},
		} {
			t.Run(name+" by "+key, func(t *testing.T) {
				w := newWorld(64).pool("general", nil).node("node-a", func(n *model.Node) {
					n.Labels[model.LabelZone], n.Labels[model.LabelCapacityType] = "a", model.Spot
					n.Allocatable[model.CPU] = 600
				})
				openClaim(w)
				build(w)
				w.complete(t)
			})
		}
	}
}
