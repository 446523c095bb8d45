package deploy

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
)

// service forwards TCP connections to pods in turn, like a Service.
type service struct {
	address string // host:port

	mu    sync.Mutex // guards what follows
	pods  []*pod
	next  int
	open  map[net.Conn]bool // both sides
	ended bool
}

func startService(t *testing.T) *service {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{address: listener.Addr().String(), open: map[net.Conn]bool{}}
	var leading sync.WaitGroup
	leading.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			leading.Go(func() { s.lead(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.end()
		leading.Wait()
	})
	return s
}

// add adds a pod as an endpoint.
func (s *service) add(p *pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods = append(s.pods, p)
}

// remove removes a pod from the endpoints.
func (s *service) remove(p *pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods = slices.DeleteFunc(s.pods, func(one *pod) bool { return one == p })
}

// lead forwards a connection to a pod until both have ended.
func (s *service) lead(client net.Conn) {
	if !s.keep(client) {
		return
	}
	defer s.drop(client)
	server, err := net.Dial("tcp", s.pick().address)
	if err != nil || !s.keep(server) {
		return
	}
	defer s.drop(server)
	var both sync.WaitGroup
	for to, from := range map[net.Conn]net.Conn{client: server, server: client} {
		both.Go(func() {
			_, _ = io.Copy(to, from) // either side may break off
			_ = to.(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
}

func (s *service) pick() *pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[s.next%len(s.pods)]
	s.next++
	return p
}

// keep registers a connection. It returns false and closes it if the service has ended.
func (s *service) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		_ = conn.Close()
		return false
	}
	s.open[conn] = true
	return true
}

func (s *service) drop(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, conn)
	_ = conn.Close()
}

func (s *service) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for conn := range s.open {
		_ = conn.Close()
	}
}
