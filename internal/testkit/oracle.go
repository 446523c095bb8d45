package testkit

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Question is one request, which is sent to both servers.
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

// Answer is a response. Body is decompressed.
type Answer struct {
	Code   int
	Header http.Header
	Body   []byte
}

// Asker sends questions to one server with the credentials of a client configuration.
type Asker struct {
	base   string
	client *http.Client
	tls    *tls.Config // for websockets, which do not use the client

	// Seen is called with every complete answer, on the goroutine of the request. It may be nil.
	Seen func(Question, *Answer)
}

// NewAsker returns an asker for the server of the configuration. It requests no compression that the question does not
// request, and follows no redirects.
func NewAsker(config *rest.Config) (*Asker, error) {
	config = rest.CopyConfig(config)
	config.DisableCompression = true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Asker{base: strings.TrimSuffix(config.Host, "/"), client: client, tls: secure}, nil
}

// Open sends a question and returns the open response. The caller reads the body and closes it.
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
		request.Header.Set("User-Agent", "oracle") // the answer must not depend on the client's default
	}
	return a.client.Do(request)
}

// Ask sends a question and reads the complete answer.
func (a *Asker) Ask(ctx context.Context, q Question) (*Answer, error) {
	response, err := a.Open(ctx, q)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body := io.Reader(response.Body)
	if response.Header.Get("Content-Encoding") == "gzip" && q.method() != http.MethodHead {
		if body, err = gzip.NewReader(response.Body); err != nil {
			return nil, fmt.Errorf("%s: %w", q, err)
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q, err)
	}
	answer := &Answer{Code: response.StatusCode, Header: response.Header, Body: data}
	if a.Seen != nil {
		a.Seen(q, answer)
	}
	return answer, nil
}

// Oracle sends the same question to kube-apiserver and to the facade.
type Oracle struct {
	Upstream, Facade *Asker
	// Excused reports whether docs/divergences.md lists a difference for this caller. If nil, no difference is
	// excused.
	Excused func(q Question, want, got *Answer) bool
	// Counts returns how many of the facade's requests a source has answered, as Answered does. If nil, Answered reads
	// the facade's metrics.
	Counts func(source string) int
}

// Compare sends a question to both servers and reports every difference after masking. It returns the upstream's
// answer.
func (o *Oracle) Compare(t testing.TB, q Question) *Answer {
	t.Helper()
	answer, diff := o.Difference(t, q)
	if diff != "" {
		t.Errorf("%s\n%s", q, diff)
	}
	return answer
}

// Difference sends a question to both servers. It returns the upstream's answer, and every difference after masking.
//
// The cluster changes meanwhile: nodes renew leases, ages in Tables increase. So the upstream answers before and after
// the facade. The facade's answer must equal one of these two answers. Its ages may be between their ages. Difference
// retries only if the upstream's answers differ, if the version of the facade's list is between their versions, or if
// the question allows an old answer.
func (o *Oracle) Difference(t testing.TB, q Question) (*Answer, string) {
	t.Helper()
	deadline := time.Now().Add(settings.Patience())
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		before, got := o.Upstream.ask(t, q), o.Facade.ask(t, q)
		diff := o.diff(q, before, got)
		if diff == "" {
			return before, tooOld(q, before, got)
		}
		after := o.Upstream.ask(t, q)
		if o.diff(q, after, got) == "" {
			return after, ""
		}
		if aged, between := withAges(before, got, after); between && o.diff(q, before, aged) == "" {
			return before, tooOld(q, before, got)
		}
		moving := q.reads().mayBeOld() || isBetween(before, got, after) || Diff(q, before, after) != ""
		if !moving || time.Now().After(deadline) {
			return before, diff
		}
		<-tick.C
	}
}

// isBetween reports whether the version of the facade's list is between the upstream's versions. Such a list may
// contain an object that neither of the upstream's lists has.
func isBetween(before, got, after *Answer) bool {
	version := got.listVersion()
	return before.listVersion() < version && version < after.listVersion()
}

func (o *Oracle) diff(q Question, want, got *Answer) string {
	diff := Diff(q, want, got)
	if diff != "" && o.Excused != nil && o.Excused(q, want, got) {
		return ""
	}
	return diff
}

// MustAsk is Ask that fails the test if there is no answer. The answer may have any code.
func (a *Asker) MustAsk(t testing.TB, q Question) *Answer {
	t.Helper()
	return a.ask(t, q)
}

func (a *Asker) ask(t testing.TB, q Question) *Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settings.Patience())
	defer cancel()
	answer, err := a.Ask(ctx, q)
	if err != nil {
		t.Fatalf("%s: %s: %v", a.base, q, err)
	}
	return answer
}

// tooOld describes a list whose resourceVersion is too low, which masking would hide. It returns an empty string for
// any other answer. The limit is the requested version or, for the most recent state, the version of the upstream's
// earlier answer.
func tooOld(q Question, before, got *Answer) string {
	if !q.reads().list { // a Table of one object has that object's version
		return ""
	}
	floor := q.reads().floor
	if q.reads().kind == mostRecent {
		floor = before.listVersion()
	}
	if version := got.listVersion(); version > 0 && version < floor {
		return fmt.Sprintf("resourceVersion: facade %d, below %d", version, floor)
	}
	return ""
}

// listVersion returns the resourceVersion of a list, or 0 if the answer is not a list.
func (a *Answer) listVersion() uint64 {
	if isListEnvelope(a.Body) {
		version, _ := strconv.ParseUint(string(partOf(a.Body, inListMeta(a.Body, listRV))), 10, 64) // 0 if there is none
		return version
	}
	rv, _, ok := listVersion(a.Body)
	if !ok {
		return 0
	}
	version, _ := strconv.ParseUint(string(a.Body[rv.from:rv.to]), 10, 64) // the expression matches digits only
	return version
}

// Diff returns the differences of two answers after masking, or an empty string.
func Diff(q Question, want, got *Answer) string {
	want, got = asked().answers(q, want, got)
	var b strings.Builder
	if want.Code != got.Code {
		fmt.Fprintf(&b, "code: upstream %d, facade %d\n", want.Code, got.Code)
	}
	if diff := cmp.Diff(maskHeader(want.Header), maskHeader(got.Header)); diff != "" {
		fmt.Fprintf(&b, "header (-upstream +facade):\n%s", diff)
	}
	if bytes.Equal(want.Body, got.Body) {
		return b.String()
	}
	wantBody, gotBody := maskBody(want.Body), maskBody(got.Body)
	if q.reads().masksVersion() {
		wantBody, gotBody = maskList(wantBody), maskList(gotBody)
	}
	if !bytes.Equal(wantBody, gotBody) {
		fmt.Fprintf(&b, "body:\n%s", around(wantBody, gotBody))
	}
	return b.String()
}

func around(want, got []byte) string {
	want, got = readable(want, got)
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	cut := func(body []byte) []byte { return body[max(0, min(at-120, len(body))):min(len(body), at+200)] }
	return fmt.Sprintf("  differ at byte %d (lengths %d and %d)\n  upstream ...%s...\n  facade   ...%s...\n", at,
		len(want), len(got), cut(want), cut(got))
}
