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
	ctx           context.Context
	hold          func() *auth.WatchAuthorization
	authorization *auth.WatchAuthorization // nil until the upstream has let the watch begin
	end           func()
	stops         []func()
	over          chan struct{}
}

// watchForwarded begins to guard a watch; end is called, from another goroutine, when it is over.
func (s *Server) watchForwarded(ctx context.Context, q *Request, end func()) *forwardedWatch {
	held := q.Attributes
	held.PassedThrough = false // the right itself is asked for, not whether the upstream will ask for it
	f := &forwardedWatch{
		ctx: ctx, hold: func() *auth.WatchAuthorization { return s.authorization.authorizer.Hold(held) }, end: end, over: make(chan struct{}),
	}
	f.stops = append(f.stops, s.termination.follow(end))
	if q.Caller.Way != auth.ByKubeconfig {
		ended := time.AfterFunc(s.capped(q, maxLife), end)
		f.stops = append(f.stops, func() { ended.Stop() })
	}
	return f
}

// begin holds the right from when the upstream has granted it.
func (f *forwardedWatch) begin() {
	f.authorization = f.hold()
	if ended := f.authorization.Ended(); ended != nil {
		go func() {
			select {
			case <-ended:
				f.end()
			case <-f.over:
			}
		}()
	}
}

func (f *forwardedWatch) stop() {
	close(f.over)
	for _, stop := range f.stops {
		stop()
	}
	if f.authorization != nil {
		f.authorization.Release()
	}
}

// around lets nothing through that the right is gone for. A refusal goes as it came: it says that there is no right.
func (f *forwardedWatch) around(read upstream.BodyReader) upstream.BodyReader {
	return func(answer *http.Response) io.ReadCloser {
		if answer.StatusCode >= http.StatusMultipleChoices {
			return read(answer)
		}
		f.begin()
		return &authorizedBody{ReadCloser: read(answer), watch: f}
	}
}

// authorizedBody is a body that ends with the right to it.
type authorizedBody struct {
	io.ReadCloser
	watch *forwardedWatch
}

// Read implements io.Reader.
func (b *authorizedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.watch.authorization.Check(b.watch.ctx) != nil {
		return 0, io.EOF
	}
	return n, err
}
