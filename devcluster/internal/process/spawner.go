package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// Spawner starts children from one thread, which lives until Close.
type Spawner struct {
	requests chan spawn
	done     chan struct{}
	closing  sync.Once
}

type spawn struct {
	command *exec.Cmd
	result  chan<- error
}

// NewSpawner starts the thread. The caller closes the spawner after every child has exited.
func NewSpawner() *Spawner {
	s := &Spawner{requests: make(chan spawn), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *Spawner) run() {
	defer close(s.done)
	// The goroutine never unlocks the thread. So the thread ends with the goroutine, and the kernel then kills the
	// remaining children.
	runtime.LockOSThread()
	for request := range s.requests {
		request.result <- request.command.Start()
	}
}

// start starts the command as the leader of its own process group. It must not be called after Close.
func (s *Spawner) start(command *exec.Cmd) error {
	command.SysProcAttr = childAttributes()
	result := make(chan error, 1)
	s.requests <- spawn{command: command, result: result}
	return <-result
}

// Close ends the thread and waits for it. On Linux this kills children that are still alive.
func (s *Spawner) Close() {
	s.closing.Do(func() { close(s.requests) })
	<-s.done
}
