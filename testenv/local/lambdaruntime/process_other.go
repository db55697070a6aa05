//go:build unix && !linux

package lambdaruntime

import (
	"os/exec"
	"syscall"
)

// isolate puts the child in its own process group. Without a parent-death signal on this platform, Stop is what ends the
// children.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// peakMemoryBytes is not known for a live process on this platform.
func peakMemoryBytes(int) int64 { return 0 }
