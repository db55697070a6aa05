package attach_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestAttachRegistersWhatEKSSays(t *testing.T) {
	w := newWorld()
	out, err := w.flow().Attach(t.Context(), standalone())
	if err != nil || !out.New || len(out.Warnings) != 0 {
		t.Fatalf("%+v %v", out, err)
	}
	reg := w.registered["web"]
	if reg.ARN != "arn:aws:eks:us-west-2:111122223333:cluster/web" || reg.Account != "111122223333" || reg.Endpoint != "https://web.example" || string(reg.CA) != "PEM" ||
		reg.ServiceCIDR != "10.100.0.0/16" || reg.ClusterDNS != "10.100.0.10" || reg.Version != "1.36" || reg.Paused || reg.RegisteredUnix != start || reg.ExternalID != "9b1c" {
		t.Errorf("registered %+v", reg)
	}
}

// Attaching again writes what changed and nothing where nothing did; when it was first attached, and that it is paused, stays.
func TestAttachIsRepeatable(t *testing.T) {
	w := attached(t)
	reg := w.registered["web"]
	reg.Paused = true
	w.registered["web"] = reg
	w.now += 3600
	out, err := w.flow().Attach(t.Context(), standalone())
	if err != nil || out.New || len(out.Changed) != 0 || len(w.log) != 0 {
		t.Fatalf("%+v %v %v", out, err, w.log)
	}
	p := w.planes["web"]
	p.Version = "1.37"
	w.planes["web"] = p
	out, err = w.flow().Attach(t.Context(), standalone())
	if err != nil || !slices.Equal(out.Changed, []string{"version"}) {
		t.Fatalf("%+v %v", out, err)
	}
	if reg := w.registered["web"]; reg.Version != "1.37" || !reg.Paused || reg.RegisteredUnix != start {
		t.Errorf("registered %+v", reg)
	}
	again, off := standalone(), false
	again.Paused = &off
	if out, err = w.flow().Attach(t.Context(), again); err != nil || !slices.Equal(out.Changed, []string{"paused"}) || w.registered["web"].Paused {
		t.Errorf("%+v %v", out, err)
	}
}

func TestAttachRefusesAnotherClusterOfTheName(t *testing.T) {
	w := attached(t)
	w.planes["web"] = plane("web", "444455556666")
	other := standalone()
	other.Roles = model.Roles{}
	_, err := w.flow().Attach(t.Context(), other)
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "joiner detach web") || w.registered["web"].Account != "111122223333" {
		t.Errorf("%v", err)
	}
	// One that was registered without its ARN is known by account and region.
	for _, change := range []func(*model.Registration){
		func(r *model.Registration) { r.ARN, r.Account = "", "444455556666" }, func(r *model.Registration) { r.ARN, r.Region = "", "eu-central-1" },
	} {
		w := attached(t)
		before := w.registered["web"]
		change(&before)
		w.registered["web"] = before
		if _, err := w.flow().Attach(t.Context(), standalone()); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "in account "+before.Account+" and region "+before.Region) {
			t.Errorf("%v", err)
		}
		if now := w.registered["web"]; now.Account != before.Account || now.Region != before.Region {
			t.Errorf("it is %+v now", now)
		}
	}
}

// A role that was just made is not believed by everybody at once.
func TestAttachWaitsForNewRoles(t *testing.T) {
	w := newWorld()
	w.denied = 3
	f := w.flow()
	if _, err := f.Attach(t.Context(), standalone()); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), "roles.catalog arn:") {
		t.Fatalf("%v", err)
	}
	f.Settings.RightsIn = 30e9
	if _, err := f.Attach(t.Context(), standalone()); err != nil {
		t.Fatal(err)
	}
	w.denied = 1000
	if _, err := f.Attach(t.Context(), standalone()); !fault.Is(err, fault.Denied) {
		t.Fatalf("%v", err)
	}
}

// IN-05: what cannot be granted is refused, with field, value and remedy.
func TestAttachRefusals(t *testing.T) {
	tests := map[string]struct {
		change func(*attach.Desired)
		plane  func(*model.ControlPlane)
		want   string
	}{
		"no name":                    {change: func(x *attach.Desired) { x.Cluster = "" }, want: "cluster: \"\" is not the name"},
		"a name EKS would not take":  {change: func(x *attach.Desired) { x.Cluster = "we b" }, want: "is not the name of an EKS cluster"},
		"no region":                  {change: func(x *attach.Desired) { x.Region = "" }, want: "region: "},
		"another region":             {change: func(x *attach.Desired) { x.Region = "eu-west-1" }, want: `region: "eu-west-1" is not what EKS says`},
		"another ARN":                {change: func(x *attach.Desired) { x.ARN = "arn:aws:eks:us-west-2:1:cluster/web" }, want: "arn: "},
		"another account":            {change: func(x *attach.Desired) { x.Account = "1" }, want: "account: "},
		"another endpoint":           {change: func(x *attach.Desired) { x.Endpoint = "https://else" }, want: "endpoint: "},
		"another authority":          {change: func(x *attach.Desired) { x.CA = []byte("else") }, want: "ca: "},
		"a user for a role":          {change: func(x *attach.Desired) { x.Roles.Adopt = "arn:aws:iam::111122223333:user/me" }, want: "roles.adopt: "},
		"a role of another account":  {change: func(x *attach.Desired) { x.Roles.Adopt = "arn:aws:iam::999922223333:role/me" }, want: "belongs to another account"},
		"one that launches and ends": {change: func(x *attach.Desired) { x.Roles.Interruption = x.Roles.Provision }, want: "must not be able to terminate them"},
		"an external id":             {change: func(x *attach.Desired) { x.ExternalID = "a b" }, want: "externalID: "},
		"a relay that is no queue":   {change: func(x *attach.Desired) { x.RelayURL = "https://example.com" }, want: "relayURL: "},
		"a FIFO relay":               {change: func(x *attach.Desired) { x.RelayURL = "https://sqs.us-west-2.amazonaws.com/111122223333/a.fifo" }, want: "is a FIFO queue"},
		"a DNS that is no address":   {change: func(x *attach.Desired) { x.ClusterDNS = "kube-dns" }, want: "clusterDNS: "},
		"what the watcher goes by":   {change: func(x *attach.Desired) { x.BatchMaxMillis = 500 }, want: "JOINER_BATCH_MAX"},
		"as idle":                    {change: func(x *attach.Desired) { x.BatchIdleMillis = 500 }, want: "JOINER_BATCH_QUIET"},
		"a spread":                   {change: func(x *attach.Desired) { x.DefaultSpread = "bad" }, want: "defaultSpread: no spread"},
		"a cluster nobody has":       {change: func(x *attach.Desired) { x.Cluster = "wbe" }, want: "check name and region"},
		"one in the making":          {plane: func(p *model.ControlPlane) { p.Status = "CREATING" }, want: "attach it when it is ACTIVE"},
		"one without endpoint":       {plane: func(p *model.ControlPlane) { p.Endpoint = "" }, want: "endpoint"},
		"one without authority":      {plane: func(p *model.ControlPlane) { p.CA = nil }, want: "certificate authority"},
		"one without access entries": {plane: func(p *model.ControlPlane) { p.AuthMode = "CONFIG_MAP" }, want: "authenticationMode=API_AND_CONFIG_MAP"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.fails["Spread bad"] = fault.New(fault.Invalid, "", "no spread")
			x := standalone()
			if tt.change != nil {
				tt.change(&x)
			}
			if tt.plane != nil {
				p := w.planes["web"]
				tt.plane(&p)
				w.planes["web"] = p
			}
			if _, err := w.flow().Attach(t.Context(), x); err == nil || !strings.Contains(err.Error(), tt.want) || len(w.registered) != 0 {
				t.Errorf("%v, want %q; registered %v", err, tt.want, w.registered)
			}
		})
	}
}

func TestAttachWarns(t *testing.T) {
	tests := map[string]struct {
		change func(*world, *attach.Desired)
		want   string
	}{
		"no roles":           {func(_ *world, x *attach.Desired) { x.Roles = model.Roles{} }, "its own permissions"},
		"no external id":     {func(_ *world, x *attach.Desired) { x.ExternalID = "" }, "externalID is not set"},
		"a private endpoint": {func(w *world, _ *attach.Desired) { p := w.planes["web"]; p.PublicAccess = false; w.planes["web"] = p }, "no public endpoint"},
		"a narrow public endpoint": {func(w *world, _ *attach.Desired) {
			p := w.planes["web"]
			p.PublicCIDRs = []string{"1.2.3.4/32"}
			w.planes["web"] = p
		}, "answers only 1.2.3.4/32"},
		"another cluster's role": {func(w *world, x *attach.Desired) {
			w.registered["other"] = model.Registration{Cluster: "other", Roles: model.Roles{Disrupt: x.Roles.Disrupt}}
		}, "is a role of cluster other too"},
	}
	for name, tt := range tests {
		w, x := newWorld(), standalone()
		tt.change(w, &x)
		out, err := w.flow().Attach(t.Context(), x)
		if err != nil || len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], tt.want) {
			t.Errorf("%s: %v %v, want %q", name, out.Warnings, err, tt.want)
		}
	}
	w, x := newWorld(), standalone() // a relay needs neither
	p := w.planes["web"]
	p.PublicAccess, p.AuthMode = false, model.AuthModeConfigMap
	w.planes["web"] = p
	x.RelayURL = "https://sqs.us-west-2.amazonaws.com/111122223333/joiner-relay-web"
	if out, err := w.flow().Attach(t.Context(), x); err != nil || len(out.Warnings) != 0 {
		t.Errorf("through the relay: %v %v", out.Warnings, err)
	}
}

func TestClusterDNSOfAnIPv6Cluster(t *testing.T) {
	w := newWorld()
	p := w.planes["web"]
	p.ServiceCIDR = "fd30:1c53:5f8a::/108"
	w.planes["web"] = p
	if out, err := w.flow().Attach(t.Context(), standalone()); err != nil || out.Registration.ClusterDNS != "fd30:1c53:5f8a::a" {
		t.Errorf("%q %v", out.Registration.ClusterDNS, err)
	}
}
