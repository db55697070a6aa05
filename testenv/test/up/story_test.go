package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// pasted runs what is printed at the end as a person does who pastes all of it into a shell, with programs in the
// places of the real ones that note their arguments and answer each question of kubectl with answer. It returns what
// each was called with and with what environment.
func pasted(t *testing.T, answer string) (calls []string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a folder")
	log := filepath.Join(dir, "calls")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubectl", "joiner", "aws"} {
		script := "#!/bin/sh\nexec 3>&1\n" +
			`exec >> "$CALLS"; printf '%s|%s|%s' ` + name + ` "$KUBECONFIG" "$AWS_ENDPOINT_URL"` + "\n" +
			`printf '|%s|%s' "$AWS_REGION" "$AWS_DEFAULT_REGION"` + "\n" +
			`printf '|%s|%s' "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" "$AWS_PROFILE$AWS_SESSION_TOKEN"` + "\n" +
			`for a in "$@"; do printf '|%s' "$(echo "$a" | tr -d '\n')"; done; echo` + "\n"
		if name == "kubectl" {
			script += `case "$*" in *jsonpath*) printf '%s' "$ANSWER" >&3;; esac` + "\n"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	if err := invitation.Execute(&said, place{
		Kubeconfig: filepath.Join(dir, "kubeconfig"), Kubectl: filepath.Join(dir, "kubectl"),
		Joiner: filepath.Join(dir, "joiner"), Endpoint: "http://127.0.0.1:4566", Account: "123456789012",
		Region: "us-west-2", AccessKey: "AKIAEXAMPLE", SecretKey: "secret",
		Notices: "https://sqs.us-west-2.amazonaws.com/123456789012/joiner-notices", Logs: "/tmp/logs",
	}); err != nil {
		t.Fatal(err)
	}
	script := "shopt -s expand_aliases\nset -eu\n"
	for line := range strings.Lines(said.String()) {
		if strings.HasPrefix(line, "  ") {
			script += line
		}
	}
	shell := exec.Command("bash", "-c", script)
	shell.Env = []string{
		"PATH=" + dir + ":/usr/bin:/bin", "CALLS=" + log, "ANSWER=" + answer,
		"AWS_PROFILE=of-somebody", "AWS_SESSION_TOKEN=of-somebody",
	}
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, said.String())
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	want := "|" + filepath.Join(dir, "kubeconfig") + "|http://127.0.0.1:4566|us-west-2|us-west-2|AKIAEXAMPLE:secret||"
	for line := range strings.Lines(string(text)) {
		name, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), want)
		if !ok {
			t.Errorf("%q is called in another environment than %q", line, want)
		}
		calls = append(calls, name+"|"+rest)
	}
	return calls
}

// TestU1F11ThePrintedCommandsRunAsPrinted: every program is called, with the region, the keys and the endpoint of the
// run, whatever the shell was set up for before.
func TestU1F11ThePrintedCommandsRunAsPrinted(t *testing.T) {
	calls := pasted(t, "i-0123456789abcdef0")
	for _, want := range []string{
		"aws|ec2|describe-instances|", "aws|sqs|send-message|", "kubectl|get|nodepools,nodeclaims,nodes",
		"joiner|doctor|--kubeconfig|",
	} {
		if !slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, want) }) {
			t.Errorf("%s is not called: %q", want, calls)
		}
	}
}

// TestU39U40U42CommandsToTryArePrinted: each change that Joiner acts on, and each command that explains what it did.
func TestU39U40U42CommandsToTryArePrinted(t *testing.T) {
	calls := pasted(t, "ip-10-0-1-23.us-west-2.compute.internal")
	for _, want := range []string{
		"kubectl|delete|node|ip-10-0-1-23.us-west-2.compute.internal|--wait=false",
		"kubectl|scale|deployment|inflate|--replicas=60", "kubectl|scale|deployment|inflate|--replicas=3",
		"joiner|clusters", "joiner|why|node|ip-10-0-1-23.us-west-2.compute.internal",
		"joiner|decisions", "joiner|savings", "joiner|report", "joiner|stops",
	} {
		if !slices.Contains(calls, want) {
			t.Errorf("%s is not called: %q", want, calls)
		}
	}
}

// TestU41ThePrintedWarningIsAnInterruption: the message that is sent to the queue of notices is read as EC2's warning
// of the instance, of now, of the account and region.
func TestU41ThePrintedWarningIsAnInterruption(t *testing.T) {
	calls := pasted(t, "aws:///us-west-2a/i-0123456789abcdef0")
	prefix := "aws|sqs|send-message|--endpoint-url|http://127.0.0.1:4566|" +
		"--queue-url|https://sqs.us-west-2.amazonaws.com/123456789012/joiner-notices|--message-body|"
	i := slices.IndexFunc(calls, func(c string) bool { return strings.HasPrefix(c, prefix) })
	if i < 0 {
		t.Fatalf("no message is sent: %q", calls)
	}
	body := strings.TrimPrefix(calls[i], prefix)
	if !json.Valid([]byte(body)) {
		t.Fatalf("the message is no JSON: %s", body)
	}
	notice, err := wire.DecodeEvent([]byte(body))
	if err != nil || notice.Kind != model.NoticeSpotInterrupted ||
		!slices.Equal(notice.Instances, []string{"i-0123456789abcdef0"}) || notice.Account != "123456789012" ||
		notice.Region != "us-west-2" || time.Since(time.Unix(notice.AtUnix, 0)).Abs() > time.Minute {
		t.Errorf("%s is read as %+v, %v", body, notice, err)
	}
}

// linesOf returns the lines of a story without their times.
func linesOf(s *story, out *strings.Builder) (lines []string) {
	s.flush()
	for line := range strings.Lines(out.String()) {
		_, text, _ := strings.Cut(line, "s  ")
		lines = append(lines, strings.TrimSpace(text))
	}
	return lines
}

func nodeOf(pool, name string, taints ...string) *corev1.Node {
	labels := map[string]string{model.LabelNodePool: pool}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	for _, key := range taints {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	return node
}

type costs int64

func (c costs) PricePerHour() int64 { return int64(c) }

// TestU37AnInterruptionIsToldToItsEnd: the warning, the node that takes no more pods, the eviction, the instance's end,
// and what is left.
func TestU37AnInterruptionIsToldToItsEnd(t *testing.T) {
	var out strings.Builder
	s := newStory(&out)
	s.node(nodeOf("default", "a"))
	s.node(nodeOf("default", "b"))
	s.functionLog(lambdaruntime.LogLine{
		Text: `{"msg":"notices","outcome":{"kinds":{"spot_interrupted":1,"terminated":2}}}`,
	})
	s.node(nodeOf("default", "a", model.TaintDisrupted))
	s.flush()
	s.functionLog(lambdaruntime.LogLine{Text: `{"msg":"drain","outcome":{"evicted":2}}`})
	s.functionLog(lambdaruntime.LogLine{Text: `{"msg":"drain","outcome":{"draining":1}}`})
	s.flush()
	s.ec2(ec2.Instance{ID: "i-1", State: ec2.ShuttingDown}, costs(0))
	s.instance(machine.Event{Kind: machine.Silent, InstanceID: "i-1", NodeName: "a"})
	s.flush()
	s.ec2(ec2.Instance{ID: "i-1", State: ec2.Terminated}, costs(500_000))
	s.nodeGone("a")
	want := []string{
		"EC2 warned: it reclaims 1 spot instance within two minutes",
		"node a takes no more pods and is to be removed (taint karpenter.sh/disrupted)",
		"drain: 2 pods evicted",
		"EC2: instance i-1 shutting-down",
		"EC2: instance i-1 terminated; what runs costs $0.5000 per hour",
		"node a is gone; 1 node is left",
	}
	if got := linesOf(s, &out); !slices.Equal(got, want) {
		t.Errorf("told\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestU37ADeletedNodePoolIsOneLine: it takes 27 nodes with it, of which none has a line of its own; another pool's node
// has.
func TestU37ADeletedNodePoolIsOneLine(t *testing.T) {
	var out strings.Builder
	s := newStory(&out)
	s.node(nodeOf("other", "z"))
	for i := range 27 {
		s.node(nodeOf("amd64", fmt.Sprint("n", i)))
	}
	s.poolDeleted("amd64")
	for i := range 27 {
		s.node(nodeOf("amd64", fmt.Sprint("n", i), model.TaintDisrupted))
		for _, state := range []ec2.State{ec2.ShuttingDown, ec2.Terminated} {
			s.ec2(ec2.Instance{
				ID: fmt.Sprint("i-", i), State: state, Tags: map[string]string{model.LabelNodePool: "amd64"},
			}, costs(0))
		}
		s.instance(machine.Event{Kind: machine.Silent, InstanceID: fmt.Sprint("i-", i)})
		s.instance(machine.Event{Kind: machine.Deleted, InstanceID: fmt.Sprint("i-", i)})
		s.nodeGone(fmt.Sprint("n", i))
	}
	s.node(nodeOf("other", "z", model.TaintDisrupted))
	want := []string{
		"NodePool amd64 is deleted: its 27 nodes are drained and terminated",
		"NodePool amd64: 27 nodes are gone",
		"node z takes no more pods and is to be removed (taint karpenter.sh/disrupted)",
	}
	if got := linesOf(s, &out); !slices.Equal(got, want) {
		t.Errorf("told\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestU38ManyOfAKindAreOneLine: twenty pods that are bound together, and one that is alone.
func TestU38ManyOfAKindAreOneLine(t *testing.T) {
	var out strings.Builder
	s := newStory(&out)
	bound := func(name, node string) {
		s.pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: node}})
	}
	for i := range 20 {
		bound(fmt.Sprint("p", i), "a")
	}
	bound("alone", "b")
	s.summary(result{Pods: 1, Nodes: 1})
	got := linesOf(s, &out)
	want := []string{"kube-scheduler bound 20 pods to a", "kube-scheduler bound pod alone to b"}
	if len(got) != 3 || !strings.HasPrefix(got[0], "1 pod runs on 1 node at ") || !slices.Equal(got[1:], want) {
		t.Errorf("told\n%s", strings.Join(got, "\n"))
	}
}

// TestU38WhatIsNoneHasNoLine: nodes that joined are counted, those that did not are left out, and so
// is a batch without pods.
func TestU38WhatIsNoneHasNoLine(t *testing.T) {
	for text, want := range map[string]string{
		`"outcome":{"pending":1},"batches":[{"closedMillis":5}]`: "",
		`"outcome":{"registered":1}`:                             "provision: 1 node registered",
		`"outcome":{"initialized":2}`:                            "provision: 2 nodes initialized",
		`"outcome":{"registered":2,"initialized":1}`:             "provision: 2 nodes registered, 1 node initialized",
	} {
		var out strings.Builder
		s := newStory(&out)
		s.functionLog(lambdaruntime.LogLine{Text: `{"msg":"provision",` + text + `}`})
		if got := strings.Join(linesOf(s, &out), "; "); got != want {
			t.Errorf("%s is printed as %q, not %q", text, got, want)
		}
	}
}

// TestU38V132TheStorySaysWhatRunsDid: a run that launches nothing for pods whose nodes are on their way has no line,
// and one command is one.
func TestU38V132TheStorySaysWhatRunsDid(t *testing.T) {
	for text, want := range map[string]string{
		`{"msg":"provision","outcome":{"pending":20,"trigger":"node"}}`:                                   "",
		`{"msg":"provision","outcome":{"pending":1,"trigger":"batch","claims":1,"pricePerHour":0.5}}`:     "provision (batch): 1 pod pending, 1 claim launched at $0.5000 per hour, 0 pods unschedulable; plan after 0 ms, fleet after 0 ms\n",
		`{"msg":"provision","outcome":{"pending":2,"trigger":"resync","unschedulable":2}}`:                "provision (resync): 2 pods pending, 0 claims launched at $0.0000 per hour, 2 pods unschedulable; plan after 0 ms, fleet after 0 ms\n",
		`{"msg":"disrupt","outcome":{"committed":["a-0"],"decided":[{"reason":"Empty"}],"savings":0.25}}`: "disrupt: 1 disruption command (Empty), saving $0.2500 per hour\n",
		`{"msg":"disrupt","outcome":{"drained":1,"undone":2}}`:                                            "disrupt: 2 commands undone\n",
		`{"msg":"interruption","outcome":{"nodes":3,"claims":3}}`:                                         "",
	} {
		var said strings.Builder
		newStory(&said).functionLog(lambdaruntime.LogLine{Text: text})
		if !strings.HasSuffix(said.String(), want) || want == "" && said.Len() > 0 {
			t.Errorf("%s is said as %q, not %q", text, said.String(), want)
		}
	}
}

// TestU38PodsThatStayUnschedulableAreToldOncePerChange: they are planned for again every few seconds, and a run that
// finds what the last one found has no line.
func TestU38PodsThatStayUnschedulableAreToldOncePerChange(t *testing.T) {
	var out strings.Builder
	s := newStory(&out)
	for _, outcome := range []string{
		`"pending":2,"unschedulable":2`, `"pending":2,"unschedulable":2`,
		`"pending":3,"unschedulable":2,"claims":1`, `"pending":3,"unschedulable":2`, `"pending":3,"unschedulable":2`,
		`"pending":2,"unschedulable":1`,
		`"pending":2,"unschedulable":0`, `"pending":2,"unschedulable":1`,
	} {
		s.functionLog(lambdaruntime.LogLine{Text: `{"msg":"provision","outcome":{"trigger":"resync",` + outcome + `}}`})
	}
	var got []string
	for _, line := range linesOf(s, &out) {
		got = append(got, strings.TrimSuffix(line[len("provision (resync): "):], "; plan after 0 ms, fleet after 0 ms"))
	}
	nothing, one := "0 claims launched at $0.0000 per hour, ", "1 claim launched at $0.0000 per hour, "
	want := []string{
		"2 pods pending, " + nothing + "2 pods unschedulable",
		"3 pods pending, " + one + "2 pods unschedulable",
		"2 pods pending, " + nothing + "1 pod unschedulable",
		"2 pods pending, " + nothing + "1 pod unschedulable",
	}
	if !slices.Equal(got, want) {
		t.Errorf("told\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
