package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// bufferOf is a CapacityBuffer of the pods of small.yaml that need a node of their own each.
func bufferOf(spec string) string {
	return `
---
{apiVersion: v1, kind: PodTemplate, metadata: {name: large}, template: {spec: {tolerations: [{operator: Exists}], containers: [{name: a, resources: {requests: {cpu: 1200m, memory: 1Gi}}}]}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: unused, uid: unused}, spec: {selector: {}, template: {spec: {containers: []}}}}
---
{apiVersion: autoscaling.x-k8s.io/v1beta1, kind: CapacityBuffer, metadata: {name: spare}, spec: ` + spec + `}
`
}

func small(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestF090PlanProvisionMakesRoomForBuffers(t *testing.T) {
	in := small(t)
	before := planOf(t, in, "-f", "-", "--catalog", "testdata/catalog.json")
	after := planOf(t, in+bufferOf("{podTemplateRef: {name: large}, replicas: 2}"), "-f", "-", "--catalog", "testdata/catalog.json")
	var places []string
	for _, claim := range after.Claims {
		for _, pod := range claim.Pods {
			if strings.HasPrefix(pod, "default/capacity-buffer-") {
				places = append(places, pod)
			}
		}
	}
	slices.Sort(places)
	if !slices.Equal(places, []string{"default/capacity-buffer-spare-0", "default/capacity-buffer-spare-1"}) || after.PricePerHour <= before.PricePerHour {
		t.Errorf("%v, $%g and before $%g", places, after.PricePerHour, before.PricePerHour)
	}
	_, table, errs := joiner(in+bufferOf("{podTemplateRef: {name: large}, replicas: 2}"), "plan", "provision", "-f", "-", "--catalog", "testdata/catalog.json")
	if !strings.Contains(table, "4 pending pods and 2 placeholder pods of CapacityBuffers: ") {
		t.Errorf("%s", table)
	}
	if !strings.Contains(errs, "1 object of kind Deployment (apps/v1) is left out") {
		t.Errorf("%s", errs)
	}
}

func TestF091PlanProvisionSaysWhichBuffersKeepNoRoom(t *testing.T) {
	code, _, errs := joiner(small(t)+bufferOf("{podTemplateRef: {name: other}, replicas: 2}"), "plan", "provision", "-f", "-", "--catalog", "testdata/catalog.json")
	if code != 0 || !strings.Contains(errs, `warning: CapacityBuffer default/spare has no headroom: spec.podTemplateRef.name: "other": there is no such PodTemplate in namespace default`) {
		t.Errorf("exit status %d: %s", code, errs)
	}
}

// A node that nothing but a buffer needs is not disrupted as empty; others are.
func TestF090PlanDisruptKeepsHeadroom(t *testing.T) {
	text, err := os.ReadFile("testdata/night/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	empty := func(d disruptionOutput) int {
		n := 0
		for _, c := range d.Commands {
			if c.Reason == "Empty" {
				n += len(c.Nodes)
			}
		}
		return n
	}
	before := disruptionOf(t, string(text), "-f", "-", "--now", atNight)
	after := disruptionOf(t, string(text)+bufferOf("{podTemplateRef: {name: large}, replicas: 40}"), "-f", "-", "--now", atNight)
	if empty(before) == 0 || empty(after) >= empty(before) || after.PricePerHourAfter <= before.PricePerHourAfter {
		t.Errorf("%d empty nodes go, $%g stay; before %d, $%g", empty(after), after.PricePerHourAfter, empty(before), before.PricePerHourAfter)
	}
}
