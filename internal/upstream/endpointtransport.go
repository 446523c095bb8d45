package upstream

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// endpointTransport sends requests to the endpoint in use, or to another endpoint if the request could not be sent.
type endpointTransport struct {
	endpoints *Endpoints
	next      http.RoundTripper
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (t endpointTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t endpointTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if base := t.endpoints.base; r.URL.Host != base.Host || r.URL.Scheme != base.Scheme {
		return t.next.RoundTrip(r) // the request is not for the upstream
	}
	at := t.endpoints.now.Load()
	for left := len(t.endpoints.all) - 1; ; left-- {
		response, sent, err := t.send(r, at)
		if err == nil || sent || left == 0 || r.Context().Err() != nil {
			return response, err
		}
		next := t.endpoints.leave(r.Context(), at, err)
		if next == nil || !rewind(&r) {
			return nil, err
		}
		at = next
	}
}

// send sends the request to an endpoint. sent is true if a part of the request may have reached the endpoint.
func (t endpointTransport) send(r *http.Request, at *endpoint) (_ *http.Response, sent bool, err error) {
	ctx, over := at.begin(r.Context())
	var wrote atomic.Bool
	out := r.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }}))
	out.URL, out.Host = at.at(r.URL, t.endpoints.base), ""
	response, err := t.next.RoundTrip(out)
	if err != nil {
		if r.Context().Err() == nil && ctx.Err() != nil {
			err = context.Cause(ctx) // the endpoint was replaced
		}
		over()
		return nil, wrote.Load() && !isDial(err), err
	}
	response.Body = &ownedBody{ReadCloser: response.Body, release: over}
	return response, true, nil
}

// isDial reports whether an error means that no connection could be opened. The transport may have written the request
// before, to an idle connection that the server had closed. The server has then not read the request.
func isDial(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

func rewind(r **http.Request) bool {
	if (*r).Body == nil || (*r).Body == http.NoBody {
		return true
	}
	if (*r).GetBody == nil {
		return false
	}
	body, err := (*r).GetBody()
	if err != nil {
		return false
	}
	again := *(*r)
	again.Body = body
	*r = &again
	return true
}
