package dayone

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

func TestProblemsOfFunctionsAreKept(t *testing.T) {
	s := &troubles{}
	for range 300 {
		s.line(lambdaruntime.LogLine{Function: "provision", Text: `{"level":"INFO","msg":"provision"}`})
		s.line(lambdaruntime.LogLine{Function: "catalog", Text: `{"level":"WARN","msg":"no answer"}`})
	}
	s.line(lambdaruntime.LogLine{Function: "disrupt", Text: strings.Repeat("panic ", 1000)})
	s.exit(lambdaruntime.Exit{Function: "webhook", State: "signal: killed"})
	s.exit(lambdaruntime.Exit{Function: "interruption", RequestID: "r-1", State: "exit status 2"})
	lines := strings.Split(s.text(), "\n")
	if len(lines) != 200 || strings.Contains(s.text(), "provision") || strings.Contains(s.text(), "webhook") {
		t.Errorf("%d lines:\n%s", len(lines), s.text())
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, "interruption: its process ended in invocation r-1") {
		t.Error(last)
	}
	if long := lines[len(lines)-2]; len(long) > 1600 || !strings.Contains(long, "disrupt: panic") {
		t.Error(long)
	}
}
