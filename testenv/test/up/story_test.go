package main

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
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

// TestV132TheStorySaysWhatRunsDid: a run that launches nothing for pods whose nodes are on their way has no line, and one command is one.
func TestV132TheStorySaysWhatRunsDid(t *testing.T) {
	for text, want := range map[string]string{
		`{"msg":"provision","outcome":{"pending":20,"trigger":"node"}}`:                               "",
		`{"msg":"provision","outcome":{"pending":1,"trigger":"batch","claims":1,"pricePerHour":0.5}}`: "provision (batch): 1 pod pending, 1 claim launched at $0.5000 per hour, 0 pods unschedulable; plan after 0 ms, fleet after 0 ms\n",
		`{"msg":"provision","outcome":{"pending":2,"trigger":"resync","unschedulable":2}}`:            "provision (resync): 2 pods pending, 0 claims launched at $0.0000 per hour, 2 pods unschedulable; plan after 0 ms, fleet after 0 ms\n",
		`{"msg":"disrupt","outcome":{"committed":["a-0"],"savings":0.25}}`:                            "disrupt: 1 disruption command, saving $0.2500 per hour\n",
		`{"msg":"disrupt","outcome":{"drained":1,"undone":2}}`:                                        "disrupt: 1 node drained, 2 commands undone\n",
	} {
		var said strings.Builder
		newStory(&said).functionLog(lambdaruntime.LogLine{Text: text})
		if !strings.HasSuffix(said.String(), want) || want == "" && said.Len() > 0 {
			t.Errorf("%s is said as %q, not %q", text, said.String(), want)
		}
	}
}
