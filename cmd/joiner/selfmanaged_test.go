package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A cluster that EKS does not run is attached by what the command line says of it, and what is not said again stays.
func TestSelfManagedClustersAreAttached(t *testing.T) {
	a := newAccount(t)
	authority := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, a.ca, 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(says string, args ...string) {
		t.Helper()
		args = append([]string{"attach", "own"}, args...)
		if code, _, errs := joiner("", args...); code != 2 || !strings.Contains(errs, says) {
			t.Errorf("%q: exit status %d, %s", args, code, errs)
		}
	}
	refused("add --self-managed, or leave it out", "--endpoint", a.server.URL)
	refused("ca: it is not a certificate in PEM", "--self-managed", "--endpoint", a.server.URL)
	code, out, errs := joiner("", "attach", "own", "--self-managed", "--endpoint", a.server.URL+"/", "--ca", authority,
		"--kubernetes-version", "1.36", "--service-cidr", "10.96.0.0/12", "--external-id", "9b1c",
		"--role-provision", a.role("provision"), "--role-interruption", a.role("interruption"))
	port := a.server.URL[strings.LastIndexByte(a.server.URL, ':')+1:]
	attached := "Cluster own (self-managed, " + a.server.URL + ", Kubernetes 1.36) is attached"
	for _, want := range []string{attached, "networkPolicy.ports={" + port + "}"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit status %d, %s, %s, want %q", code, out, errs, want)
		}
	}
	for _, want := range []string{"aws-iam-authenticator", "serviceAccount.roleARN"} {
		if !strings.Contains(errs, want) {
			t.Errorf("no warning of %s: %s", want, errs)
		}
	}
	reg, err := a.ledger.Cluster(t.Context(), "own")
	if err != nil || !reg.SelfManaged || reg.ARN != "" || reg.Account != a.Account() ||
		string(reg.CA) != string(a.ca) || reg.ClusterDNS != "10.96.0.10" {
		t.Fatalf("%+v %v", reg, err)
	}
	code, out, errs = joiner("", "attach", "own", "--kubernetes-version", "1.37")
	if code != 0 || !strings.Contains(out, "version changed") {
		t.Errorf("an upgrade: exit status %d, %s, %s", code, out, errs)
	}
	refused("EKS has no cluster own", "--self-managed=false")
}
