package child_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/kube/child"
)

// TestMain lets this test binary play the parent that is killed: it starts a
// child that sleeps, prints the child's pid and waits.
func TestMain(m *testing.M) {
	if log := os.Getenv("CHILD_TEST_PARENT_LOG"); log != "" {
		p, err := child.Start(child.Spec{Name: "sleep", Path: "/bin/sh", Args: []string{"-c", "sleep 600 & wait"}, LogPath: log})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(p.PID())
		select {}
	}
	os.Exit(m.Run())
}

func TestErrCarriesTheEndOfTheLog(t *testing.T) {
	p := start(t, "echo first; echo 'address already in use' >&2; exit 3")
	waitDone(t, p)
	for _, want := range []string{"sh", "exit status 3", "address already in use"} {
		if !strings.Contains(p.Err().Error(), want) {
			t.Errorf("error %q lacks %q", p.Err(), want)
		}
	}
}

func TestEndingWithStatusZeroIsAnError(t *testing.T) {
	p := start(t, "exit 0")
	waitDone(t, p)
	if p.Err() == nil {
		t.Error("a server that ended by itself has no error")
	}
}

func TestKillEndsTheWholeGroup(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	p := start(t, "sleep 600 & echo $! > "+pidFile+".new; mv "+pidFile+".new "+pidFile+"; wait")
	var grandchild int
	eventually(t, "the grandchild's pid", func() bool {
		b, err := os.ReadFile(pidFile)
		if err != nil {
			return false
		}
		grandchild, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	if p.Err() != nil {
		t.Fatalf("ended early: %v", p.Err())
	}
	p.Kill()
	p.Kill() // twice is allowed
	eventually(t, "the grandchild's end", func() bool { return !alive(grandchild) })
}

func TestStartOfMissingProgramNamesIt(t *testing.T) {
	_, err := child.Start(child.Spec{Name: "etcd", Path: "/nowhere/etcd", LogPath: filepath.Join(t.TempDir(), "log")})
	if err == nil || !strings.Contains(err.Error(), "start etcd") {
		t.Errorf("got %v", err)
	}
}

func start(t *testing.T, script string) *child.Process {
	t.Helper()
	p, err := child.Start(child.Spec{
		Name: "sh", Path: "/bin/sh", Args: []string{"-c", script}, LogPath: filepath.Join(t.TempDir(), "log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func waitDone(t *testing.T, p *child.Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("still running after 30 s")
	}
}

// alive reports whether the process runs. One that has ended and waits to be
// reaped by whoever inherited it does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("waited 30 s for %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
