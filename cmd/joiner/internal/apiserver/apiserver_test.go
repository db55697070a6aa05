package apiserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestAdoptRefusesTheKubeconfigOfAnotherCluster(t *testing.T) {
	reg := model.Registration{Cluster: "shop", CA: []byte("PEM of shop\n")}
	config := func(ca string) *rest.Config {
		return &rest.Config{Host: "https://other", TLSClientConfig: rest.TLSClientConfig{CAData: []byte(ca)}}
	}
	if err := sameServer(config("PEM of shop"), reg); err != nil {
		t.Error(err)
	}
	if err := sameServer(config("PEM of other"), reg); err == nil || !strings.Contains(err.Error(), "https://other") {
		t.Errorf("another's: %v", err)
	}
	if err := sameServer(config(""), reg); err != nil {
		t.Errorf("one that trusts the system's authorities: %v", err)
	}
}

// A context alone is one of the kubeconfig that kubectl uses.
func TestAContextIsOneOfKubectlsKubeconfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	err := os.WriteFile(path, []byte(`{apiVersion: v1, kind: Config, current-context: web, contexts: [{name: shop, context: {cluster: shop}}, {name: web, context: {cluster: web}}],
clusters: [{name: shop, cluster: {server: "https://shop.example", certificate-authority-data: UEVN}}, {name: web, cluster: {server: "https://web.example"}}]}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	reg := model.Registration{Cluster: "shop", Region: "us-west-2", CA: []byte("PEM of another")}
	for want, flags := range map[string]*Flags{
		"it points to https://shop.example": {Context: "shop"},
		"none":                              {Context: "none"},
		"nowhere":                           {Kubeconfig: "nowhere"},
	} {
		if _, err := (&Clients{Flags: flags}).Open(reg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", flags, err, want)
		}
	}
	if client, err := (&Clients{Flags: &Flags{Kubeconfig: path}}).Open(reg); err != nil || client == nil { // web says no authority
		t.Errorf("the current context: %v", err)
	}
}
