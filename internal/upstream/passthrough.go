package upstream

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
)

// forwardedHeaders are the headers of a client that the upstream's answer may depend on. Every other header stays here:
// credentials and identities (Authorization, X-Remote-*, Impersonate-*) because a Speaker says in whose name is asked,
// and connection headers because an upgraded connection would no longer be a read.
var forwardedHeaders = []string{
	"Accept", "Accept-Encoding", "Audit-Id", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since",
	"Range", "User-Agent",
}

// withheldHeaders are headers of an answer that speak of the upstream's host, not of the answer: a client would apply
// them to the facade's.
var withheldHeaders = []string{"Alt-Svc", "Set-Cookie", "Strict-Transport-Security"}

var discarded = log.New(io.Discard, "", 0)

// PassThrough copies the upstream's own answer to a client, for what the facade does not cache and what it cannot
// prove.
type PassThrough struct {
	client *Client
}

// NewPassThrough passes requests on to the client's upstream.
func NewPassThrough(client *Client) *PassThrough { return &PassThrough{client: client} }

// BodyReader reads the body of an answer that is passed through: what it returns stands in the body's place. It may
// wait for the upstream.
type BodyReader func(answer *http.Response) io.ReadCloser

// Serve sends the request on and copies the answer, whose body is read through what read makes of it; nil reads it as
// it is. It returns an *UnreachableError when there is no answer to copy, and a *RefusedError when that would be about
// the facade; then nothing was written. An answer that breaks off in the middle aborts the client's connection, so that
// half a body is never taken for a whole one; only ErrEnd lets it end there.
func (p *PassThrough) Serve(w http.ResponseWriter, r *http.Request, as Speaker, read BodyReader) error {
	var failed error
	proxy := &httputil.ReverseProxy{
		Transport:     p.transport(as),
		FlushInterval: -1, // watches: each event goes out when it arrives
		Rewrite:       func(out *httputil.ProxyRequest) { p.rewrite(out) },
		ErrorLog:      discarded, // what fails is returned, or ends the client's connection
		ModifyResponse: func(response *http.Response) error {
			if err := as.refusal(response); err != nil {
				return err
			}
			for _, name := range withheldHeaders {
				response.Header.Del(name)
			}
			response.Body = &endingBody{ReadCloser: response.Body, ctx: response.Request.Context()}
			if response.StatusCode >= 300 && response.StatusCode < 400 && response.StatusCode != http.StatusNotModified {
				return p.redirect(response)
			}
			if err := nameCause(response); err != nil {
				return err
			}
			if read != nil {
				response.Body = read(response)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) {
			if failed = err; !IsRefused(err) {
				failed = &UnreachableError{Err: err}
			}
		},
	}
	proxy.ServeHTTP(w, r)
	return failed
}

// Open sends the request on and returns the upstream's answer, uncompressed, for a caller that gives it another form;
// the caller closes its body. It returns an *UnreachableError when there is no answer.
func (p *PassThrough) Open(r *http.Request, as Speaker) (*http.Response, error) {
	out := &httputil.ProxyRequest{In: r, Out: r.Clone(r.Context())}
	p.rewrite(out)
	out.Out.Header.Del("Accept-Encoding")
	response, err := p.transport(as).RoundTrip(out.Out)
	if err != nil {
		return nil, &UnreachableError{Err: err}
	}
	if err := as.refusal(response); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// endingBody is an answer's body that may be told to end.
type endingBody struct {
	io.ReadCloser
	ctx context.Context
}

// Read implements io.Reader.
func (b *endingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && errors.Is(context.Cause(b.ctx), ErrEnd) {
		err = io.EOF
	}
	return n, err
}

// rewrite builds the request anew from what was parsed, so that the upstream reads the same path and the same
// parameters that were read here.
func (p *PassThrough) rewrite(out *httputil.ProxyRequest) {
	header := http.Header{}
	for _, name := range forwardedHeaders {
		if values := out.In.Header.Values(name); len(values) > 0 {
			header[name] = values[:1]
		}
	}
	if len(header["User-Agent"]) == 0 {
		header["User-Agent"] = []string{""} // not Go's own
	}
	out.Out.Header = header
	out.Out.Body, out.Out.ContentLength = http.NoBody, 0
	if out.In.Method == http.MethodPost { // which asks about the caller, and has been read: no other body is passed on
		out.Out.Body, out.Out.ContentLength = out.In.Body, out.In.ContentLength
		header["Content-Type"] = out.In.Header.Values("Content-Type")
	}
	out.Out.TransferEncoding, out.Out.Trailer = nil, nil
	u := *p.client.base
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/")+out.In.URL.Path, "" // in one spelling, whichever the client chose
	u.RawQuery = out.In.URL.Query().Encode()
	out.Out.URL = &u
	out.Out.Host = u.Host
}

// redirect lets through only a redirect within the upstream (openapi v3 sends a client to the document's current hash),
// as a path without a host. A redirect to elsewhere would send the client to a place that nobody here vouches for.
func (p *PassThrough) redirect(response *http.Response) error {
	location, err := url.Parse(response.Header.Get("Location"))
	if err != nil || (location.Host != "" && location.Host != p.client.base.Host) || !strings.HasPrefix(path.Clean(location.Path), "/openapi/") {
		return errors.New("the upstream answered with a redirect")
	}
	location.Scheme, location.User, location.Host = "", nil, ""
	response.Header.Set("Location", location.String())
	return nil
}
