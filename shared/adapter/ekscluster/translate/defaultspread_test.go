package translate

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const zoneConstraint = `[{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]`

func parseSpread(t testing.TB, text string) []model.Spread {
	t.Helper()
	out, err := ParseDefaultSpread(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestParseDefaultSpread(t *testing.T) {
	got := parseSpread(t, `
- {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, minDomains: 2, nodeTaintsPolicy: Honor}
- {maxSkew: 3, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}
`)
	want := []model.Spread{
		{TopologyKey: "topology.kubernetes.io/zone", MaxSkew: 1, MinDomains: 2, HonorNodeTaints: true},
		{TopologyKey: "kubernetes.io/hostname", MaxSkew: 3, Anyway: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, text := range []string{"", "none", "none\n"} {
		if none := parseSpread(t, text); none != nil {
			t.Errorf("%q: got %+v", text, none)
		}
	}
	for text, want := range map[string]string{
		`[{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]`:                                                                 "defaultConstraints[0].maxSkew: 0",
		`[{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]`:                                                                                 "defaultConstraints[0].topologyKey is empty",
		`[{maxSkew: 1, topologyKey: z}]`:                                                                                                   "defaultConstraints[0].whenUnsatisfiable",
		`[{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}]`:                                              "defaultConstraints[0].labelSelector",
		`[{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]`: "defaultConstraints[1]: z is constrained twice",
		`[{maxSkews: 1}]`:          "maxSkews",
		`{defaultConstraints: []}`: "read default spread",
		`[{maxSkew: "1"}]`:         "read default spread",
	} {
		if _, err := ParseDefaultSpread(text); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

const (
	webPod = `
apiVersion: v1
kind: Pod
metadata:
  namespace: shop
  name: web-1
  uid: u
  labels: {app: web, tier: front, pod-template-hash: h}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-h, uid: x, controller: true}]
spec: {containers: []}
`
	webService = `
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec: {selector: {app: web}}
`
	webReplicaSet = `
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {namespace: shop, name: web-h}
spec: {selector: {matchLabels: {app: web, pod-template-hash: h}, matchExpressions: [{key: tier, operator: Exists}]}, template: {}}
`
)

func TestDefaultSpreadIsOverThePodsLike(t *testing.T) {
	service := func(namespace, name, selector string) string {
		return "\n---\napiVersion: v1\nkind: Service\nmetadata: {namespace: " + namespace + ", name: " + name + "}\nspec: {" + selector + "}\n"
	}
	front := map[string]string{"app": "web", "tier": "front"}
	app := map[string]string{"app": "web"}
	hash := map[string]string{"app": "web", "pod-template-hash": "h"}
	tier := []model.Requirement{{Key: "tier", Operator: model.Exists}}
	cases := map[string]struct {
		objects string
		want    *model.Selector // nil = left alone
	}{
		"nothing selects it":                  {webPod, nil},
		"a service":                           {webPod + webService, &model.Selector{MatchLabels: app}},
		"its replica set":                     {webPod + webReplicaSet, &model.Selector{MatchLabels: hash, Expressions: tier}},
		"both":                                {webPod + webReplicaSet + service("shop", "b", "selector: {tier: front}"), &model.Selector{MatchLabels: map[string]string{"app": "web", "tier": "front", "pod-template-hash": "h"}, Expressions: tier}},
		"several services":                    {webPod + webService + service("shop", "b", "selector: {tier: front}"), &model.Selector{MatchLabels: front}},
		"a service of another namespace":      {webPod + service("other", "a", "selector: {app: web}"), nil},
		"a service of other pods":             {webPod + service("shop", "a", "selector: {app: db}"), nil},
		"a service of labels the pod has not": {webPod + service("shop", "a", "selector: {app: web, x: z}"), nil},
		"a service without selector":          {webPod + service("shop", "a", "clusterIP: None"), nil},
		"a service that selects everything":   {webPod + service("shop", "a", "selector: {}"), nil},
		"a replica set of another name":       {webPod + strings.Replace(webReplicaSet, "name: web-h", "name: web-g", 1), nil},
		"a replica set that cannot be read":   {webPod + strings.Replace(webReplicaSet, "operator: Exists", "operator: Near", 1), nil},
		"somebody else's kind of replica set": {strings.Replace(webPod, "apps/v1, kind", "apps.kruise.io/v1, kind", 1) + webReplicaSet, nil},
		"a replica set that controls it not":  {strings.Replace(webPod, "controller: true", "controller: false", 1) + webReplicaSet, nil},
		"a replication controller":            {strings.Replace(webPod, "apiVersion: apps/v1, kind: ReplicaSet", "apiVersion: v1, kind: ReplicationController", 1) + "\n---\napiVersion: v1\nkind: ReplicationController\nmetadata: {namespace: shop, name: web-h}\nspec: {selector: {app: web}}", &model.Selector{MatchLabels: app}},
		"a stateful set":                      {strings.Replace(webPod, "kind: ReplicaSet", "kind: StatefulSet", 1) + "\n---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {namespace: shop, name: web-h}\nspec: {selector: {matchLabels: {app: web}}, template: {}, serviceName: a}", &model.Selector{MatchLabels: app}},
		"a controller that contradicts":       {webPod + webService + "\n---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {namespace: shop, name: web-h}\nspec: {selector: {matchLabels: {app: old}}, template: {}}", &model.Selector{MatchLabels: app, Expressions: []model.Requirement{{Key: "app", Operator: model.In, Values: []string{"old"}}}}},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			shape := shapeOf(t, build(t, Builder{DefaultSpread: parseSpread(t, zoneConstraint)}, tt.objects), "shop/web-1")
			var want []model.Spread
			if tt.want != nil {
				want = []model.Spread{{TopologyKey: "topology.kubernetes.io/zone", MaxSkew: 1, Selector: tt.want}}
			}
			if !reflect.DeepEqual(shape.Spread, want) {
				t.Errorf("got %s\nwant %s", text(t, shape.Spread), text(t, want))
			}
		})
	}
}

func text(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestASpreadOfItsOwnKeepsTheDefaultAway(t *testing.T) {
	pod := strings.Replace(webPod, "spec: {containers: []}", "spec: {containers: [], topologySpreadConstraints: [{topologyKey: rack, maxSkew: 2, whenUnsatisfiable: ScheduleAnyway}]}", 1)
	shape := shapeOf(t, build(t, Builder{DefaultSpread: parseSpread(t, zoneConstraint)}, pod+webService), "shop/web-1")
	if want := []model.Spread{{TopologyKey: "rack", MaxSkew: 2, Anyway: true}}; !reflect.DeepEqual(shape.Spread, want) {
		t.Errorf("got %+v, want %+v", shape.Spread, want)
	}
}

// R57: what kube-scheduler does to pods without spread unless configured are preferences, so that a snapshot is the same
// whether or not there are Services and controllers.
func TestTheBuiltInDefaultsLeaveThePlanAlone(t *testing.T) {
	bare := build(t, Builder{}, webPod)
	full := build(t, Builder{}, webPod+webService+webReplicaSet)
	if !reflect.DeepEqual(bare, full) || shapeOf(t, full, "shop/web-1").Spread != nil {
		t.Errorf("\nbare %+v\nfull %+v", bare, full)
	}
}

// A Service for one pod of a StatefulSet narrows what kube-scheduler counts to that pod.
func TestAServiceForOnePodSpreadsOverNobodyElse(t *testing.T) {
	pod := func(name string) string {
		return "\n---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: shop, name: " + name + ", uid: " + name + ", labels: {app: db, statefulset.kubernetes.io/pod-name: " + name + "}}\n"
	}
	objects := strings.TrimPrefix(pod("db-0"), "\n---\n") + pod("db-1") + `
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: db}
spec: {selector: {app: db}}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: first}
spec: {selector: {statefulset.kubernetes.io/pod-name: db-0}}
`
	s := build(t, Builder{DefaultSpread: parseSpread(t, zoneConstraint)}, objects)
	if got := shapeOf(t, s, "shop/db-0").Spread; len(got) != 1 || got[0].Selector != nil {
		t.Errorf("db-0: got %s", text(t, got))
	}
	want := []model.Spread{{TopologyKey: "topology.kubernetes.io/zone", MaxSkew: 1, Selector: &model.Selector{MatchLabels: map[string]string{"app": "db"}}}}
	if got := shapeOf(t, s, "shop/db-1").Spread; !reflect.DeepEqual(got, want) {
		t.Errorf("db-1: got %s, want %s", text(t, got), text(t, want))
	}
	if len(s.Shapes) != 2 {
		t.Errorf("%d shapes", len(s.Shapes))
	}
}
