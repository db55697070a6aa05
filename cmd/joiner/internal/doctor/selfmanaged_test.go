package doctor

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/shared/model"
)

// A self-managed cluster is compared with what its API server says, and nothing is asked of EKS: there is no client of
// it here.
func TestSelfManagedClustersAreCheckedWithoutEKS(t *testing.T) {
	minor, status := "36+", http.StatusOK
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			t.Errorf("%s is asked", r.URL.Path)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"major": "1", "minor": "` + minor + `", "gitVersion": "v1.36.3"}`))
	}))
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	c := &cluster{reg: model.Registration{Cluster: "own", SelfManaged: true, Endpoint: server.URL, CA: authority}}
	c.reg.Version = "1.36"
	one := func(name string, level check.Level, says string) {
		t.Helper()
		found, err := c.plane(t.Context())
		if err != nil || len(found) != 1 || found[0].Level != level ||
			!strings.Contains(found[0].Seen+" "+found[0].Do, says) {
			t.Errorf("%s: %+v %v", name, found, err)
		}
	}
	one("as registered", check.OK, "self-managed, Kubernetes 1.36")
	minor = "37"
	one("upgraded", check.Warn, "joiner attach own --kubernetes-version 1.37")
	status = http.StatusForbidden
	one("closed to strangers", check.Warn, "403 Forbidden")
	c.reg.CA = nil
	one("of another authority", check.Warn, "cannot be read from here")
	for name, read := range map[string]func() ([]check.Finding, error){
		"access entries": func() ([]check.Finding, error) { return c.entries(t.Context()) },
		"Pod Identity":   func() ([]check.Finding, error) { return c.identity(t.Context()) },
	} {
		found, err := read()
		if err != nil || len(found) != 1 || found[0].Level != check.OK ||
			!strings.Contains(found[0].Seen, "self-managed cluster has none") {
			t.Errorf("%s: %+v %v", name, found, err)
		}
	}
}

func TestSelfManagedClustersNeedNoRightsOfEKS(t *testing.T) {
	asksEKS := func(r right) bool { return strings.HasPrefix(r.action, "eks:") }
	reg := model.Registration{Cluster: "own", Account: "111122223333", Region: "us-west-2",
		Roles: model.Roles{Provision: "arn:aws-cn:iam::111122223333:role/p"}}
	if !slices.ContainsFunc(rightsOf(&reg), asksEKS) {
		t.Error("a cluster of EKS needs none?")
	}
	reg.SelfManaged = true
	all := rightsOf(&reg)
	if slices.ContainsFunc(all, asksEKS) {
		t.Errorf("%+v", all)
	}
	ofChina := func(r right) bool { return strings.HasPrefix(r.resource, "arn:aws-cn:ec2:us-west-2:111122223333:") }
	if !slices.ContainsFunc(all, ofChina) {
		t.Errorf("without an ARN of the cluster the partition is that of its roles: %+v", all)
	}
}
