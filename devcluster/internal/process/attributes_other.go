//go:build unix && !linux

package process

import "syscall"

// childAttributes makes a child the leader of its own process group. Only Linux can kill a child when its parent dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
