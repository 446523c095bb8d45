package handlers

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/upstream"
)

// forwardedWatch ends a forwarded watch when a cached watch would end: for example at shutdown, or when its
// authorization ends. kube-apiserver does not authorize an open watch again. The stream ends without an error, because
// after an error clients list again.
type forwardedWatch struct {
	ctx           context.Context
	hold          func() *auth.WatchAuthorization
	authorization *auth.WatchAuthorization // nil until the upstream has accepted the watch
	end           func()
	stops         []func()
	over          chan struct{}
}

// watchForwarded returns the forwardedWatch of a request. When the watch must end, another goroutine calls end.
func (s *Server) watchForwarded(ctx context.Context, q *Request, end func()) *forwardedWatch {
	attributes := q.Attributes
	attributes.PassedThrough = false // the upstream checks the permission only at the start, so review it here
	f := &forwardedWatch{
		ctx: ctx, end: end,
		hold: func() *auth.WatchAuthorization { return s.authorization.authorizer.AuthorizeWatch(attributes) },
		over: make(chan struct{}),
	}
	f.stops = append(f.stops, s.termination.follow(end))
	if q.Caller.Way != auth.ByKubeconfig {
		ended := time.AfterFunc(s.capped(q, maxLife), end)
		f.stops = append(f.stops, func() { ended.Stop() })
	}
	return f
}

// begin obtains the watch authorization, after the upstream has accepted the watch. The watch ends when this
// authorization ends. A second call has no effect: a watch over a websocket is forwarded again if the first answer is
// not a stream.
func (f *forwardedWatch) begin() {
	if f.authorization != nil {
		return
	}
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

// around returns a BodyReader that sends no event after the authorization has ended. Error responses are not changed.
func (f *forwardedWatch) around(read upstream.BodyReader) upstream.BodyReader {
	return func(answer *http.Response) io.ReadCloser {
		if answer.StatusCode >= http.StatusMultipleChoices {
			return read(answer)
		}
		f.begin()
		return &authorizedBody{ReadCloser: read(answer), watch: f}
	}
}

type authorizedBody struct {
	io.ReadCloser
	watch *forwardedWatch
}

func (b *authorizedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.watch.authorization.Check(b.watch.ctx) != nil {
		return 0, io.EOF
	}
	return n, err
}
