package incidents

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// interposed is a proxy of kube-apiserver that can answer some requests itself.
type interposed struct {
	kubeconfig string // for clients of the proxy, which forwards with the rights of a facade
	instead    atomic.Pointer[answer]

	mu   sync.Mutex // guards over
	over chan struct{}
}

// answer answers a request, or returns false to have it forwarded.
type answer func(w http.ResponseWriter, r *http.Request, next http.Handler) bool

// interpose starts a proxy in front of the shared cluster until the test ends.
func interpose(t *testing.T) *interposed {
	t.Helper()
	way := &interposed{over: make(chan struct{})}
	next := way.breakable(suite.Forward(t, suite.FacadeConfig(t, suite.Cluster(t))))
	way.kubeconfig = suite.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if instead := way.instead.Load(); instead == nil || !(*instead)(w, r, next) {
			next.ServeHTTP(w, r)
		}
	}))
	return way
}

// answer sets a function that answers requests and reports whether it did. With nil all requests are forwarded.
func (i *interposed) answer(instead answer) {
	if instead == nil {
		i.instead.Store(nil)
		return
	}
	i.instead.Store(&instead)
}

// breakable returns a handler whose answers end when the proxy is cut.
func (i *interposed) breakable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		over := i.over
		i.mu.Unlock()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			select {
			case <-over:
				cancel()
			case <-stop:
			}
		}()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// cut ends all answers in flight.
func (i *interposed) cut() {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.over)
	i.over = make(chan struct{})
}

// wire is a network between a facade and its kube-apiserver that can lose all packets without an error.
type wire struct {
	kubeconfig string // of the facade's user, by this way

	to    string
	mu    sync.Mutex    // guards what follows
	whole chan struct{} // closed while bytes pass
	hung  chan struct{} // closed when the connections of now are to end
}

// layWire starts a wire to the shared cluster until the test ends.
func layWire(t *testing.T, config *rest.Config) *wire {
	t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{to: target.Host, whole: make(chan struct{}), hung: make(chan struct{})}
	close(w.whole)
	config = rest.CopyConfig(config)
	config.Host = "https://" + listener.Addr().String()
	w.kubeconfig = testkit.WriteKubeconfig(t, config)
	var group sync.WaitGroup
	over := make(chan struct{})
	group.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			group.Go(func() { w.join(conn, over) })
		}
	})
	t.Cleanup(func() { close(over); _ = listener.Close(); group.Wait() })
	return w
}

// join connects both ends until one of them or the test ends.
func (w *wire) join(near net.Conn, over <-chan struct{}) {
	far, err := net.Dial("tcp", w.to)
	if err != nil {
		_ = near.Close()
		return
	}
	done := make(chan struct{}, 2)
	for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
		go func() {
			w.carry(from, to, over)
			done <- struct{}{}
		}()
	}
	ended := 0
	w.mu.Lock()
	hung := w.hung
	w.mu.Unlock()
	select {
	case <-hung:
	case <-done:
		ended++
	case <-over:
	}
	_, _ = near.Close(), far.Close()
	for ; ended < 2; ended++ {
		<-done
	}
}

// carry forwards bytes, and waits while the network is lost.
func (w *wire) carry(from, to net.Conn, over <-chan struct{}) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-w.state():
		case <-over:
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (w *wire) state() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.whole
}

// hangUp closes all connections.
func (w *wire) hangUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.hung)
	w.hung = make(chan struct{})
}

// cut loses the network.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.whole = make(chan struct{})
}

// restore ends the loss, and delivers the bytes that were sent meanwhile.
func (w *wire) restore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.whole)
}

// status answers with an error like kube-apiserver.
func status(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"code":%d}`+"\n", message, reason, code)
}

// about reports whether a request is for a resource.
func about(r *http.Request, resource string) bool {
	return strings.HasSuffix(r.URL.Path, "/"+resource)
}
