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
	tls    *tls.Config // of connections beside the client's

	// Seen is told of every answer that was read, from the goroutine that asked; nil: nobody is.
	Seen func(Question, *Answer)
}

// NewAsker makes an asker of the server that the configuration names. Nothing is added to what a question says: no
// compression, no redirect followed.
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

// Oracle asks kube-apiserver and the facade the same question.
type Oracle struct {
	Upstream, Facade *Asker
	// Excused tells a difference that depends on who asks and that docs/divergences.md has a line for; nil: none.
	Excused func(q Question, want, got *Answer) bool
	// Counts tells how many requests of the facade a source has answered; nil: its metrics are asked.
	Counts func(source string) int
}

// Compare asks both and reports every difference that no mask explains. It returns the upstream's answer.
func (o *Oracle) Compare(t testing.TB, q Question) *Answer {
	t.Helper()
	answer, diff := o.Difference(t, q)
	if diff != "" {
		t.Errorf("%s\n%s", q, diff)
	}
	return answer
}

// Difference asks both and returns the upstream's answer, and every difference that no mask explains.
//
// The cluster lives: nodes renew leases, a Table's ages go on. So the upstream is asked before and after the facade;
// the facade has to agree with one of the two, but for ages, which may lie between theirs. It may try again only if the
// upstream contradicts itself, if the facade's list is of a version between the two, or if the question allows an old
// answer.
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

// isBetween tells of a list that is of another moment than both of the upstream's: what came and went may be in it.
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

// MustAsk is Ask for a test that cannot go on without an answer, of whatever code.
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

// tooOld tells what masking hides: a list's resourceVersion below what was asked for, or, when the most recent state
// was asked for, below what the upstream said before.
func tooOld(q Question, before, got *Answer) string {
	if !q.reads().list { // a Table of one object has the object's version
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

// listVersion is the resourceVersion of a list; 0 when the answer is none.
func (a *Answer) listVersion() uint64 {
	if isListEnvelope(a.Body) {
		version, _ := strconv.ParseUint(string(partOf(a.Body, inListMeta(a.Body, listRV))), 10, 64) // 0 if there is none
		return version
	}
	rv, _, ok := listVersion(a.Body)
	if !ok {
		return 0
	}
	version, _ := strconv.ParseUint(string(a.Body[rv.from:rv.to]), 10, 64) // digits, by the expression
	return version
}

// Diff compares two answers to a question after masking; it is empty when they are the same.
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

// around shows where two bodies part.
func around(want, got []byte) string {
	want, got = readable(want, got)
	at := 0
	for at < len(want) && at < len(got) && want[at] == got[at] {
		at++
	}
	cut := func(body []byte) []byte { return body[max(0, min(at-120, len(body))):min(len(body), at+200)] }
	return fmt.Sprintf("  differ at byte %d (lengths %d and %d)\n  upstream ...%s...\n  facade   ...%s...\n", at, len(want), len(got), cut(want), cut(got))
}
