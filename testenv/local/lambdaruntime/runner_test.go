package lambdaruntime_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/internal/fixture"
)

func TestMain(m *testing.M) { os.Exit(fixture.Main(m)) }

// patience bounds what a test waits for; only a failing test waits that long.
const patience = 20 * time.Second

// newRunner returns a runner that the test's end stops.
func newRunner(t *testing.T, config lambdaruntime.Config) *lambdaruntime.Runner {
	t.Helper()
	runner, err := lambdaruntime.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Stop)
	return runner
}

// deploy adds the fixture under the name "fixture", changed by the given functions.
func deploy(t *testing.T, runner *lambdaruntime.Runner, changes ...func(*lambdaruntime.Function)) {
	t.Helper()
	fn := lambdaruntime.Function{Name: "fixture", Path: fixture.Path(t), Timeout: patience}
	for _, change := range changes {
		change(&fn)
	}
	if err := runner.Deploy(fn); err != nil {
		t.Fatal(err)
	}
}

func invoke(t *testing.T, runner *lambdaruntime.Runner, event string) lambdaruntime.Result {
	t.Helper()
	result, err := runner.Invoke(t.Context(), "fixture", []byte(event))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// report is what the fixture's echo returns.
type report struct {
	Text, RequestID, ARN, Trace, Dir string
	RemainingMs                      int64
	PID                              int
	Count                            int64
	Env                              map[string]string
}

func decode[T any](t *testing.T, result lambdaruntime.Result) T {
	t.Helper()
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	var value T
	if err := json.Unmarshal(result.Payload, &value); err != nil {
		t.Fatalf("payload %q: %v", result.Payload, err)
	}
	return value
}

// eventually polls a condition that other processes bring about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v still not: %s", patience, what)
		}
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// exits collects what OnExit is told.
type exits struct {
	mu   sync.Mutex
	list []lambdaruntime.Exit
}

func (e *exits) add(exit lambdaruntime.Exit) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, exit)
}

func (e *exits) all() []lambdaruntime.Exit {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]lambdaruntime.Exit(nil), e.list...)
}

func TestInvokeReturnsTheHandlersResponse(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{Region: "eu-west-1"})
	deploy(t, runner)
	result := invoke(t, runner, `{"do":"echo","text":"hello"}`)
	got := decode[report](t, result)
	if got.Text != "hello" || got.RequestID != result.RequestID {
		t.Errorf("got text %q and request id %q, want hello and %q", got.Text, got.RequestID, result.RequestID)
	}
	if want := "arn:aws:lambda:eu-west-1:123456789012:function:fixture"; got.ARN != want {
		t.Errorf("ARN %q, want %q", got.ARN, want)
	}
	if got.RemainingMs <= 0 || got.RemainingMs > patience.Milliseconds() {
		t.Errorf("remaining time %d ms, want within the timeout of %v", got.RemainingMs, patience)
	}
	if !strings.HasPrefix(got.Trace, "Root=1-") || !strings.Contains(got.Trace, ";Lineage=") {
		t.Errorf("trace header %q, want a root and a lineage", got.Trace)
	}
}

func TestStreamedResponseIsCollected(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	result := invoke(t, runner, `{"do":"stream"}`)
	if err := result.Err(); err != nil || string(result.Payload) != `{"streamed":true}` {
		t.Errorf("got %q and error %v", result.Payload, err)
	}
}

func TestWarmSandboxIsReused(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	first := invoke(t, runner, `{"do":"echo"}`)
	second := invoke(t, runner, `{"do":"echo"}`)
	if !first.ColdStart || first.InitDuration <= 0 {
		t.Errorf("first invocation: cold start %v, init %v, want a cold start", first.ColdStart, first.InitDuration)
	}
	if second.ColdStart || second.InitDuration != 0 {
		t.Errorf("second invocation: cold start %v, init %v, want none", second.ColdStart, second.InitDuration)
	}
	if got := decode[report](t, second).Count; got != 2 || first.SandboxID != second.SandboxID {
		t.Errorf("the process counts %d invocations, want 2 in one sandbox", got)
	}
}

func TestFailureOfTheFunctionIsAResult(t *testing.T) {
	cases := []struct {
		name, event, errorType, message string
		survives                        bool // the process serves the next event
	}{
		{"error", `{"do":"error"}`, "errorString", "as asked", true},
		{"panic", `{"do":"panic"}`, "string", "as asked", false},
		{"exit with a status", `{"do":"exit","code":7}`, lambdaruntime.ErrorTypeExit, "exit status 7", false},
		{"exit without a reason", `{"do":"exit"}`, lambdaruntime.ErrorTypeExit, "without providing a reason", false},
		{"response that breaks off", `{"do":"breakstream"}`, "errorString", "broke off", true},
		{"response over the limit", `{"do":"big","bytes":6291560}`, lambdaruntime.ErrorTypeResponseTooLarge, "maximum allowed", false},
	}
	runner := newRunner(t, lambdaruntime.Config{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			deploy(t, runner)
			result := invoke(t, runner, c.event)
			if result.FunctionError != "Unhandled" || result.ErrorType != c.errorType || !strings.Contains(result.ErrorMessage, c.message) {
				t.Fatalf("got %q, type %q, message %q; want type %q, message with %q", result.FunctionError, result.ErrorType,
					result.ErrorMessage, c.errorType, c.message)
			}
			if !c.survives {
				eventually(t, "the process is gone", func() bool { return runner.Sandboxes("fixture") == 0 })
			}
			next := invoke(t, runner, `{"do":"echo"}`)
			if next.ColdStart == c.survives {
				t.Errorf("cold start after the failure: %v, want %v", next.ColdStart, !c.survives)
			}
		})
	}
}

func TestInvocationsInParallelGetSandboxesOfTheirOwn(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	const parallel = 3
	results := make([]lambdaruntime.Result, parallel)
	var wait sync.WaitGroup
	for i := range parallel {
		wait.Go(func() {
			results[i], _ = runner.Invoke(t.Context(), "fixture", []byte(`{"do":"sleep","millis":300}`))
		})
	}
	eventually(t, "all are running", func() bool { return len(runner.Running("fixture")) == parallel })
	wait.Wait()
	sandboxes := map[string]bool{}
	for _, result := range results {
		sandboxes[result.SandboxID] = true
	}
	if len(sandboxes) != parallel || runner.Sandboxes("fixture") != parallel {
		t.Errorf("%d sandboxes served, %d alive, want %d", len(sandboxes), runner.Sandboxes("fixture"), parallel)
	}
}

func TestMostRecentlyUsedSandboxIsReusedFirst(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	slow := make(chan lambdaruntime.Result)
	go func() {
		result, _ := runner.Invoke(t.Context(), "fixture", []byte(`{"do":"sleep","millis":500}`))
		slow <- result
	}()
	eventually(t, "the slow one runs", func() bool { return len(runner.Running("fixture")) == 1 })
	invoke(t, runner, `{"do":"echo"}`)
	last := <-slow
	if next := invoke(t, runner, `{"do":"echo"}`); next.SandboxID != last.SandboxID {
		t.Errorf("served by %s, want %s, which was used last", next.SandboxID, last.SandboxID)
	}
}

func TestUnknownFunctionIsNotFound(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	if _, err := runner.Invoke(t.Context(), "nobody", nil); !errors.Is(err, lambdaruntime.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestRequestOverTheLimitIsRefused(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	payload := []byte(`"` + strings.Repeat("x", lambdaruntime.MaxRequestBytes) + `"`)
	if _, err := runner.Invoke(t.Context(), "fixture", payload); !errors.Is(err, lambdaruntime.ErrPayloadTooLarge) {
		t.Errorf("got %v, want ErrPayloadTooLarge", err)
	}
}

func TestReservedConcurrencyThrottles(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner, func(fn *lambdaruntime.Function) { fn.ReservedConcurrency = new(1) })
	running := make(chan struct{})
	go func() {
		defer close(running)
		runner.Invoke(t.Context(), "fixture", []byte(`{"do":"sleep","millis":300}`))
	}()
	eventually(t, "the first one runs", func() bool { return len(runner.Running("fixture")) == 1 })
	if _, err := runner.Invoke(t.Context(), "fixture", nil); !errors.Is(err, lambdaruntime.ErrThrottled) {
		t.Errorf("second at once: got %v, want ErrThrottled", err)
	}
	<-running
	if result := invoke(t, runner, `{}`); result.Err() != nil {
		t.Errorf("after the first: got %v, want success", result.Err())
	}
	deploy(t, runner, func(fn *lambdaruntime.Function) { fn.ReservedConcurrency = new(0) })
	if _, err := runner.Invoke(t.Context(), "fixture", nil); !errors.Is(err, lambdaruntime.ErrThrottled) {
		t.Errorf("with none reserved: got %v, want ErrThrottled", err)
	}
}

// A2: an account whose quota is ten, as new ones have, can reserve nothing, and has room for ten.
func TestA2NothingCanBeReservedOfAQuotaOfTen(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{AccountConcurrency: 10})
	err := runner.Deploy(lambdaruntime.Function{Name: "other", Path: fixture.Path(t), ReservedConcurrency: new(1)})
	if err == nil || !strings.Contains(err.Error(), "reserving 1 leaves 9 unreserved, less than 10") {
		t.Errorf("got %v, want a refusal", err)
	}
	deploy(t, runner, func(*lambdaruntime.Function) {})
}

func TestReservingMustLeaveAHundredUnreserved(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{AccountConcurrency: 110})
	deploy(t, runner, func(fn *lambdaruntime.Function) { fn.ReservedConcurrency = new(10) })
	err := runner.Deploy(lambdaruntime.Function{Name: "other", Path: fixture.Path(t), ReservedConcurrency: new(1)})
	if err == nil || !strings.Contains(err.Error(), "leaves 99 unreserved") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestEnvironmentIsLambdasAndTheFunctionsOnly(t *testing.T) {
	t.Setenv("FIXTURE_OF_THE_PARENT", "leaked")
	runner := newRunner(t, lambdaruntime.Config{Region: "eu-west-1", EndpointURL: "http://127.0.0.1:1"})
	deploy(t, runner, func(fn *lambdaruntime.Function) {
		fn.MemoryMB = 256
		fn.Env = map[string]string{"TABLE": "ledger"}
	})
	got := decode[report](t, invoke(t, runner, `{}`))
	want := map[string]string{
		"AWS_LAMBDA_FUNCTION_NAME": "fixture", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
		"AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/fixture", "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
		"_HANDLER": "bootstrap", "TABLE": "ledger", "LAMBDA_TASK_ROOT": filepath.Dir(fixture.Path(t)), "FIXTURE_OF_THE_PARENT": "",
		"AWS_LAMBDA_MAX_CONCURRENCY": "",
	}
	for name, value := range want {
		if got.Env[name] != value {
			t.Errorf("%s=%q, want %q", name, got.Env[name], value)
		}
	}
	if got.Env["AWS_ACCESS_KEY_ID"] == "" || got.Env["AWS_SECRET_ACCESS_KEY"] == "" {
		t.Error("no credentials in the environment")
	}
	if got.Dir != got.Env["LAMBDA_TASK_ROOT"] {
		t.Errorf("working directory %q, want the task root", got.Dir)
	}
}

func TestDeployRefusesWhatLambdaRefuses(t *testing.T) {
	path := fixture.Path(t)
	cases := []struct {
		name, want string
		fn         lambdaruntime.Function
	}{
		{"no name", "name", lambdaruntime.Function{Path: path}},
		{"little memory", "memory 64 MB", lambdaruntime.Function{Name: "f", Path: path, MemoryMB: 64}},
		{"long timeout", "timeout 16m", lambdaruntime.Function{Name: "f", Path: path, Timeout: 16 * time.Minute}},
		{"reserved variable", "AWS_REGION is reserved", lambdaruntime.Function{Name: "f", Path: path, Env: map[string]string{"AWS_REGION": "x"}}},
		{"big environment", "the limit is 4096", lambdaruntime.Function{Name: "f", Path: path, Env: map[string]string{"A": strings.Repeat("x", 4096)}}},
		{"no bootstrap", "bootstrap", lambdaruntime.Function{Name: "f", Path: path + "-absent"}},
		{"folder for bootstrap", "not an executable file", lambdaruntime.Function{Name: "f", Path: filepath.Dir(path)}},
	}
	runner := newRunner(t, lambdaruntime.Config{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := runner.Deploy(c.fn); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
