package fis_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/fis"
)

// instances are spot instances, of which each call is noted with the minute of the clock.
type instances struct {
	clock *clock.Fake
	known map[string]string // capacity type, by id
	asked []string
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (m *instances) note(what, id string) bool {
	m.asked = append(m.asked, fmt.Sprintf("%v %s %s", m.clock.Now().Sub(start), what, id))
	return true
}

func (m *instances) Lookup(id string) (ec2.Instance, bool) {
	how, ok := m.known[id]
	return ec2.Instance{ID: id, CapacityType: how}, ok
}
func (m *instances) Rebalance(id string) bool { return m.note("rebalance", id) }
func (m *instances) Interrupt(id string) bool { return m.note("interrupt", id) }

// call sends a request as the SDK does, and returns the document of the answer, or the code of the refusal.
func call(t *testing.T, h http.Handler, method, path, body string) (doc map[string]any, code string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatalf("%s %s: %q: %v", method, path, w.Body, err)
	}
	return doc, w.Header().Get("x-amzn-ErrorType")
}

func templateOf(token, duration, kind string, ids ...string) string {
	arns := make([]string, len(ids))
	for i, id := range ids {
		arns[i] = `"arn:aws:ec2:us-west-2:123456789012:instance/` + id + `"`
	}
	return `{"clientToken": "` + token + `", "description": "d", "roleArn": "arn:aws:iam::123456789012:role/r", "stopConditions": [{"source": "none"}],
		"actions": {"a": {"actionId": "aws:ec2:send-spot-instance-interruptions", "parameters": {"durationBeforeInterruption": "` + duration + `"}, "targets": {"SpotInstances": "t"}}},
		"targets": {"t": {"resourceType": "` + kind + `", "selectionMode": "ALL", "resourceArns": [` + strings.Join(arns, ",") + `]}}}`
}

const spot = "aws:ec2:spot-instance"

func newBench() (*instances, http.Handler) {
	m := &instances{clock: clock.NewFake(start), known: map[string]string{"i-1": ec2.Spot, "i-2": ec2.Spot, "i-3": ec2.OnDemand}}
	return m, fis.NewHandler(fis.New(fis.Options{Clock: m.clock, Instances: m}))
}

func TestAnExperimentTakesSpotInstancesBackAfterTheirNotice(t *testing.T) {
	m, h := newBench()
	begin := func(duration string) map[string]any {
		t.Helper()
		made, code := call(t, h, "POST", "/experimentTemplates", templateOf("token-"+duration, duration, spot, "i-1", "i-2"))
		if code != "" {
			t.Fatal(made, code)
		}
		id := made["experimentTemplate"].(map[string]any)["id"].(string)
		doc, code := call(t, h, "POST", "/experiments", `{"experimentTemplateId": "`+id+`", "clientToken": "token-`+duration+`"}`)
		if code != "" {
			t.Fatal(doc, code)
		}
		again, _ := call(t, h, "POST", "/experiments", `{"experimentTemplateId": "`+id+`", "clientToken": "token-`+duration+`"}`)
		experiment := doc["experiment"].(map[string]any)
		if again["experiment"].(map[string]any)["id"] != experiment["id"] {
			t.Error("the same token has begun another experiment")
		}
		if _, code := call(t, h, "DELETE", "/experimentTemplates/"+id, ""); code != "" {
			t.Error(code)
		}
		if _, code := call(t, h, "GET", "/experimentTemplates/"+id, ""); code != "ResourceNotFoundException" {
			t.Errorf("a template that was deleted: %q", code)
		}
		return experiment
	}
	begin("PT120S")
	want := []string{"0s rebalance i-1", "0s interrupt i-1", "0s rebalance i-2", "0s interrupt i-2"}
	if !slices.Equal(m.asked, want) {
		t.Errorf("at two minutes: %q, want %q", m.asked, want)
	}
	m.asked = nil
	later := begin("PT3M")
	state := func() any {
		t.Helper()
		doc, code := call(t, h, "GET", "/experiments/"+later["id"].(string), "")
		if code != "" {
			t.Fatal(code)
		}
		return doc["experiment"].(map[string]any)["state"].(map[string]any)["status"]
	}
	if s := state(); s != "running" {
		t.Errorf("it is %v", s)
	}
	m.clock.Advance(2 * time.Minute)
	slices.Sort(m.asked)
	want = []string{"0s rebalance i-1", "0s rebalance i-2", "1m0s interrupt i-1", "1m0s interrupt i-2"}
	if !slices.Equal(m.asked, want) {
		t.Errorf("at three minutes: %q, want %q", m.asked, want)
	}
	if s := state(); s != "completed" {
		t.Errorf("afterwards it is %v", s)
	}
}

func TestExperimentsThatCannotBeAreRefused(t *testing.T) {
	m, h := newBench()
	for name, body := range map[string]string{
		"too soon":             templateOf("", "PT1M", spot, "i-1"),
		"too late":             templateOf("", "PT16M", spot, "i-1"),
		"no duration":          templateOf("", "2m", spot, "i-1"),
		"another resource":     templateOf("", "PT2M", "aws:ec2:instance", "i-1"),
		"no instance":          templateOf("", "PT2M", spot),
		"six instances":        templateOf("", "PT2M", spot, "i-1", "i-2", "i-4", "i-5", "i-6", "i-7"),
		"no ARN":               strings.ReplaceAll(templateOf("", "PT2M", spot, "i-1"), "arn:aws:ec2", "arn:aws:rds"),
		"another action":       strings.ReplaceAll(templateOf("", "PT2M", spot, "i-1"), "send-spot-instance-interruptions", "stop-instances"),
		"another stop":         strings.ReplaceAll(templateOf("", "PT2M", spot, "i-1"), `"none"`, `"aws:cloudwatch:alarm"`),
		"a missing target":     strings.ReplaceAll(templateOf("", "PT2M", spot, "i-1"), `"SpotInstances": "t"`, `"SpotInstances": "u"`),
		"what is not modelled": strings.ReplaceAll(templateOf("", "PT2M", spot, "i-1"), `"description"`, `"logConfiguration": {}, "description"`),
	} {
		if doc, code := call(t, h, "POST", "/experimentTemplates", body); code != "ValidationException" {
			t.Errorf("%s: %q %v", name, code, doc)
		}
	}
	made, code := call(t, h, "POST", "/experimentTemplates", templateOf("", "PT2M", spot, "i-1", "i-3"))
	if code != "" {
		t.Fatal(made, code)
	}
	id := made["experimentTemplate"].(map[string]any)["id"].(string)
	if doc, code := call(t, h, "POST", "/experiments", `{"experimentTemplateId": "`+id+`"}`); code != "ValidationException" || len(m.asked) != 0 {
		t.Errorf("with an instance that is no spot instance: %q %v, done %q", code, doc, m.asked)
	}
	if _, code := call(t, h, "POST", "/experiments", `{"experimentTemplateId": "EXT1"}`); code != "ResourceNotFoundException" {
		t.Errorf("no such template: %q", code)
	}
}
