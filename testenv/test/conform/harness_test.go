package conform

import (
	"strings"
	"testing"
)

const document = `
# Title

| target | service | case | what |
|---|---|---|---|
| moto | sqs | head blocks | does not |
| other | sqs | tail blocks | does not |
`

func TestKnownDifferencesAreReadPerTarget(t *testing.T) {
	known, err := parseKnown(document, "moto")
	if err != nil {
		t.Fatal(err)
	}
	if why, listed := known.Why("sqs", "head blocks"); !listed || why != "does not" {
		t.Errorf("head blocks: %q, %v; want it listed", why, listed)
	}
	if _, listed := known.Why("sqs", "tail blocks"); listed {
		t.Error("tail blocks is another target's, yet listed")
	}
	if _, listed := known.Why("s3", "head blocks"); listed {
		t.Error("head blocks is listed for another service")
	}
}

func TestKnownDifferencesNameABrokenLine(t *testing.T) {
	_, err := parseKnown("one\n| a | b |\n", "moto")
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v, want an error that names line 2", err)
	}
}

func TestTheListItselfIsReadable(t *testing.T) {
	for _, target := range []string{"model", "moto"} {
		if _, err := KnownDifferences(target); err != nil {
			t.Error(err)
		}
	}
}

func TestTryReportsFailuresWithoutFailing(t *testing.T) {
	var order []string
	failures := try(t, func(t T) {
		t.Cleanup(func() { order = append(order, "first") })
		t.Cleanup(func() { order = append(order, "second") })
		t.Errorf("one")
		t.Fatalf("two %d", 2)
		order = append(order, "never")
	})
	if got := strings.Join(failures, ","); got != "one,two 2" {
		t.Errorf("failures %q, want one,two 2", got)
	}
	if got := strings.Join(order, ","); got != "second,first" {
		t.Errorf("cleanups ran as %q, want second,first", got)
	}
	if failures := try(t, func(T) {}); len(failures) != 0 {
		t.Errorf("a passing case reports %q", failures)
	}
}
