package execute

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/wire"
)

func TestWhatFunctionsAskForIsAllowed(t *testing.T) {
	for _, line := range []string{
		"GET /api/v1/pods?fieldSelector=spec.nodeName%3Da&limit=500&resourceVersion=0",
		"GET /api/v1/pods?limit=500&continue=abc",
		"GET /api/v1/namespaces/a/pods/b", "DELETE /api/v1/namespaces/a/pods/b", "POST /api/v1/namespaces/a/pods/b/eviction",
		"GET /api/v1/nodes", "PATCH /api/v1/nodes/ip-10-0-0-1.ec2.internal?fieldManager=joiner&force=true", "DELETE /api/v1/nodes/a", "GET /api/v1/namespaces",
		"POST /api/v1/namespaces/default/events", "PATCH /api/v1/namespaces/default/events/a.b", "GET /apis/apps/v1/daemonsets", "GET /apis/policy/v1/poddisruptionbudgets",
		"GET /apis/storage.k8s.io/v1/volumeattachments",
		"POST /apis/karpenter.sh/v1/nodeclaims", "PATCH /apis/karpenter.sh/v1/nodeclaims/a", "PATCH /apis/karpenter.sh/v1/nodeclaims/a/status", "PATCH /apis/karpenter.sh/v1/nodepools/a/status",
		"DELETE /apis/karpenter.sh/v1/nodeclaims/a", "PATCH /apis/karpenter.k8s.aws/v1/ec2nodeclasses/a", "PATCH /apis/autoscaling.x-k8s.io/v1beta1/namespaces/a/capacitybuffers/b/status",
	} {
		if why := allowed(requestOf(line)); why != "" {
			t.Errorf("%s: %s", line, why)
		}
	}
}

// S-rows of the threats: whatever somebody binds to the functions' groups, through the relay nobody reads secrets, runs anything, gives
// permissions away, or does something to all objects at once.
func TestWhatFunctionsNeverAskForIsRefused(t *testing.T) {
	for _, line := range []string{
		"GET /api/v1/secrets", "GET /api/v1/namespaces/a/secrets/b", "GET /api/v1/namespaces/a/configmaps/b", "GET /api/v1/namespaces/a/serviceaccounts/b",
		"POST /api/v1/namespaces/a/serviceaccounts/b/token", "POST /api/v1/namespaces/a/pods", "PATCH /api/v1/namespaces/a/pods/b", "PUT /api/v1/namespaces/a/pods/b",
		"GET /api/v1/namespaces/a/pods/b/exec?command=sh", "POST /api/v1/namespaces/a/pods/b/exec", "GET /api/v1/namespaces/a/pods/b/log", "GET /api/v1/namespaces/a/pods/b/attach",
		"PATCH /api/v1/namespaces/a/pods/b/ephemeralcontainers", "POST /api/v1/namespaces/a/pods/b/binding", "GET /api/v1/nodes/a/proxy", "GET /api/v1/nodes/a/proxy/run/a/b/c",
		"POST /api/v1/nodes", "PATCH /api/v1/nodes/a/status", "DELETE /api/v1/nodes", "DELETE /api/v1/namespaces/a/pods", "DELETE /api/v1/namespaces/a", "PUT /api/v1/namespaces/a/finalize",
		"DELETE /apis/karpenter.sh/v1/nodeclaims", "PUT /apis/karpenter.sh/v1/nodepools/a/status", "GET /api/v1/namespaces/a", "PUT /api/v1/nodes/a", "DELETE /apis/karpenter.sh/v1/nodepools/a", "PATCH /apis/karpenter.sh/v1/nodepools/a", "DELETE /apis/karpenter.k8s.aws/v1/ec2nodeclasses/a",
		"POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "GET /apis/rbac.authorization.k8s.io/v1/clusterroles", "POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
		"POST /apis/certificates.k8s.io/v1/certificatesigningrequests", "PUT /apis/coordination.k8s.io/v1/namespaces/joiner/leases/joiner-watcher",
		"GET /api/v1/pods?watch=true", "GET /api/v1/pods?watch", "GET /api/v1/watch/pods", "GET /api/v1/namespaces/a/pods/b?follow=true", "GET /api/v1/pods?limit=%zz",
		"GET /api/v1/nodes/../secrets", "GET /api/v1/nodes/%2e%2e/secrets", "GET /api/v1//secrets", "GET /api/v1/nodes/a/", "GET /api/v1/nodes\\a",
		"GET /", "GET /api", "GET /api/v1", "GET /apis/karpenter.sh/v1", "GET /version", "GET /metrics", "GET /healthz", "GET /logs/x", "GET /debug/pprof/heap", "GET /openapi/v2",
		"POST /api/v1/namespaces/a/namespaces/b/pods/c/eviction",
	} {
		if why := allowed(requestOf(line)); why == "" {
			t.Errorf("%s is carried out", line)
		}
	}
}

func requestOf(line string) wire.RelayRequest {
	method, rest, _ := strings.Cut(line, " ")
	path, query, _ := strings.Cut(rest, "?")
	return wire.RelayRequest{Method: method, Path: path, Query: query}
}
