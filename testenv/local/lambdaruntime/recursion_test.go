package lambdaruntime_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

func TestChainOfOneFunctionStopsAfterSixteenInvocations(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	request := lambdaruntime.Request{Function: "fixture"}
	for i := 1; i <= 16; i++ {
		result, err := runner.Do(t.Context(), request)
		if err != nil {
			t.Fatalf("invocation %d: %v", i, err)
		}
		request.TraceHeader = decode[report](t, result).Trace
	}
	if _, err := runner.Do(t.Context(), request); !errors.Is(err, lambdaruntime.ErrRecursion) {
		t.Errorf("invocation 17: got %v, want ErrRecursion", err)
	}
	deploy(t, runner, func(fn *lambdaruntime.Function) { fn.AllowRecursion = true })
	if _, err := runner.Do(t.Context(), request); err != nil {
		t.Errorf("invocation 17 with recursion allowed: %v", err)
	}
}

func TestOtherFunctionsInTheChainDoNotCount(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	trace := "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1;Lineage=aaaaaaaa:99%7Cbbbbbbbb:3" // as the SDKs encode it
	result, err := runner.Do(t.Context(), lambdaruntime.Request{Function: "fixture", TraceHeader: trace})
	if err != nil {
		t.Fatal(err)
	}
	got := decode[report](t, result).Trace
	const wantPrefix, wantLineage = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=", "Lineage=aaaaaaaa:99|bbbbbbbb:3|"
	if !strings.HasPrefix(got, wantPrefix) || !strings.Contains(got, wantLineage) || !strings.Contains(got, ";Sampled=1;") {
		t.Errorf("trace header %q, want the same root, the same sampling and the lineage carried on", got)
	}
}
