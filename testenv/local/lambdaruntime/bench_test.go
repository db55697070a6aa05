package lambdaruntime_test

import (
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/internal/fixture"
)

func benchmarkRunner(b *testing.B) *lambdaruntime.Runner {
	b.Helper()
	runner, err := lambdaruntime.New(lambdaruntime.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(runner.Stop)
	return runner
}

func benchmarkInvoke(b *testing.B, runner *lambdaruntime.Runner) {
	b.Helper()
	result, err := runner.Invoke(b.Context(), "fixture", []byte(`{"do":"echo"}`))
	if err != nil || result.Err() != nil {
		b.Fatal(err, result.Err())
	}
}

func BenchmarkWarmInvoke(b *testing.B) {
	runner := benchmarkRunner(b)
	if err := runner.Deploy(lambdaruntime.Function{Name: "fixture", Path: fixture.Path(b)}); err != nil {
		b.Fatal(err)
	}
	benchmarkInvoke(b, runner)
	for b.Loop() {
		benchmarkInvoke(b, runner)
	}
}

func BenchmarkColdInvoke(b *testing.B) {
	runner := benchmarkRunner(b)
	fn := lambdaruntime.Function{Name: "fixture", Path: fixture.Path(b)}
	for b.Loop() {
		if err := runner.Deploy(fn); err != nil { // a new deployment starts new sandboxes
			b.Fatal(err)
		}
		benchmarkInvoke(b, runner)
	}
}
