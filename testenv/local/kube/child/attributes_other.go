//go:build unix && !linux

package child

import "syscall"

// attributes puts the child in a group of its own. Only Linux can tie its life
// to ours: elsewhere Kill must be called.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
