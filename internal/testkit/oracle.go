package testkit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// Question is one request, asked of both servers.
type Question struct {
	Method string // GET when empty
	Path   string // with the query
	Header http.Header
}

func (q Question) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", q.method(), q.Path)
	for name, values := range q.Header {
		fmt.Fprintf(&b, " [%s: %s]", name, strings.Join(values, ", "))
	}
	return b.String()
}

func (q Question) method() string {
	if q.Method == "" {
		return http.MethodGet
	}
	return q.Method
}

// Answer is what came back. Body is decompressed.
type Answer struct {
	Code   int
	Header http.Header
	Body   []byte
}

// Asker sends questions to one server with the credentials of a client configuration.
type Asker struct {
	base   string
	client *http.Client
}

// NewAsker makes an asker of the server that the configuration names.
func NewAsker(config *rest.Config) (*Asker, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Asker{base: strings.TrimSuffix(config.Host, "/"), client: client}, nil
}

// Open sends a question and returns the open answer; a watch's body is read by the caller.
func (a *Asker) Open(ctx context.Context, q Question) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, q.method(), a.base+q.Path, nil)
	if err != nil {
		return nil, err
	}
	request.Header = q.Header.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "oracle") // Go's own would do, but the choice must not depend on the client
	}
	return a.client.Do(request)
}

// Ask sends a question and reads the whole answer.
func (a *Asker) Ask(ctx context.Context, q Question) (*Answer, error) {
	response, err := a.Open(ctx, q)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q, err)
	}
	return &Answer{Code: response.StatusCode, Header: response.Header, Body: body}, nil
}

// Oracle asks kube-apiserver and the facade the same question.
type Oracle struct {
	Upstream, Facade *Asker
}

// Compare asks both and reports every difference that no mask explains. It returns the upstream's answer.
func (o *Oracle) Compare(t testing.TB, q Question) *Answer {
	t.Helper()
	want, err := o.Upstream.Ask(t.Context(), q)
	if err != nil {
		t.Fatalf("upstream: %v", err)
	}
	got, err := o.Facade.Ask(t.Context(), q)
	if err != nil {
		t.Fatalf("facade: %v", err)
	}
	if diff := Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", q, diff)
	}
	return want
}

// Diff compares two answers after masking; it is empty when they are the same.
func Diff(want, got *Answer) string {
	var b strings.Builder
	if want.Code != got.Code {
		fmt.Fprintf(&b, "code: upstream %d, facade %d\n", want.Code, got.Code)
	}
	if diff := cmp.Diff(maskHeader(want.Header), maskHeader(got.Header)); diff != "" {
		fmt.Fprintf(&b, "header (-upstream +facade):\n%s", diff)
	}
	wantBody, gotBody := maskBody(want.Body), maskBody(got.Body)
	if !bytes.Equal(wantBody, gotBody) {
		fmt.Fprintf(&b, "body:\n%s", around(wantBody, gotBody))
	}
	return b.String()
}

// around shows where two bodies part.
func around(want, got []byte) string {
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	cut := func(body []byte) []byte { return body[max(0, min(at-120, len(body))):min(len(body), at+200)] }
	return fmt.Sprintf("  differ at byte %d (lengths %d and %d)\n  upstream ...%s...\n  facade   ...%s...\n", at, len(want), len(got), cut(want), cut(got))
}
