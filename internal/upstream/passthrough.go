package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// forwardedHeaders are the headers of clients that are forwarded. Identity headers (Authorization, X-Remote-*,
// Impersonate-*) are dropped, because the upstream's response must depend on Credentials instead. Connection headers
// are dropped, because they could upgrade the connection, and the client could then write on it.
var forwardedHeaders = []string{
	"Accept", "Accept-Encoding", "Audit-Id", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range",
	"If-Unmodified-Since",
	"Range", "User-Agent",
}

// answerHeaders are the response headers that are copied. Other headers may describe the upstream's host or connection,
// and clients would apply them to the facade (Set-Cookie, Alt-Svc, Strict-Transport-Security). WWW-Authenticate, which
// kube-apiserver never sends, would cause clients to send credentials to the facade.
var answerHeaders = []string{
	"Accept-Ranges", "Allow", "Audit-Id", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language",
	"Content-Length",
	"Content-Range", "Content-Type", "Date", "Etag", "Expires", "Last-Modified", "Retry-After", "Vary", "Warning",
	"X-Content-Type-Options",
}

// kubernetesHeader is the prefix of further headers that are copied, such as X-Kubernetes-Pf-Flowschema-Uid.
const kubernetesHeader = "X-Kubernetes-"

// PassThrough forwards clients' requests to the upstream and copies its responses.
type PassThrough struct {
	client *Client
}

// NewPassThrough returns a PassThrough to the client's upstream.
func NewPassThrough(client *Client) *PassThrough { return &PassThrough{client: client} }

// BodyReader returns the reader that replaces the body of a forwarded response.
type BodyReader func(answer *http.Response) io.ReadCloser

// Serve forwards the request with the given credentials and copies the response. A BodyReader may replace the
// response's body. The request is a GET, a HEAD, or the POST of a review with a body of at most 64 KiB (question.go).
//
// It returns an *UnreachableError when there is no response to copy, and a *RefusedError when the upstream refuses the
// facade's own user. In both cases nothing is written. If the upstream's response breaks off, the client's connection
// is aborted, so that the client does not take the response for complete. A response that ends because of ErrEnd is
// completed normally.
func (p *PassThrough) Serve(w http.ResponseWriter, r *http.Request, as Credentials, read BodyReader) error {
	answer, err := p.ask(r, as, r.Header.Get("Accept-Encoding"))
	if err != nil {
		return err
	}
	defer func() { answer.Body.Close() }()
	answer.Body = &endingBody{ReadCloser: answer.Body, ctx: r.Context()}
	location, err := p.redirect(answer)
	if err != nil {
		return &UnreachableError{Err: err}
	}
	if err := nameCause(answer); err != nil {
		return &UnreachableError{Err: err}
	}
	if read != nil {
		answer.Body = read(answer)
	}
	header := w.Header()
	for name, values := range answer.Header {
		if strings.HasPrefix(name, kubernetesHeader) || slices.Contains(answerHeaders, name) {
			header[name] = append(header[name], values...)
		}
	}
	if location != "" {
		header.Set("Location", location)
	}
	w.WriteHeader(answer.StatusCode)
	copyBody(w, answer)
	return nil
}

// Open forwards the request and returns the upstream's uncompressed response, for a caller that converts it. The caller
// closes the body. Open returns the errors of Serve.
func (p *PassThrough) Open(r *http.Request, as Credentials) (*http.Response, error) {
	return p.ask(r, as, "")
}

func (p *PassThrough) ask(r *http.Request, as Credentials, acceptEncoding string) (*http.Response, error) {
	out, err := p.rewrite(r, as)
	if err != nil {
		return nil, err
	}
	if acceptEncoding == "" {
		out.Header.Del("Accept-Encoding")
	}
	transport := p.client.http.Transport
	if as.kind == bearer || as.kind == anonymous {
		transport = p.client.anonymous
	}
	answer, err := transport.RoundTrip(out)
	if err != nil {
		return nil, &UnreachableError{Err: err}
	}
	if answer.StatusCode == http.StatusSwitchingProtocols {
		answer.Body.Close()
		return nil, &UnreachableError{Err: errors.New("the upstream switched protocols without a request for it")}
	}
	if err := as.refused(answer); err != nil {
		answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

// mostParameters is the maximum number of parameters that net/url parses. For a longer query, net/url returns none.
const mostParameters = 10_000

// rewrite builds a request from the parsed path and parameters, so that the upstream parses exactly the same path and
// parameters.
func (p *PassThrough) rewrite(r *http.Request, as Credentials) (*http.Request, error) {
	switch {
	case as.sign == nil:
		return nil, errNoCredentials
	case !strings.HasPrefix(r.URL.Path, "/"), strings.Count(r.URL.RawQuery, "&") >= mostParameters:
		return nil, errUnaddressable
	}
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	u := *p.client.base
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/")+r.URL.Path, "" // escaped by net/url, not as the client did
	u.RawQuery = r.URL.Query().Encode()
	out := (&http.Request{
		Method: r.Method, URL: &u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{},
		Body: http.NoBody,
	}).WithContext(passing(r.Context()))
	names := forwardedHeaders
	if len(body) > 0 {
		names = append(names[:len(names):len(names)], "Content-Type")
		out.ContentLength = int64(len(body))
		// The transport needs GetBody to send the request again after a lost connection.
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Body, _ = out.GetBody()
	}
	for _, name := range names {
		if values := r.Header.Values(name); len(values) > 0 {
			out.Header[name] = values[:1]
		}
	}
	if len(out.Header["User-Agent"]) == 0 {
		out.Header["User-Agent"] = []string{""} // prevents Go's default
	}
	p.client.hop.Sign(out.Header, r.Header)
	as.sign(out.Header)
	return out, nil
}

// redirect returns the location of a redirect as a path without a host, or "" for any other response. OpenAPI v3
// redirects to the document's current hash. A redirect to another server is an error, because clients must not be sent
// to an untrusted address.
func (p *PassThrough) redirect(answer *http.Response) (string, error) {
	if answer.StatusCode < 300 || answer.StatusCode >= 400 || answer.StatusCode == http.StatusNotModified {
		return "", nil
	}
	location, err := url.Parse(answer.Header.Get("Location"))
	if err != nil || (location.Host != "" && location.Host != p.client.base.Host) ||
		!strings.HasPrefix(path.Clean(location.Path), "/openapi/") {
		return "", errors.New("the upstream redirected to an unexpected address")
	}
	location.Scheme, location.User, location.Host = "", nil, ""
	return location.String(), nil
}

// copyBody flushes each piece immediately, because clients wait for a watch's events. Trailers are dropped.
func copyBody(w http.ResponseWriter, answer *http.Response) {
	control := http.NewResponseController(w)
	if answer.ContentLength < 0 && control.Flush() != nil { // clients wait for a watch's headers, too
		panic(http.ErrAbortHandler)
	}
	buffer := make([]byte, 32<<10)
	for {
		n, err := answer.Body.Read(buffer)
		if n > 0 {
			_, failed := w.Write(buffer[:n])
			if failed == nil {
				failed = control.Flush()
			}
			if failed != nil {
				panic(http.ErrAbortHandler)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			panic(http.ErrAbortHandler)
		}
	}
}

type endingBody struct {
	io.ReadCloser
	ctx context.Context
}

func (b *endingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && errors.Is(context.Cause(b.ctx), ErrEnd) {
		err = io.EOF
	}
	return n, err
}
