package main

import (
	"strings"
	"testing"
)

// completed is what a shell proposes after words.
func completed(words ...string) string {
	_, out, _ := joiner("", append([]string{"__complete"}, words...)...)
	names, _, _ := strings.Cut(out, ":4\n")
	return strings.Join(strings.Fields(names), " ")
}

// U29: shells complete names that a ledger, a snapshot, files or a kubeconfig say.
func TestU29NamesAreCompleted(t *testing.T) {
	ledgerOf(t, threeClusters...)
	for _, words := range [][]string{
		{"adopt", ""}, {"detach", ""}, {"doctor", ""}, {"stop", "disruption", "--cluster", ""}, {"stops",
			"--cluster", ""},
		{"why", "pod", "--cluster", ""}, {"console", "--cluster", ""},
	} {
		if got := completed(words...); got != "far shop web" {
			t.Errorf("%v are completed to %q", words, got)
		}
	}
	if got := completed("why", "pod", "-f", "testdata/shop", ""); !strings.Contains(got, "shop/arm-0") ||
		strings.Contains(got, " arm-0") {
		t.Errorf("pods are completed to %q", got)
	}
	if got := completed("why", "pod", "-f", "testdata/shop", "-n", "shop", ""); !strings.Contains(got, "arm-0") ||
		strings.Contains(got, "/") {
		t.Errorf("pods of a namespace are completed to %q", got)
	}
	if got := completed("why", "node", "-f", "testdata/night", ""); !strings.HasPrefix(got,
		"ip-10-0-0-1.us-west-2.compute.internal ") {
		t.Errorf("nodes are completed to %q", got)
	}
	kubeconfigOf(t)
	if got := completed("plan", "provision", "--context", ""); got != "here there" {
		t.Errorf("contexts are completed to %q", got)
	}
}

// U29: where nothing can be asked, nothing is proposed, and no error is shown.
func TestU29NothingIsCompletedWithoutAnAnswer(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	t.Setenv("AWS_REGION", "us-west-2")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	t.Setenv("JOINER_TABLE", "joiner")
	for _, words := range [][]string{{"doctor", ""}, {"why", "node", "-f", "nope", ""}, {"replay", "--dir", "/nope",
		""}} {
		if got := completed(words...); got != "" {
			t.Errorf("%v are completed to %q", words, got)
		}
	}
}
