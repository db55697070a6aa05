package boot

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/joiner-sh/joiner/shared/work"
)

// Crash kills the process with SIGKILL at a chosen effect, to prove that what was left half done is found and finished.
// It is for tests: production does not set its file.
type Crash struct {
	file string
}

// CrashFrom returns a Crash that looks at the file before and after each effect, and nil where file is empty. The file
// holds "before EFFECT" or "after EFFECT"; the process that reaches it deletes the file and dies, so it happens once.
func CrashFrom(file string) work.EffectHook {
	if file == "" {
		return nil
	}
	return &Crash{file: file}
}

// Before dies where the file says "before EFFECT".
func (c *Crash) Before(_ context.Context, effect string) error {
	return c.at("before " + effect)
}

// After dies where the file says "after EFFECT".
func (c *Crash) After(_ context.Context, effect string) {
	_ = c.at("after " + effect) // there is nobody to stop: the effect has happened
}

func (c *Crash) at(point string) error {
	text, err := os.ReadFile(c.file)
	if err != nil || strings.TrimSpace(string(text)) != point {
		return nil
	}
	if err := os.Remove(c.file); err != nil {
		return nil // another process was first, and dies
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return fmt.Errorf("die at %s: %w", point, err)
	}
	select {} // the signal is on its way
}
