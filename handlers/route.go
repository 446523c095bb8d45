package handlers

import (
	"context"

	"github.com/listfacade/listfacade/internal/observe"
)

// route says whether the facade or the upstream answers a request. The zero value means the facade. A step that returns
// an error also returns the zero value, because the error is the response.
type route struct{ reason observe.Reason }

func forwardFor(reason observe.Reason) route { return route{reason: reason} }

// own returns the last step of requests about the facade itself, which are never forwarded.
func own(respond func(out *reply, q *Request) error) answer {
	return func(_ context.Context, out *reply, q *Request, _ Lane) (route, error) {
		return route{}, respond(out, q)
	}
}

func (r route) forwards() bool { return r.reason != "" }
