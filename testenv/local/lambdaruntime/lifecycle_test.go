package lambdaruntime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

func TestTimeoutKillsTheProcess(t *testing.T) {
	var seen exits
	runner := newRunner(t, lambdaruntime.Config{OnExit: seen.add})
	deploy(t, runner, func(fn *lambdaruntime.Function) { fn.Timeout = 300 * time.Millisecond })
	result := invoke(t, runner, `{"do":"hang"}`)
	if result.ErrorType != lambdaruntime.ErrorTypeTimeout || !strings.Contains(result.ErrorMessage, "Task timed out after 0.30 seconds") {
		t.Errorf("got type %q, message %q", result.ErrorType, result.ErrorMessage)
	}
	if result.Duration < 300*time.Millisecond {
		t.Errorf("ended after %v, before the timeout", result.Duration)
	}
	list := seen.all()
	if len(list) != 1 || list[0].Reason != lambdaruntime.ExitTimeout || list[0].RequestID != result.RequestID || alive(list[0].PID) {
		t.Fatalf("exits %+v, want one by timeout, of request %s", list, result.RequestID)
	}
	if next := invoke(t, runner, `{}`); !next.ColdStart || next.Err() != nil {
		t.Errorf("next: cold start %v, error %v, want a new sandbox that works", next.ColdStart, next.Err())
	}
}

func TestHandlerThatHeedsItsDeadlineReturnsInTime(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner, func(fn *lambdaruntime.Function) { fn.Timeout = 200 * time.Millisecond })
	result := invoke(t, runner, `{"do":"sleep","millis":60000}`)
	// The deadline reaches the handler as it strikes: either it still answers, or the kill is faster.
	if result.ErrorType != "deadlineExceededError" && result.ErrorType != lambdaruntime.ErrorTypeTimeout {
		t.Errorf("got type %q, message %q", result.ErrorType, result.ErrorMessage)
	}
}

func TestKillEndsTheRunningInvocation(t *testing.T) {
	var seen exits
	started := make(chan lambdaruntime.Invocation, 1)
	runner := newRunner(t, lambdaruntime.Config{OnExit: seen.add, OnInvoke: func(i lambdaruntime.Invocation) { started <- i }})
	deploy(t, runner)
	done := make(chan lambdaruntime.Result)
	go func() {
		result, _ := runner.Invoke(t.Context(), "fixture", []byte(`{"do":"hang"}`))
		done <- result
	}()
	invocation := <-started
	if !runner.Kill(invocation.RequestID) {
		t.Fatal("Kill found no such invocation")
	}
	result := <-done
	if result.ErrorType != lambdaruntime.ErrorTypeExit || !strings.Contains(result.ErrorMessage, "signal: killed") {
		t.Errorf("got type %q, message %q", result.ErrorType, result.ErrorMessage)
	}
	want := lambdaruntime.Exit{
		Function: "fixture", SandboxID: invocation.SandboxID, RequestID: invocation.RequestID, PID: invocation.PID,
		Reason: lambdaruntime.ExitKilled, State: "signal: killed",
	}
	if got := seen.all(); len(got) != 1 || got[0] != want {
		t.Errorf("exits %+v, want %+v", got, want)
	}
	if runner.Kill(invocation.RequestID) {
		t.Error("Kill found the invocation after its end")
	}
}

func TestCallerWhoGivesUpDoesNotEndTheInvocation(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	touched := filepath.Join(t.TempDir(), "touched")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := runner.Invoke(ctx, "fixture", fmt.Appendf(nil, `{"do":"sleep","millis":300,"touch":%q}`, touched))
		done <- err
	}()
	eventually(t, "the handler runs", func() bool { return exists(touched) })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	eventually(t, "the log has the invocation's report", func() bool {
		return slices.ContainsFunc(runner.Logs("fixture"), func(l lambdaruntime.LogLine) bool { return strings.HasPrefix(l.Text, "REPORT") })
	})
}

func TestFailedInitIsTriedOnceMore(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{InitTimeout: 3 * time.Second})
	for _, mode := range []string{"exit", "hang"} {
		t.Run(mode+" once", func(t *testing.T) {
			once := filepath.Join(t.TempDir(), "once")
			deploy(t, runner, func(fn *lambdaruntime.Function) {
				fn.Env = map[string]string{"FIXTURE_INIT": mode, "FIXTURE_INIT_ONCE": once}
			})
			if result := invoke(t, runner, `{}`); result.Err() != nil || !result.ColdStart {
				t.Errorf("got %v, want success at the second start", result.Err())
			}
		})
	}
	t.Run("report always", func(t *testing.T) {
		deploy(t, runner, func(fn *lambdaruntime.Function) { fn.Env = map[string]string{"FIXTURE_INIT": "report"} })
		if result := invoke(t, runner, `{}`); result.ErrorType != "Fixture.Init" || result.ErrorMessage != "as asked" {
			t.Errorf("got type %q, message %q, want what the runtime reported", result.ErrorType, result.ErrorMessage)
		}
	})
	t.Run("exit always", func(t *testing.T) {
		deploy(t, runner, func(fn *lambdaruntime.Function) { fn.Env = map[string]string{"FIXTURE_INIT": "exit"} })
		result := invoke(t, runner, `{}`)
		if result.ErrorType != lambdaruntime.ErrorTypeExit || !strings.Contains(result.ErrorMessage, "exit status 3") {
			t.Errorf("got type %q, message %q", result.ErrorType, result.ErrorMessage)
		}
	})
}

func TestColdStartDelayIsAdded(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner, func(fn *lambdaruntime.Function) { fn.ColdStartDelay = 200 * time.Millisecond })
	begun := time.Now()
	invoke(t, runner, `{}`)
	if took := time.Since(begun); took < 200*time.Millisecond {
		t.Errorf("cold start took %v, want the delay of 200ms at least", took)
	}
}

func TestIdleSandboxIsReaped(t *testing.T) {
	var seen exits
	runner := newRunner(t, lambdaruntime.Config{IdleTimeout: 50 * time.Millisecond, OnExit: seen.add})
	deploy(t, runner)
	pid := decode[report](t, invoke(t, runner, `{}`)).PID
	eventually(t, "the idle process is gone", func() bool { return runner.Sandboxes("fixture") == 0 && len(seen.all()) == 1 })
	if exit := seen.all()[0]; exit.PID != pid || exit.Reason != lambdaruntime.ExitReaped || exit.RequestID != "" {
		t.Errorf("exit %+v, want process %d reaped, serving nothing", exit, pid)
	}
}

func TestIdleProcessKilledFromOutsideIsReplaced(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	pid := decode[report](t, invoke(t, runner, `{}`)).PID
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Whether or not the runner has noticed yet, the event must be served.
	if result := invoke(t, runner, `{}`); result.Err() != nil && result.ErrorType != lambdaruntime.ErrorTypeExit {
		t.Errorf("got %v", result.Err())
	}
	eventually(t, "a new process serves", func() bool { return decode[report](t, invoke(t, runner, `{}`)).PID != pid })
}

func TestDeployReplacesSandboxes(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	old := decode[report](t, invoke(t, runner, `{}`)).PID
	deploy(t, runner, func(fn *lambdaruntime.Function) { fn.Env = map[string]string{"VERSION": "2"} })
	got := decode[report](t, invoke(t, runner, `{}`))
	if got.Env["VERSION"] != "2" || got.PID == old {
		t.Errorf("served by process %d with VERSION=%q, want a new one of version 2", got.PID, got.Env["VERSION"])
	}
	eventually(t, "the old process is gone", func() bool { return !alive(old) })
}

func TestStopLeavesNothingBehind(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{Freeze: true})
	deploy(t, runner)
	idle := decode[report](t, invoke(t, runner, `{}`))
	hanging := make(chan error)
	go func() {
		_, err := runner.Invoke(t.Context(), "fixture", []byte(`{"do":"hang"}`))
		hanging <- err
	}()
	eventually(t, "one hangs", func() bool { return len(runner.Running("fixture")) == 1 })
	busy := runner.Running("fixture")[0].PID
	runner.Stop()
	if err := <-hanging; !errors.Is(err, lambdaruntime.ErrStopped) {
		t.Errorf("the hanging one returned %v, want ErrStopped", err)
	}
	for name, pid := range map[string]int{"idle": idle.PID, "busy": busy} {
		if alive(pid) {
			t.Errorf("%s process %d is alive after Stop", name, pid)
		}
	}
	if exists(idle.Env["TMPDIR"]) {
		t.Errorf("private folder %s is left after Stop", idle.Env["TMPDIR"])
	}
	if _, err := runner.Invoke(t.Context(), "fixture", nil); !errors.Is(err, lambdaruntime.ErrStopped) {
		t.Errorf("invoke after Stop: %v, want ErrStopped", err)
	}
}

func TestProcessThatAsksForSIGTERMGetsIt(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	reported := filepath.Join(t.TempDir(), "told")
	deploy(t, runner, func(fn *lambdaruntime.Function) { fn.Env = map[string]string{"FIXTURE_SIGTERM_FILE": reported} })
	invoke(t, runner, `{}`)
	runner.Stop()
	if !exists(reported) {
		t.Error("the process was not sent SIGTERM before its end")
	}
}
