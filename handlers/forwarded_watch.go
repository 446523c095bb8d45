package handlers

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/upstream"
)

// forwardedWatch ends a watch that is passed through where one from the cache would end: with the shutdown, which it
// would outlast, with its age, and with the right to it, which kube-apiserver never looks at again. It ends as a whole:
// a client resumes what ended, and lists again what broke off.
type forwardedWatch struct {
	ctx   context.Context
	lease *auth.Lease
	stops []func() bool
	over  chan struct{}
}

// watchForwarded begins to guard a watch; end is called, from another goroutine, when it is over.
func (s *Server) watchForwarded(ctx context.Context, q *Request, end func()) *forwardedWatch {
	held := q.Attributes
	held.PassedThrough = false // the right itself is asked for, not whether the upstream will ask for it
	f := &forwardedWatch{ctx: ctx, lease: s.gate.authorizer.Hold(held), over: make(chan struct{})}
	f.stops = append(f.stops, context.AfterFunc(s.draining, end))
	if q.Caller.Way != auth.ByKubeconfig {
		f.stops = append(f.stops, time.AfterFunc(s.capped(q, maxLife), end).Stop)
	}
	if ended := f.lease.Ended(); ended != nil {
		go func() {
			select {
			case <-ended:
				end()
			case <-f.over:
			}
		}()
	}
	return f
}

func (f *forwardedWatch) stop() {
	close(f.over)
	for _, stop := range f.stops {
		stop()
	}
	f.lease.Release()
}

// around lets nothing through that the right is gone for.
func (f *forwardedWatch) around(read upstream.BodyReader) upstream.BodyReader {
	return func(answer *http.Response) io.ReadCloser {
		return &leasedBody{ReadCloser: read(answer), watch: f}
	}
}

// leasedBody is a body that ends with the right to it.
type leasedBody struct {
	io.ReadCloser
	watch *forwardedWatch
}

// Read implements io.Reader.
func (b *leasedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.watch.lease.Check(b.watch.ctx) != nil {
		return 0, io.EOF
	}
	return n, err
}
