package ec2fleet

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

func TestNC23DryRunsAskAndDoNothing(t *testing.T) {
	r := start(t)
	launch := r.launch(t, "trial", model.OnDemand, "trial")
	request, subnet := r.request(t, launch), r.subnet(t, "us-west-2a")
	dryRuns := map[string]func() error{
		"CreateFleet":  func() error { return r.fleet.DryRunFleet(t.Context(), request) },
		"RunInstances": func() error { return r.fleet.DryRun(t.Context(), launch, request, subnet) },
	}
	for action, ask := range dryRuns {
		if err := ask(); err != nil {
			t.Errorf("%s: %v", action, err)
		}
		allow := r.Deny(ec2model.Denial{Action: action, Because: ec2model.ServiceControlDeny})
		err, again := ask(), ask()
		if !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "service control policy") || strings.Contains(err.Error(), "Encoded") || strings.Contains(err.Error(), "RequestID") {
			t.Errorf("%s denied: %v", action, err)
		}
		if err != nil && again != nil && err.Error() != again.Error() {
			t.Errorf("the same refusal reads %q and %q", err, again)
		}
		allow()
	}
	if err := r.fleet.DryRun(t.Context(), launch, request, "subnet-0000000000000000"); !fault.Is(err, fault.Invalid) {
		t.Errorf("a subnet that does not exist: %v", err)
	}
	if n := len(r.Instances()); n != 0 {
		t.Errorf("%d instances run", n)
	}
	if templates := r.templates(t); len(templates) != 1 {
		t.Errorf("the template stays for real launches: %v", templates)
	}
	allow := r.Deny(ec2model.Denial{Action: "CreateLaunchTemplate"})
	defer allow()
	launch.Templates[0].UserData = []byte("another")
	if _, err := r.fleet.PrepareRequest(t.Context(), launch); !fault.Is(err, fault.Denied) {
		t.Errorf("CreateLaunchTemplate denied: %v", err)
	}
}

func TestNC23ProfileThatDoesNotExistIsSaidToBeInvalid(t *testing.T) {
	r := start(t)
	launch := r.launch(t, "trial", model.OnDemand, "trial")
	launch.Class.Status.InstanceProfile = "nobody"
	err := r.fleet.DryRun(t.Context(), launch, r.request(t, launch), r.subnet(t, "us-west-2a"))
	if !fault.Is(err, fault.Invalid) || !strings.Contains(strings.ToLower(err.Error()), "iaminstanceprofile.name") {
		t.Errorf("%v", err)
	}
}

// LA10: a launch template that was collected is no verdict on the class, and is made again by the next request.
func TestLA10DryRunWithoutItsTemplateSaysNothingAboutTheClass(t *testing.T) {
	r := start(t)
	launch := r.launch(t, "trial", model.OnDemand, "trial")
	asks := map[string]func(request []byte) error{
		"CreateFleet": func(request []byte) error { return r.fleet.DryRunFleet(t.Context(), request) },
		"RunInstances": func(request []byte) error {
			return r.fleet.DryRun(t.Context(), launch, request, r.subnet(t, "us-west-2a"))
		},
	}
	for action, ask := range asks {
		request := r.request(t, launch)
		if _, err := New(r.fleet.client).Collect(t.Context(), "web", nil, r.clock.Now().Unix()+3600, 10); err != nil || len(r.templates(t)) != 0 {
			t.Fatalf("%v %v", r.templates(t), err)
		}
		if err := ask(request); !fault.Is(err, fault.Internal) || !templateGone(fault.CodeOf(err)) {
			t.Errorf("%s: %v, want Internal", action, err)
		}
		if err := ask(r.request(t, launch)); err != nil {
			t.Errorf("%s with the template made again: %v", action, err)
		}
	}
}
