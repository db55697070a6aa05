package ec2_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

// post sends a form straight to the handler and returns the status.
func post(h http.Handler, form url.Values) int {
	r := httptest.NewRequest("POST", "/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// BenchmarkCreateFleet launches one instance from 60 overrides, while thousands run.
func BenchmarkCreateFleet(b *testing.B) {
	m := ec2.New(ec2.Options{Clock: clock.NewFake(start)})
	h := ec2.NewHandler(m)
	if code := post(h, url.Values{"Action": {"CreateLaunchTemplate"}, "LaunchTemplateName": {"nodes"},
		"LaunchTemplateData.ImageId": {imageFor(catalog.X86_64)}}); code != 200 {
		b.Fatalf("create launch template: status %d", code)
	}
	form := url.Values{"Action": {"CreateFleet"}, "Type": {"instant"}, "TargetCapacitySpecification.TotalTargetCapacity": {"1"},
		"LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName": {"nodes"}, "LaunchTemplateConfigs.1.LaunchTemplateSpecification.Version": {"$Latest"}}
	n := 0
	for _, t := range catalog.Types() {
		if t.Architecture == catalog.X86_64 && n < 60 && len(t.Zones) == 3 {
			n++
			form.Set("LaunchTemplateConfigs.1.Overrides."+string(rune('0'+n/10))+string(rune('0'+n%10))+".InstanceType", t.Name)
		}
	}
	for b.Loop() {
		if code := post(h, form); code != 200 {
			b.Fatalf("create fleet: status %d", code)
		}
	}
}
