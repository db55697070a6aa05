package main

import (
	"strings"
	"testing"
)

// TestF11TheCommandsToTryNameEachThingInItsPlace: what is printed at the end is pasted into a shell.
func TestF11TheCommandsToTryNameEachThingInItsPlace(t *testing.T) {
	var said strings.Builder
	if err := invitation.Execute(&said, place{
		Kubeconfig: "/tmp/kubeconfig", Kubectl: "/bin/kubectl", Endpoint: "http://127.0.0.1:4566", Region: "us-west-2",
		AccessKey: "AKIAEXAMPLE", SecretKey: "secret", Table: "joiner", Logs: "/tmp/logs",
	}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"export KUBECONFIG=/tmp/kubeconfig",
		"/bin/kubectl get nodepools,nodeclaims,nodes",
		"export AWS_REGION=us-west-2 AWS_ACCESS_KEY_ID=AKIAEXAMPLE AWS_SECRET_ACCESS_KEY=secret",
		"aws --endpoint-url http://127.0.0.1:4566 sqs list-queues",
		"aws --endpoint-url http://127.0.0.1:4566 dynamodb scan --table-name joiner --query Count",
		"Logs: /tmp/logs",
	} {
		if !strings.Contains(said.String(), line+"\n") {
			t.Errorf("%q is not a line of\n%s", line, said.String())
		}
	}
}
