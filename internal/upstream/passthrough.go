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

// forwardedHeaders are the headers of a client that the upstream's answer may depend on. Every other header stays here:
// credentials and identities (Authorization, X-Remote-*, Impersonate-*) because it is the Credentials who says in whose
// name the upstream is asked, and connection headers because an upgraded connection would no longer be a read.
var forwardedHeaders = []string{
	"Accept", "Accept-Encoding", "Audit-Id", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since",
	"Range", "User-Agent",
}

// answerHeaders are the headers of an answer that belong to it. Every other one stays here: it speaks of the upstream's
// host or connection, and a client would apply it to the facade's (Set-Cookie, Alt-Svc, Strict-Transport-Security), or
// asks for credentials that the facade would be sent then (WWW-Authenticate, which kube-apiserver never says).
var answerHeaders = []string{
	"Accept-Ranges", "Allow", "Audit-Id", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Length",
	"Content-Range", "Content-Type", "Date", "Etag", "Expires", "Last-Modified", "Retry-After", "Vary", "Warning", "X-Content-Type-Options",
}

// kubernetesHeader begins headers of kube-apiserver's own: whose turn a request waited for.
const kubernetesHeader = "X-Kubernetes-"

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

// Serve sends the request on in a speaker's name and copies the answer, whose body is read through what read makes of
// it; nil reads it as it is. The request is a GET or a HEAD, or the POST of a question (question.go), whose
// body of at most 64 KiB is sent on, too (question.go).
//
// It returns an *UnreachableError when there is no answer to copy, a *RefusedError when the answer is about the
// facade's own user and none of the client's; then nothing was written. An answer that breaks off in the middle aborts
// the client's connection, so that half a body is never taken for a whole one; only ErrEnd lets it end there.
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

// Open sends the request on in a speaker's name and returns the upstream's answer, uncompressed, for a caller that
// gives it another form; the caller closes its body. Its errors are those of Serve.
func (p *PassThrough) Open(r *http.Request, as Credentials) (*http.Response, error) {
	return p.ask(r, as, "")
}

// ask sends the request, built anew, and refuses what may not be answered with.
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
		return nil, &UnreachableError{Err: errors.New("the upstream switched protocols unasked")}
	}
	if err := as.refused(answer); err != nil {
		answer.Body.Close()
		return nil, err
	}
	return answer, nil
}

// mostParameters is how many net/url parses; of more it says that there are none.
const mostParameters = 10_000

// rewrite builds the request anew from what was parsed, so that the upstream reads the same path and the same
// parameters that were read here.
func (p *PassThrough) rewrite(r *http.Request, as Credentials) (*http.Request, error) {
	switch {
	case as.sign == nil:
		return nil, errNobody
	case !strings.HasPrefix(r.URL.Path, "/"), strings.Count(r.URL.RawQuery, "&") >= mostParameters:
		return nil, errUnaddressable
	}
	body, err := bodyOf(r)
	if err != nil {
		return nil, err
	}
	u := *p.client.base
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/")+r.URL.Path, "" // in one spelling, whichever the client chose
	u.RawQuery = r.URL.Query().Encode()
	out := (&http.Request{
		Method: r.Method, URL: &u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody,
	}).WithContext(passing(r.Context()))
	names := forwardedHeaders
	if len(body) > 0 {
		names = append(names[:len(names):len(names)], "Content-Type")
		out.ContentLength = int64(len(body))
		// A connection may be lost before the body is read.
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Body, _ = out.GetBody()
	}
	for _, name := range names {
		if values := r.Header.Values(name); len(values) > 0 {
			out.Header[name] = values[:1]
		}
	}
	if len(out.Header["User-Agent"]) == 0 {
		out.Header["User-Agent"] = []string{""} // not Go's own
	}
	p.client.hop.sign(out.Header, r.Header)
	as.sign(out.Header)
	return out, nil
}

// redirect lets through only a redirect within the upstream (openapi v3 sends a client to the document's current hash),
// as a path without a host; it is empty for what is no redirect. One to elsewhere would send the client to a place that
// nobody here vouches for.
func (p *PassThrough) redirect(answer *http.Response) (string, error) {
	if answer.StatusCode < 300 || answer.StatusCode >= 400 || answer.StatusCode == http.StatusNotModified {
		return "", nil
	}
	location, err := url.Parse(answer.Header.Get("Location"))
	if err != nil || (location.Host != "" && location.Host != p.client.base.Host) || !strings.HasPrefix(path.Clean(location.Path), "/openapi/") {
		return "", errors.New("the upstream answered with a redirect")
	}
	location.Scheme, location.User, location.Host = "", nil, ""
	return location.String(), nil
}

// copyBody sends each piece when it arrives: a watch's events are waited for. Trailers stay here.
func copyBody(w http.ResponseWriter, answer *http.Response) {
	control := http.NewResponseController(w)
	if answer.ContentLength < 0 && control.Flush() != nil { // that there is an answer is news by itself
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
