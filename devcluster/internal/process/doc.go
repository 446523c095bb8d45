// Package process runs the servers of a development cluster as child processes that cannot outlive their parent.
//
// A Spawner starts children. It owns one goroutine, locked to its thread: on Linux a child asks the kernel for SIGKILL
// when the thread that started it ends, so that thread has to live as long as the spawner. On other systems children
// die by Close only. Every child leads a process group of its own: a ctrl-C at the terminal reaches the parent alone.
//
// A Process is one named server that may be stopped and started again with the same arguments. Each time it runs, it
// owns one goroutine that waits for the child; Close ends both. A death that nobody asked for is reported once, with
// the last lines of the log. A dead process is never started again by itself.
package process
