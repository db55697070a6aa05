package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// copied puts a program of the machine into a folder under another name.
func copied(t *testing.T, program, name string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(to, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

func TestFootprintIsOfWatcherAndFunctionsAndKeepsWhatEnded(t *testing.T) {
	f := NewFootprint(os.Getpid())
	read := func() (int64, float64) {
		t.Helper()
		memory, cpu, err := f.Read()
		if err != nil {
			t.Fatal(err)
		}
		return memory, cpu
	}
	busy := func(name string) *exec.Cmd {
		t.Helper()
		cmd := exec.Command(copied(t, "sh", name), "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		return cmd
	}
	other := busy("kube-apiserver")
	if memory, cpu := read(); memory != 0 || cpu != 0 {
		t.Errorf("of what Joiner runs on it takes %d bytes and %v s", memory, cpu)
	}
	watcher := busy("watcher")
	until(t, func() bool { memory, cpu := read(); return memory > 0 && cpu > 0 })
	other.Process.Kill()
	watcher.Process.Kill()
	_ = watcher.Wait() // killed
	memory, ended := read()
	if memory != 0 || ended == 0 {
		t.Errorf("after its end the watcher takes %d bytes and has taken %v s", memory, ended)
	}
	if most := f.Most("watcher"); most == 0 || f.Most("watcher") != 0 || f.Most("bootstrap") != 0 {
		t.Errorf("the watcher had %d bytes at most, and nothing since", most)
	}
	busy("bootstrap")
	until(t, func() bool { _, cpu := read(); return cpu > ended })
	if memory, cpu, err := NewFootprint(1 << 30).Read(); err != nil || memory != 0 || cpu != 0 {
		t.Errorf("another stack takes %d bytes and %v s (%v)", memory, cpu, err)
	}
}

// until waits for something that must come.
func until(t *testing.T, done func() bool) {
	t.Helper()
	for range 6000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it did not come within a minute")
}

func TestProcessesAreReadWhateverTheirName(t *testing.T) {
	p, err := parseProcess("42 (a) b (c)) S 7 1 1 0 -1 0 1 2 3 4 150 50 9 9 20 0 5 0 8800 1000 3 18446744073709551615 0\n")
	want := process{id: 42, parent: 7, since: 8800, cpu: 2}
	if err != nil || p != want {
		t.Errorf("%+v %v, want %+v", p, err, want)
	}
	for _, text := range []string{"", "42 (a", "x (a) S 7 1 1 0 -1 0 1 2 3 4 150 50 9 9 20 0 5 0 8800 1000 3 0 0", "42 (a) S 7"} {
		if _, err := parseProcess(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
