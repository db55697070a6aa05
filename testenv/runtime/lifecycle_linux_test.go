package lambdaruntime_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	lambdaruntime "github.com/joiner-sh/joiner/testenv/runtime"
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
