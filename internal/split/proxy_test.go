package split

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/upstream"
)

// repeating is a transport whose answers repeat the path of the request.
type repeating struct{}

// RoundTrip implements http.RoundTripper.
func (repeating) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(strings.Repeat(r.URL.Path, 1000)))}, nil
}

// keeping is a writer that fails and, as HTTP/2 may, still reads what it was given.
type keeping struct {
	http.ResponseWriter
	given [][]byte
}

func (k *keeping) Write(p []byte) (int, error) {
	k.given = append(k.given, p)
	return 0, errors.New("the stream was reset")
}

// A buffer that the writer of a failed answer may still read is not used for another caller's answer.
func TestBuffersOfFailedAnswersAreNotReused(t *testing.T) {
	target := &url.URL{Scheme: "http", Host: "facade"}
	f := newForwarder(repeating{}, func(p *httputil.ProxyRequest) { p.SetURL(target) }, upstream.Hop{}, log.New(io.Discard, "", 0))
	get := func(w http.ResponseWriter, path string, watch bool) {
		f.serve(w, httptest.NewRequest(http.MethodGet, path, nil), watch, func(http.ResponseWriter, *exchange, error) {})
	}
	for _, watch := range []bool{false, true} {
		for range 20 { // a pool may drop a buffer
			failed := &keeping{ResponseWriter: httptest.NewRecorder()}
			get(failed, "/first", watch)
			if len(failed.given) != 1 {
				t.Fatalf("got %d writes, want 1", len(failed.given))
			}
			before := bytes.Clone(failed.given[0])
			other := httptest.NewRecorder()
			get(other, "/other", watch)
			if got := other.Body.String(); got != strings.Repeat("/other", 1000) {
				t.Fatalf("got %d bytes, want the complete answer", len(got))
			}
			if !bytes.Equal(failed.given[0], before) {
				t.Fatal("another answer changed the buffer of a failed one")
			}
		}
	}
}

// The key of a write does not make Go's transport repeat it. kube-apiserver receives the key.
func TestWritesWithAnIdempotencyKeyAreNotRepeated(t *testing.T) {
	api := startFake(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lost" {
			panic(http.ErrAbortHandler)
		}
	})
	run := start(t, api, []*fake{startFake(t, nil)})
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		before := len(api.lines())
		for _, line := range []string{"POST /first", "POST /lost"} { // Go repeats requests on a used connection only
			run.do(t, line, name+": a")
		}
		if got := api.lines()[before:]; len(got) != 2 {
			t.Errorf("kube-apiserver received %q, want each request once", got)
		}
		if got := api.last(t); got.Header.Get(name) != "a" || got.ContentLength != 0 {
			t.Errorf("got %s %q and length %d, want the key and no body", name, got.Header.Get(name), got.ContentLength)
		}
	}
}
