// Package process runs the servers of a development cluster as child processes.
//
// A Spawner starts children. It owns one goroutine, which is locked to its thread until Close. On Linux the kernel
// kills a child when the thread that started it ends, so children cannot outlive their parent. On other systems,
// children can outlive their parent. Every child leads its own process group, so ctrl-C at the terminal reaches only
// the parent.
//
// A Process is one named server that can be stopped and started again with the same arguments. Each run has one
// goroutine that waits for the child. Close ends child and goroutine. A Process reports an unexpected exit once, with
// the last lines of the log. The package never restarts a process.
package process
