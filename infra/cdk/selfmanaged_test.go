package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What makes no sense of a self-managed cluster is refused with key, value and remedy.
func TestSelfManagedOptionsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`"endpoint": "https://a"`:                               "give selfManaged too, or leave it out",
		`"selfManaged": true`:                                   "such as https://api.example.com:6443",
		`"selfManaged": true, "ca": "PEM"`:                      "base64 -w0 /etc/kubernetes/pki/ca.crt",
		`"selfManaged": true, "kubernetes": "1.36.3"`:           "give the minor version",
		`"selfManaged": true, "irsaProvider": "x.example.com"`:  "give the certificate authority",
		`"selfManaged": true, "windows": true`:                  "no Windows nodes",
		`"selfManaged": true, "serviceCidr": "10.96.0.0"`:       `serviceCidr "10.96.0.0"`,
		`"selfManaged": true, "clusterDns": "dns.example.com"`:  `clusterDns "dns.example.com"`,
		`"selfManaged": true, "clusterAccount": "222222222222"`: "leave clusterAccount out",
	} {
		_, err := readOptions(contextFrom(t, `{"cluster": "a", `+text+`}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	one := `"selfManaged": true, "endpoint": "https://a:6443", "kubernetes": "1.36", "ca": "` + exampleCA + `"`
	for watcher, refused := range map[string]bool{
		`"irsaProvider": "issuer.example.com"`: false, `"paused": true`: true,
	} {
		_, err := readOptions(contextFrom(t, `{"cluster": "a", `+one+`, `+watcher+`}`))
		const why = "there is no Pod Identity outside of EKS"
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", watcher, err)
		}
	}
}

// The stack of a self-managed cluster has nothing of EKS, and registers what EKS would say. Its watcher has a role by
// the cluster's own issuer.
func TestSelfManagedClustersHaveNothingOfEKS(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("templates", "cluster-self-managed.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"selfManaged": true`, `"endpoint": "https://api.example.com:6443"`, `"version": "1.36"`, `"ca": "` + exampleCA,
		`"serviceCIDR"`, "sts:AssumeRoleWithWebIdentity", `"issuer.example.com:sub"`, "WatcherRoleARN",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, never := range []string{"AWS::EKS::", "eks:DescribeCluster", "arc-zonal-shift:Get", "pods.eks.amazonaws"} {
		if strings.Contains(string(text), never) {
			t.Errorf("there is %s", never)
		}
	}
}
