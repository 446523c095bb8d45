package handlers

import (
	"context"

	"github.com/listfacade/listfacade/internal/observe"
)

// route is the decision of a step about who answers a request. The zero value means that the facade answers. A step
// that returns an error returns the zero value with it, because the error is the response.
type route struct{ reason observe.Reason }

// forwardFor returns the route of a request that the upstream must answer, because the cache cannot, or because it is
// not confirmed fresh.
func forwardFor(reason observe.Reason) route { return route{reason: reason} }

// own returns the last step of requests that are never forwarded, because they are about the facade itself.
func own(respond func(out *reply, q *Request) error) answer {
	return func(_ context.Context, out *reply, q *Request, _ Lane) (route, error) {
		return route{}, respond(out, q)
	}
}

// forwards reports whether the upstream answers.
func (r route) forwards() bool { return r.reason != "" }
