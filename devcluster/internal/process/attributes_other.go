//go:build unix && !linux

package process

import "syscall"

// childAttributes makes a child lead its own process group. Only Linux can tie its life to ours.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
