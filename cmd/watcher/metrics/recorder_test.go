package metrics

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	prommodel "github.com/prometheus/common/model"

	"github.com/joiner-sh/joiner/shared/flow/publish"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// watched is a cluster whose clock the test sets.
type watched struct {
	*Recorder
	rows   publish.Rows
	on     map[string]int // pods by node
	synced bool
	now    int64
}

const began = 1_772_366_400

func watch() *watched {
	w := &watched{now: began}
	w.Recorder = New(Options{
		PodsOn: func(node string) int { return w.on[node] },
		Rows:   func() publish.Rows { return w.rows }, Waiting: func() int { return 3 }, Synced: func() bool { return w.synced },
		Now: func() time.Time { return time.Unix(w.now, 0) }, Version: "v1.2.3", Detail: true,
	})
	w.SetLeading(true)
	return w
}

// scrape returns every sample as name{label="value",…} in the order of labels, with its value. Summaries and histograms are distinguished by
// their counts and sums.
func (w *watched) scrape(t *testing.T) map[string]float64 {
	t.Helper()
	var text bytes.Buffer
	if err := w.Write(&text); err != nil {
		t.Fatal(err)
	}
	return samples(t, &text)
}

func samples(t *testing.T, text io.Reader) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(prommodel.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for name, family := range families {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		for _, m := range family.Metric {
			labels := labelsOf(m)
			put := func(name string, value float64) {
				if _, twice := out[name+labels]; twice {
					t.Errorf("%s%s is told twice", name, labels)
				}
				out[name+labels] = value
			}
			switch {
			case m.Counter != nil:
				put(name, m.Counter.GetValue())
			case m.Gauge != nil:
				put(name, m.Gauge.GetValue())
			case m.Summary != nil:
				put(name+"_count", float64(m.Summary.GetSampleCount()))
				put(name+"_sum", m.Summary.GetSampleSum())
			case m.Histogram != nil:
				put(name+"_count", float64(m.Histogram.GetSampleCount()))
				put(name+"_sum", m.Histogram.GetSampleSum())
			}
		}
	}
	return out
}

func labelsOf(m *dto.Metric) string {
	var pairs []string
	for _, l := range m.Label {
		pairs = append(pairs, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	if len(pairs) == 0 {
		return ""
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}

// expect fails the test unless each sample is reported; nothing else may be reported under the names of those that are.
func expect(t *testing.T, got, want map[string]float64) {
	t.Helper()
	names := map[string]bool{}
	name := func(sample string) string { name, _, _ := strings.Cut(sample, "{"); return name }
	for sample := range want {
		names[name(sample)] = true
	}
	for _, sample := range slices.Sorted(maps.Keys(got)) {
		if _, wanted := want[sample]; !wanted && names[name(sample)] {
			t.Errorf("told, and not to be: %s %g", sample, got[sample])
		}
	}
	for _, sample := range slices.Sorted(maps.Keys(want)) {
		if value, reported := got[sample]; !reported || math.Abs(value-want[sample]) > 1e-9 {
			t.Errorf("%s is %g (told: %t), want %g", sample, value, reported, want[sample])
		}
	}
}

func node(name, pool string, created int64) *model.Node {
	n := &model.Node{Name: name, CreatedUnix: created, ReadyUnix: created, Labels: map[string]string{
		model.LabelArch: "arm64", model.LabelOS: "linux", model.LabelRegion: "us-west-2", model.LabelZone: "us-west-2a",
		model.LabelInstanceType: "m7g.large", "karpenter.k8s.aws/instance-family": "m7g", "karpenter.k8s.aws/instance-cpu": "2",
	}, Capacity: model.Resources{model.CPU: 2000, model.Memory: 8 << 30}, Allocatable: model.Resources{model.CPU: 1900, model.Memory: 7 << 30}}
	if pool != "" {
		n.Labels[model.LabelNodePool], n.Labels[model.LabelCapacityType] = pool, "spot"
		n.Labels[model.LabelRegistered], n.Labels[model.LabelInitialized] = "true", "true"
	}
	return n
}

func pool(after int64, policy string) model.Pool {
	return model.Pool{Name: "general", Limits: model.Resources{model.CPU: 100_000, model.Dollars: 5_000_000},
		Disruption: model.Disruption{Policy: policy, ConsolidateAfterSeconds: &after}}
}

// F151: states of nodes, pods and pools.
func TestF151StatesAreTold(t *testing.T) {
	w := watch()
	w.synced = true
	shape := func(kind string, cpu int64) model.PodShape {
		return model.PodShape{OwnerKind: kind, OwnerName: "owner", Requests: model.Resources{model.CPU: cpu, model.Pods: 1}}
	}
	w.rows = publish.Rows{
		Shapes: []model.PodShape{shape("ReplicaSet", 500), shape("DaemonSet", 100), shape("Node", 50)},
		Nodes:  []model.Node{*node("a", "general", began-60), *node("b", "", began-90)},
		Pools:  []model.Pool{pool(30, "WhenEmptyOrUnderutilized")},
		Pods: []model.Pod{
			{Namespace: "x", Name: "bound", NodeName: "a", Phase: model.Running, Ready: true, CreatedUnix: began - 50},
			{Namespace: "x", Name: "daemon", Shape: 1, NodeName: "a", Phase: model.Running, CreatedUnix: began - 50},
			{Namespace: "x", Name: "static", Shape: 2, NodeName: "a", Phase: model.Running, CreatedUnix: began - 50},
			{Namespace: "x", Name: `wait"s`, CreatedUnix: began - 7},
			{Namespace: "x", Name: "over", NodeName: "a", Phase: model.Succeeded},
		},
	}
	of := func(node string) string {
		pool, managed, capacity := "general", "true", "spot"
		if node == "b" {
			pool, managed, capacity = "N/A", "false", ""
		}
		return fmt.Sprintf(`arch="arm64",capacity_type=%q,instance_category="",instance_cpu="2",instance_family="m7g",instance_generation="",instance_memory="",instance_size="",`+
			`instance_type="m7g.large",managed=%q,node_name=%q,nodepool=%q,os="linux",region="us-west-2"`, capacity, managed, node, pool)
	}
	resource := func(name, node, resource string) string {
		return name + "{" + of(node) + `,resource_type="` + resource + `",zone="us-west-2a"}`
	}
	pods := func(name, owner, node, ready, phase string) string {
		pool, zone, arch, capacity, kind, bound := "general", "us-west-2a", "arm64", "spot", "m7g.large", "true"
		if node == "" {
			pool, zone, arch, capacity, kind, bound = "N/A", "", "", "", "", "false"
		}
		return fmt.Sprintf(`karpenter_pods_state{arch=%q,capacity_type=%q,instance_type=%q,managed=%q,name=%q,namespace="x",node=%q,nodepool=%q,owner=%q,phase=%q,ready=%q,scheduled=%q,zone=%q}`,
			arch, capacity, kind, bound, name, node, pool, owner, phase, ready, bound, zone)
	}
	expect(t, w.scrape(t), map[string]float64{
		resource("karpenter_nodes_allocatable", "a", "cpu"): 1.9, resource("karpenter_nodes_allocatable", "a", "memory"): 7 << 30,
		resource("karpenter_nodes_allocatable", "b", "cpu"): 1.9, resource("karpenter_nodes_allocatable", "b", "memory"): 7 << 30,
		resource("karpenter_nodes_total_pod_requests", "a", "cpu"): 0.55, resource("karpenter_nodes_total_pod_requests", "a", "memory"): 0,
		resource("karpenter_nodes_total_pod_requests", "b", "cpu"): 0, resource("karpenter_nodes_total_pod_requests", "b", "memory"): 0,
		resource("karpenter_nodes_total_daemon_requests", "a", "cpu"): 0.1, resource("karpenter_nodes_total_daemon_requests", "a", "memory"): 0,
		resource("karpenter_nodes_total_daemon_requests", "b", "cpu"): 0, resource("karpenter_nodes_total_daemon_requests", "b", "memory"): 0,
		resource("karpenter_nodes_system_overhead", "a", "cpu"): 0.1, resource("karpenter_nodes_system_overhead", "a", "memory"): 1 << 30,
		resource("karpenter_nodes_system_overhead", "b", "cpu"): 0.1, resource("karpenter_nodes_system_overhead", "b", "memory"): 1 << 30,
		"karpenter_nodes_current_lifetime_seconds{" + of("a") + `,zone="us-west-2a"}`: 60, "karpenter_nodes_current_lifetime_seconds{" + of("b") + `,zone="us-west-2a"}`: 90,
		`karpenter_cluster_utilization_percent{resource_type="cpu"}`: 100 * 0.65 / 1.9, `karpenter_cluster_utilization_percent{resource_type="memory"}`: 0,
		`karpenter_nodepools_usage{nodepool="general",resource_type="cpu"}`: 2, `karpenter_nodepools_usage{nodepool="general",resource_type="memory"}`: 8 << 30,
		`karpenter_nodepools_usage{nodepool="general",resource_type="nodes"}`: 1,
		`karpenter_nodepools_limit{nodepool="general",resource_type="cpu"}`:   100, `karpenter_nodepools_limit{nodepool="general",resource_type="joiner_sh_usd_per_hour"}`: 5,
		`karpenter_nodepool_usage{nodepool="general",resource_type="cpu"}`: 2, `karpenter_nodepool_usage{nodepool="general",resource_type="memory"}`: 8 << 30,
		`karpenter_nodepool_usage{nodepool="general",resource_type="nodes"}`: 1,
		`karpenter_nodepool_limit{nodepool="general",resource_type="cpu"}`:   100, `karpenter_nodepool_limit{nodepool="general",resource_type="joiner_sh_usd_per_hour"}`: 5,
		pods("bound", "ReplicaSet/owner", "a", "true", "Running"): 1, pods("daemon", "DaemonSet/owner", "a", "false", "Running"): 1,
		pods("static", "Node/owner", "a", "false", "Running"): 1, pods(`wait"s`, "ReplicaSet/owner", "", "false", "Pending"): 1,
		`karpenter_pods_unbound_time_seconds{name="wait\"s",namespace="x"}`: 7, `karpenter_pods_unstarted_time_seconds{name="wait\"s",namespace="x"}`: 7,
		`karpenter_voluntary_disruption_eligible_nodes{reason="drifted"}`: 0, `karpenter_voluntary_disruption_eligible_nodes{reason="empty"}`: 0,
		`karpenter_voluntary_disruption_eligible_nodes{reason="underutilized"}`: 1,
		"karpenter_cluster_state_node_count":                                    2, "karpenter_cluster_state_synced": 1, "karpenter_cluster_state_unsynced_time_seconds": 0,
		`karpenter_scheduler_queue_depth{controller="provisioner"}`: 3,
	})
}

// Nodes may be disrupted once nothing has come to them or gone from them for as long as the pool says, and not of a pool that
// wants its empty ones back alone.
func TestF151NodesThatMayBeGivenBack(t *testing.T) {
	w := watch()
	w.synced = true
	drifted := &model.ClaimShown{Pool: "general", Drifted: true}
	w.Observe(wire.Change{Claim: &model.Object{Name: "one"}, Shown: drifted})
	busy := *node("busy", "general", began-600)
	busy.PodEventUnix = began - 10
	leaving := *node("leaving", "general", began-600)
	leaving.DeletedUnix = began
	w.rows = publish.Rows{
		Shapes: []model.PodShape{{OwnerKind: "ReplicaSet"}, {OwnerKind: "DaemonSet"}}, Pools: []model.Pool{pool(30, "WhenEmpty")},
		Nodes: []model.Node{busy, leaving, *node("used", "general", began-600), *node("empty", "general", began-600), *node("other", "", began-600)},
		Pods:  []model.Pod{{Namespace: "x", Name: "p", NodeName: "used", Phase: model.Running}, {Namespace: "x", Name: "d", Shape: 1, NodeName: "empty", Phase: model.Running}},
	}
	reported := func(policy string) map[string]float64 {
		w.rows.Pools = []model.Pool{pool(30, policy)}
		return w.scrape(t)
	}
	of := func(drifted, empty, underutilized float64) map[string]float64 {
		return map[string]float64{
			`karpenter_voluntary_disruption_eligible_nodes{reason="drifted"}`: drifted, `karpenter_voluntary_disruption_eligible_nodes{reason="empty"}`: empty,
			`karpenter_voluntary_disruption_eligible_nodes{reason="underutilized"}`: underutilized,
		}
	}
	expect(t, reported("WhenEmpty"), of(1, 1, 0))
	expect(t, reported("WhenEmptyOrUnderutilized"), of(1, 1, 1))
	w.rows.Pools[0].Disruption.ConsolidateAfterSeconds = nil
	expect(t, w.scrape(t), of(1, 0, 0))
}

// F151: what happens is counted once it happens: not what was there when the watcher began.
func TestF151WhatHappensIsCounted(t *testing.T) {
	w := watch()
	shown := func(reason, message string) *model.ClaimShown {
		return &model.ClaimShown{Pool: "general", Zone: "us-west-2a", CapacityType: "spot", DisruptionReason: reason, DisruptionMessage: message}
	}
	claim := func(name string, s *model.ClaimShown) {
		w.Observe(wire.Change{Claim: &model.Object{Name: name}, Shown: s})
	}
	grace := int64(60)
	p := pool(30, "WhenEmptyOrUnderutilized")
	p.Template.GraceSeconds = &grace
	w.Observe(wire.Change{Pool: &p})
	w.Observe(wire.Change{Node: node("old", "general", began-100)})
	claim("old", shown("", ""))
	w.Observe(wire.Change{Pod: &model.Pod{Namespace: "x", Name: "runs", NodeName: "old", Phase: model.Running, CreatedUnix: began - 90}})
	w.synced = true

	young := node("young", "general", began)
	young.Labels[model.LabelRegistered] = ""
	w.Observe(wire.Change{Node: young})
	w.Observe(wire.Change{Node: node("other", "", began)})
	claim("young", shown("", ""))
	claim("young", shown("", ""))
	w.Observe(wire.Change{Node: node("young", "general", began)})
	w.Observe(wire.Change{Node: node("young", "general", began)})
	waits := model.Pod{Namespace: "x", Name: "waits", CreatedUnix: began}
	w.Observe(wire.Change{Pod: &waits})
	w.now = began + 20
	waits.NodeName = "young"
	w.Observe(wire.Change{Pod: &waits})
	w.now = began + 25
	waits.Phase, waits.Ready = model.Running, true
	w.Observe(wire.Change{Pod: &waits})
	waits.Ready = false // it fails, and is no start
	w.Observe(wire.Change{Pod: &waits})

	claim("old", shown("Underutilized", model.DisruptedBy("c1", 2, 1)+": x"))
	claim("young", shown("Underutilized", model.DisruptedBy("c1", 2, 1)+": x"))
	drained := shown("Underutilized", model.DisruptedBy("c1", 2, 1)+": x")
	drained.Drained = true
	claim("old", drained)
	old := node("old", "general", began-100)
	old.DeletedUnix = began + 10
	w.Observe(wire.Change{Node: old})
	w.Observe(wire.Change{Claim: &model.Object{Name: "old", DeletedUnix: began + 11}, Shown: drained})
	w.now = began + 30
	w.Observe(wire.Change{Deleted: true, Node: &model.Node{Name: "old"}})
	w.Observe(wire.Change{Deleted: true, Claim: &model.Object{Name: "old"}})
	w.Observe(wire.Change{Deleted: true, Node: &model.Node{Name: "never-seen"}})
	want := map[string]float64{
		`karpenter_nodes_created_total{nodepool="general",zone="us-west-2a"}`:                                                                                                                 1,
		`karpenter_nodes_terminated_total{nodepool="general",zone="us-west-2a"}`:                                                                                                              1,
		`karpenter_nodes_drained_total{nodepool="general"}`:                                                                                                                                   1,
		`karpenter_nodes_termination_duration_seconds_count{nodepool="general"}`:                                                                                                              1,
		`karpenter_nodes_termination_duration_seconds_sum{nodepool="general"}`:                                                                                                                20,
		`karpenter_nodes_lifetime_duration_seconds_count{nodepool="general"}`:                                                                                                                 1,
		`karpenter_nodes_lifetime_duration_seconds_sum{nodepool="general"}`:                                                                                                                   130,
		`karpenter_nodeclaims_created_total{min_values_relaxed="false",nodepool="general",reason="provisioned"}`:                                                                              1,
		`karpenter_nodeclaims_terminated_total{capacity_type="spot",nodepool="general",zone="us-west-2a"}`:                                                                                    1,
		`karpenter_nodeclaims_termination_duration_seconds_count{nodepool="general"}`:                                                                                                         1,
		`karpenter_nodeclaims_termination_duration_seconds_sum{nodepool="general"}`:                                                                                                           19,
		`karpenter_voluntary_disruption_decisions_total{consolidation_type="multi",decision="replace",reason="underutilized"}`:                                                                1,
		`karpenter_nodeclaims_disrupted_total{capacity_type="spot",consolidation_policy="when_empty_or_underutilized",nodepool="general",reason="underutilized",termination_mode="eventual"}`: 2,
		"karpenter_pods_bound_duration_seconds_count":                                                                                                                                         1, "karpenter_pods_bound_duration_seconds_sum": 20,
		"karpenter_pods_startup_duration_seconds_count": 1, "karpenter_pods_startup_duration_seconds_sum": 25,
	}
	expect(t, w.scrape(t), want)

	// A pool's series go with it.
	w.Observe(wire.Change{Deleted: true, Pool: &model.Pool{Name: "general"}})
	for sample := range w.scrape(t) {
		if strings.Contains(sample, `nodepool="general"`) {
			t.Errorf("still told: %s", sample)
		}
	}
}

// F155: pods that have to leave are counted when their NodeClaim gets its reason, once, by the labels of that.
func TestF155PodsOfDisruptedNodesAreCounted(t *testing.T) {
	w := watch()
	general := pool(0, "WhenEmptyOrUnderutilized")
	w.Observe(wire.Change{Pool: &general})
	claim := func(name, node, reason string) {
		w.Observe(wire.Change{Claim: &model.Object{Name: name}, Shown: &model.ClaimShown{Pool: "general",
			CapacityType: "spot", NodeName: node, DisruptionReason: reason}})
	}
	w.on = map[string]int{"n1": 3, "n2": 4, "n3": 5, "n4": 6}
	claim("before", "n4", "Drifted") // it was so when the watcher began
	w.synced = true
	for _, name := range []string{"1", "2", "3", "empty"} {
		claim(name, "n"+name, "")
	}
	claim("none", "", "")
	claim("1", "n1", "Underutilized")
	w.on["n1"] = 0 // they have left
	claim("1", "n1", "Underutilized")
	claim("2", "n2", "Underutilized")
	claim("3", "n3", "Drifted")
	claim("empty", "nempty", "Empty")
	claim("none", "", "NeverRegistered")
	series := func(policy, reason string) string {
		return fmt.Sprintf(`karpenter_pods_disruption_initiated_total{capacity_type="spot",consolidation_policy=%q,`+
			`nodepool="general",reason=%q,termination_mode=%q}`, policy, reason, w.pools["general"].mode)
	}
	expect(t, w.scrape(t), map[string]float64{
		series("when_empty_or_underutilized", "underutilized"): 7, series("", "drifted"): 5,
	})
}

// F155: without detail nothing is reported of single nodes and pods, and everything else is.
func TestF155WithoutDetailNoNodeAndNoPodIsTold(t *testing.T) {
	w := watch()
	w.o.Detail, w.synced = false, true
	w.rows = publish.Rows{Shapes: []model.PodShape{{}}, Nodes: []model.Node{*node("a", "general", began)}, Pods: []model.Pod{{Namespace: "x", Name: "p", NodeName: "a"}}}
	got := w.scrape(t)
	for sample := range got {
		if strings.Contains(sample, `"a"`) || strings.Contains(sample, `name="p"`) {
			t.Errorf("told: %s", sample)
		}
	}
	if got["karpenter_cluster_state_node_count"] != 1 {
		t.Errorf("told %v", got)
	}
}

// Of two replicas one reports the cluster, or everything would be counted twice.
func TestReplicaThatDoesNotLeadTellsOfItselfAlone(t *testing.T) {
	w := watch()
	w.synced = true
	w.rows = publish.Rows{Nodes: []model.Node{*node("a", "general", began)}}
	w.Observe(wire.Change{Node: node("a", "general", began)})
	w.SetLeading(false)
	for sample := range w.scrape(t) {
		if !strings.HasPrefix(sample, "karpenter_build_info{") {
			t.Errorf("told: %s", sample)
		}
	}
}

// Every family that is reported is documented with its type and labels, and the other way round.
func TestF151FamiliesAreThoseThatAreTold(t *testing.T) {
	w := watch()
	w.everything()
	var text bytes.Buffer
	if err := w.Write(&text); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(prommodel.LegacyValidation)
	reported, err := parser.TextToMetricFamilies(&text)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]Family{}
	for _, f := range Families() {
		known[f.Name] = f
		if reported[f.Name] == nil {
			t.Errorf("%s is documented and not told", f.Name)
		}
	}
	for name, family := range reported {
		f, ok := known[name]
		if !ok {
			if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
				t.Errorf("%s is told and not documented", name)
			}
			continue
		}
		if strings.ToLower(family.GetType().String()) != f.Type {
			t.Errorf("%s is told as a %s and documented as a %s", name, family.GetType(), f.Type)
		}
		for _, m := range family.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName())
			}
			if slices.Sort(labels); !slices.Equal(labels, slices.Sorted(slices.Values(f.Labels))) {
				t.Errorf("%s is told with %v and documented with %v", name, labels, f.Labels)
			}
		}
	}
}

// everything has something of every family happen.
func (w *watched) everything() {
	w.synced = true
	p := pool(30, "WhenEmpty")
	for _, status := range []string{"False", "True"} {
		ready := []model.ConditionShown{{Type: "Ready", Status: status, SinceUnix: began}}
		w.Observe(wire.Change{Pool: &p, Conditions: ready})
		w.Observe(wire.Change{Class: &model.Class{Name: "default"}, Conditions: ready})
		w.Observe(wire.Change{Claim: &model.Object{Name: "f"}, Shown: &model.ClaimShown{}, Conditions: ready})
	}
	w.Observe(wire.Change{Claim: &model.Object{Name: "c", DeletedUnix: began}, Shown: &model.ClaimShown{Pool: "general"}})
	shown := &model.ClaimShown{Pool: "general", Drained: true, Drifted: true, DisruptionReason: "Empty", DisruptionMessage: model.DisruptedBy("x", 1, 0)}
	w.Observe(wire.Change{Claim: &model.Object{Name: "c", DeletedUnix: began}, Shown: shown})
	w.Observe(wire.Change{Deleted: true, Claim: &model.Object{Name: "c"}})
	w.Observe(wire.Change{Claim: &model.Object{Name: "d"}, Shown: shown})
	w.on = map[string]int{"a": 1}
	sick := &model.ClaimShown{Pool: "general", DisruptionReason: "Unhealthy", NodeName: "a"}
	w.Observe(wire.Change{Claim: &model.Object{Name: "e"}, Shown: sick})
	n := node("a", "general", began-600)
	n.DeletedUnix = began
	w.Observe(wire.Change{Node: n})
	w.Observe(wire.Change{Deleted: true, Node: n})
	for _, pod := range []model.Pod{{CreatedUnix: began}, {CreatedUnix: began, NodeName: "a", Ready: true}} {
		w.Observe(wire.Change{Pod: &pod})
	}
	w.rows = publish.Rows{Shapes: []model.PodShape{{}}, Nodes: []model.Node{*n}, Pools: []model.Pool{p}, Pods: []model.Pod{{Name: "p"}}}
}

// A scrape is answered in the text format, packed where that is asked for.
func TestScrapeIsAnswered(t *testing.T) {
	w := watch()
	w.synced = true
	for _, packed := range []bool{false, true} {
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		if packed {
			request.Header.Set("Accept-Encoding", "gzip, deflate")
		}
		answer := httptest.NewRecorder()
		w.ServeHTTP(answer, request)
		var body io.Reader = answer.Body
		if packed {
			unpacked, err := gzip.NewReader(body)
			if err != nil {
				t.Fatal(err)
			}
			body = unpacked
		}
		if !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
			t.Errorf("content type %s", answer.Header().Get("Content-Type"))
		}
		if got := samples(t, body); got["karpenter_cluster_state_synced"] != 1 {
			t.Errorf("packed %t: told %v", packed, got)
		}
	}
}

// large is a cluster of 1,000 nodes and 10,000 pods of 250 workloads.
func large() *watched {
	w := watch()
	w.synced = true
	for i := range 250 {
		w.rows.Shapes = append(w.rows.Shapes, model.PodShape{OwnerKind: "ReplicaSet", OwnerName: fmt.Sprintf("service-%d-7d4b9c6f8", i), Requests: model.Resources{model.CPU: 100, model.Memory: 128 << 20, model.Pods: 1}})
	}
	name := func(i int) string { return fmt.Sprintf("ip-10-0-%d-%d.us-west-2.compute.internal", i/250, i%250) }
	for i := range 1_000 {
		n := node(name(i), "general", began-600)
		for _, of := range []model.Resources{n.Capacity, n.Allocatable} {
			of[model.Pods], of[model.EphemeralStorage] = 110, 100<<30
		}
		w.rows.Nodes = append(w.rows.Nodes, *n)
	}
	for i := range 10_000 {
		w.rows.Pods = append(w.rows.Pods, model.Pod{
			Namespace: "default", Name: fmt.Sprintf("service-%d-7d4b9c6f8-%05d", i%250, i), Shape: i % 250, NodeName: name(i % 1_000), Phase: model.Running, Ready: true, CreatedUnix: began - 500,
		})
	}
	return w
}

// A scrape of a large cluster is written as it goes and holds little of it at a time: the watcher has 100 MB in all.
func TestScrapeOfALargeClusterHoldsLittle(t *testing.T) {
	w := large()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var size counted
	if err := w.Write(&size); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	t.Logf("a scrape of %d bytes allocates %d", size, allocated)
	if size < 5_000_000 || allocated > 4_000_000 {
		t.Errorf("a scrape of %d bytes allocates %d", size, allocated)
	}
}

// counted counts what is written to it.
type counted int64

func (c *counted) Write(p []byte) (int, error) {
	*c += counted(len(p))
	return len(p), nil
}

func BenchmarkScrapeOfAThousandNodesAndTenThousandPods(b *testing.B) {
	w := large()
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
