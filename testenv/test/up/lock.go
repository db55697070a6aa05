package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// lock says that a run owns a folder.
type lock struct{ dir string }

// takeDir makes the folder this run's own. With end, it ends the run that has it and removes what that kept instead.
func takeDir(dir string, end bool) (*lock, error) {
	if pid, alive := owner(dir); alive {
		if !end {
			return nil, fmt.Errorf("process %d already runs in %s; end it with `make down`", pid, dir)
		}
		if err := endProcess(pid); err != nil {
			return nil, err
		}
		fmt.Printf("ended process %d\n", pid)
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if end {
		fmt.Printf("removed %s\n", dir)
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &lock{dir}, os.WriteFile(pidFile(dir), []byte(strconv.Itoa(os.Getpid())), 0o644)
}

func pidFile(dir string) string { return filepath.Join(dir, "pid") }

// owner returns the process a folder belongs to, and whether it lives.
func owner(dir string) (pid int, alive bool) {
	text, err := os.ReadFile(pidFile(dir))
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		return 0, false
	}
	return pid, syscall.Kill(pid, 0) == nil
}

// endProcess asks a run to stop, and after ten seconds makes it.
func endProcess(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	for range 100 {
		if syscall.Kill(pid, 0) != nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// release gives the folder up; logs stay for people to read.
func (l *lock) release() { os.Remove(pidFile(l.dir)) }
