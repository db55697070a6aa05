package lambdaruntime_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

func TestFrozenProcessIsStoppedBetweenInvocations(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{Freeze: true})
	deploy(t, runner)
	pid := decode[report](t, invoke(t, runner, `{}`)).PID
	eventually(t, "the process is stopped", func() bool { return processState(t, pid) == "T" })
	second := decode[report](t, invoke(t, runner, `{}`))
	if second.PID != pid || second.Count != 2 {
		t.Errorf("process %d served as its number %d, want %d to serve its second", second.PID, second.Count, pid)
	}
}

// processState returns the letter of /proc/PID/stat.
func processState(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat))
	return fields[2]
}

func TestStopEndsTheChildrenOfTheProcess(t *testing.T) {
	runner := newRunner(t, lambdaruntime.Config{})
	deploy(t, runner)
	child := decode[int](t, invoke(t, runner, `{"do":"child"}`))
	runner.Stop()
	// It is reaped by init, some time after it was killed.
	eventually(t, "the grandchild is gone", func() bool { return !alive(child) || processState(t, child) == "Z" })
}

// orphanVariable makes this test binary play the parent that is killed.
const orphanVariable = "LAMBDARUNTIME_TEST_PARENT"

func TestProcessesDieWithTheirParent(t *testing.T) {
	if os.Getenv(orphanVariable) != "" {
		runner := newRunner(t, lambdaruntime.Config{})
		deploy(t, runner)
		fmt.Printf("pid %d\n", decode[report](t, invoke(t, runner, `{}`)).PID)
		select {} // until killed
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestProcessesDieWithTheirParent$")
	parent.Env = append(os.Environ(), orphanVariable+"=1", "TMPDIR="+t.TempDir()) // which nobody else removes
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	_, scanErr := fmt.Fscanf(output, "pid %d\n", &pid)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); scanErr != nil || err == nil {
		t.Fatalf("the parent told no process (%v) or was not killed (%v)", scanErr, err)
	}
	eventually(t, "the sandbox is gone", func() bool { return !alive(pid) || processState(t, pid) == "Z" })
}

func TestMemoryOverTheFunctionsSizeEndsTheProcess(t *testing.T) {
	var seen exits
	runner := newRunner(t, lambdaruntime.Config{OnExit: seen.add})
	deploy(t, runner)
	if small := invoke(t, runner, `{"do":"allocate","bytes":1000000}`); small.Err() != nil || small.MaxMemoryMB == 0 {
		t.Fatalf("a megabyte: error %v, peak %d MB", small.Err(), small.MaxMemoryMB)
	}
	result := invoke(t, runner, `{"do":"allocate","bytes":150000000}`)
	if result.ErrorType != lambdaruntime.ErrorTypeOutOfMemory || result.MaxMemoryMB < 128 {
		t.Errorf("got type %q, peak %d MB", result.ErrorType, result.MaxMemoryMB)
	}
	if list := seen.all(); len(list) != 1 || list[0].Reason != lambdaruntime.ExitOutOfMemory {
		t.Errorf("exits %+v, want one out of memory", list)
	}
}

// A process is not let be until its invocation ends: what it takes meanwhile, others on the machine do without.
func TestMemoryOverTheFunctionsSizeEndsTheProcessAtOnce(t *testing.T) {
	var seen exits
	runner := newRunner(t, lambdaruntime.Config{OnExit: seen.add})
	deploy(t, runner)
	began := time.Now()
	result := invoke(t, runner, `{"do":"allocate","bytes":150000000,"millis":3600000}`)
	if result.ErrorType != lambdaruntime.ErrorTypeOutOfMemory || result.MaxMemoryMB < 128 {
		t.Errorf("got type %q after %s, peak %d MB; want it to end out of memory, not by its timeout of %s", result.ErrorType, time.Since(began), result.MaxMemoryMB, patience)
	}
	if list := seen.all(); len(list) != 1 || list[0].Reason != lambdaruntime.ExitOutOfMemory || list[0].RequestID != result.RequestID {
		t.Errorf("exits %+v, want one out of memory, of request %s", list, result.RequestID)
	}
}
