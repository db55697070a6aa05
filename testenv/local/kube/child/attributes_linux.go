package child

import "syscall"

// attributes puts the child in a group of its own, so that a signal to the
// group reaches its children too, and has the kernel kill it when we die.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
