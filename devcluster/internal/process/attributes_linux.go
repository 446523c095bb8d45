package process

import "syscall"

// childAttributes makes a child lead its own process group and die with the thread that started it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
