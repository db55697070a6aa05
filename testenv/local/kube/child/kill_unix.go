//go:build unix

package child

import (
	"os"
	"syscall"
)

// killGroup kills every process of the group that p leads. A group that has
// ended already is not an error.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
}
