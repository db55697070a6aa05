package attach_test

import (
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/model"
)

var certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("authority")})

// kubeadm is a cluster that EKS does not run.
func kubeadm(change func(*model.Registration)) attach.Desired {
	desired := standalone()
	desired.Cluster, desired.SelfManaged, desired.Account = "own", true, "111122223333"
	desired.Endpoint, desired.CA = "https://10.0.0.10:6443", certificate
	desired.Version, desired.ServiceCIDR = "1.36", "10.96.0.0/12"
	if change != nil {
		change(&desired.Registration)
	}
	return desired
}

// A cluster that EKS does not run is registered as people say, and EKS is not asked. Without the relay a warning says
// how functions authenticate.
func TestSelfManagedClustersAreRegisteredWithoutEKS(t *testing.T) {
	w := newWorld()
	w.fails["Describe"] = fault.New(fault.Internal, "", "EKS was asked")
	out, err := w.flow().Attach(t.Context(), kubeadm(nil))
	if err != nil || !out.New || len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "aws-iam-authenticator") {
		t.Fatalf("%+v %v", out, err)
	}
	reg := w.registered["own"]
	if !reg.SelfManaged || reg.ARN != "" || reg.Account != "111122223333" || reg.Region != "us-west-2" ||
		reg.Endpoint != "https://10.0.0.10:6443" || string(reg.CA) != string(certificate) || reg.Version != "1.36" ||
		reg.ServiceCIDR != "10.96.0.0/12" || reg.ClusterDNS != "10.96.0.10" {
		t.Errorf("registered %+v", reg)
	}
	relayed := kubeadm(func(r *model.Registration) {
		r.RelayURL, r.Version = "https://sqs.us-west-2.amazonaws.com/111122223333/joiner-relay-own", "1.37"
	})
	out, err = w.flow().Attach(t.Context(), relayed)
	if err != nil || out.New || len(out.Warnings) != 0 || !slices.Equal(out.Changed, []string{"relayURL", "version"}) {
		t.Errorf("again, by the relay: %+v %v", out, err)
	}
}

func TestSelfManagedClustersNeedWhatEKSWouldSay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*model.Registration)
		says   string
	}{
		"no endpoint":      {func(r *model.Registration) { r.Endpoint = "" }, "endpoint"},
		"not https":        {func(r *model.Registration) { r.Endpoint = "http://10.0.0.10" }, "such as https://api"},
		"a path":           {func(r *model.Registration) { r.Endpoint = "https://10.0.0.10/k8s" }, "endpoint"},
		"no authority":     {func(r *model.Registration) { r.CA = nil }, "/etc/kubernetes/pki/ca.crt"},
		"another text":     {func(r *model.Registration) { r.CA = []byte("PEM") }, "ca: it is not a certificate"},
		"no version":       {func(r *model.Registration) { r.Version = "" }, "version"},
		"a patch":          {func(r *model.Registration) { r.Version = "1.36.3" }, `such as "1.36"`},
		"no account":       {func(r *model.Registration) { r.Account = "" }, "12 digits"},
		"an ARN":           {func(r *model.Registration) { r.ARN = "arn:aws:eks:a:1:cluster/own" }, "leave it out"},
		"no network":       {func(r *model.Registration) { r.ServiceCIDR = "10.96.0.0" }, "such as 10.96.0.0/12"},
		"roles of another": {func(r *model.Registration) { r.Account = "444455556666" }, "belongs to another account"},
	} {
		w := newWorld()
		_, err := w.flow().Attach(t.Context(), kubeadm(c.change))
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.says) || len(w.registered) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One kind of cluster never becomes the other under a name, and no other self-managed cluster takes it.
func TestSelfManagedClustersKeepTheirName(t *testing.T) {
	w := attached(t)
	web := kubeadm(func(r *model.Registration) { r.Cluster = "web" })
	_, err := w.flow().Attach(t.Context(), web)
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "it is a cluster of EKS; detach that one") {
		t.Errorf("EKS's: %v", err)
	}
	w = newWorld()
	if _, err := w.flow().Attach(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	_, err = w.flow().Attach(t.Context(), standalone())
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "it is self-managed") {
		t.Errorf("as EKS's: %v", err)
	}
	_, err = w.flow().Attach(t.Context(), kubeadm(func(r *model.Registration) {
		r.Cluster, r.Account, r.Roles = "web", "444455556666", model.Roles{}
	}))
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "in account 111122223333") {
		t.Errorf("of another account: %v", err)
	}
}
