package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/testkit"
)

const apis = testkit.Ask("/apis")

// tagged answers with a body and its ETag, or with 304.
func tagged(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Etag", `"`+body+`"`)
		if request.Header.Get("If-None-Match") == `"`+body+`"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte(body))
	}
}

func getDocument(t *testing.T, d *Documents, header http.Header) string {
	t.Helper()
	document, err := d.Get(t.Context(), wants("/apis", header))
	if err != nil {
		t.Fatal(err)
	}
	return string(document.Body)
}

// wants returns a caller's request for a document.
func wants(path string, header http.Header) DocumentRequest {
	return DocumentRequest{Caller: limit.Alone("alice"), Path: path, Header: header}
}

func TestDocumentsAreRevalidated(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		r.Script(apis, tagged("one"))
		for range 10 {
			if got := getDocument(t, d, nil); got != "one" {
				t.Errorf("got %q", got)
			}
		}
		if n := r.Asked(apis); n != 1 {
			t.Errorf("got %d requests within a second, want one", n)
		}
		elapse(documentFresh)
		if got := getDocument(t, d, nil); got != "one" {
			t.Errorf("after a 304: %q", got)
		}
		if all := r.Requests(apis); len(all) != 2 || all[1].Header.Get("If-None-Match") != `"one"` {
			t.Errorf("got a request without the document's ETag")
		}
		getDocument(t, d, nil)
		if n := r.Asked(apis); n != 2 {
			t.Error("a 304 does not make the document fresh")
		}
		r.Script(apis, tagged("two"))
		elapse(documentFresh)
		if got := getDocument(t, d, nil); got != "two" {
			t.Errorf("after a change: %q", got)
		}
	})
}

func TestDocumentsShareRequests(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		r.Script(apis, func(w http.ResponseWriter, request *http.Request) {
			<-time.After(time.Second)
			tagged("one")(w, request)
		})
		var wait sync.WaitGroup
		for range 100 {
			wait.Go(func() {
				if got := getDocument(t, d, nil); got != "one" {
					t.Errorf("got %q", got)
				}
			})
		}
		wait.Wait()
		if n := r.Asked(apis); n != 1 {
			t.Errorf("got %d requests, want one", n)
		}
	})
}

// The upstream receives the headers that a response depends on, and no other header of the client.
func TestDocumentsVary(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		r.Script(apis, func(w http.ResponseWriter, request *http.Request) {
			_, _ = fmt.Fprint(w, request.Header.Get("Accept"), " ", request.Header.Get("Accept-Encoding"), " ", request.URL.RawQuery, " ",
				request.Header.Get("User-Agent"), request.Header.Get("Authorization"), request.Header.Get("X-Remote-User"))
		})
		for _, c := range []struct {
			name, value, want string
		}{
			{"Accept", "application/json", "application/json   listfacade"}, {"Accept", "application/yaml", "application/yaml   listfacade"},
			{"Accept-Encoding", "gzip", "application/json gzip  listfacade"}, {"User-Agent", "curl/8", "application/json  pretty=true listfacade"},
			{"Accept", "application/cbor", "application/cbor   listfacade"}, {"Accept", "application/x", mediaForeign + "   listfacade"}, {"Accept-Encoding", "br;q=0.1, GZIP", "application/json gzip;q=1  listfacade"},
		} {
			header := http.Header{"Authorization": {"secret"}, "X-Remote-User": {"admin"}, c.name: {c.value}}
			if got := getDocument(t, d, header); got != c.want {
				t.Errorf("with %s %s: got %q, want %q", c.name, c.value, got, c.want)
			}
		}
	})
}

// However many headers a client invents, a document is requested in few representations. Requests with an uncertain
// Accept header are limited per client, and do not limit other clients.
func TestInventedHeadersCostFewRequests(t *testing.T) {
	for name, c := range map[string]struct {
		header func(i int) http.Header
		asked  int
	}{
		"agents":         {func(i int) http.Header { return http.Header{"User-Agent": {fmt.Sprint("agent", i, "/1")}} }, 1},
		"browsers":       {func(i int) http.Header { return http.Header{"User-Agent": {fmt.Sprint("Mozilla/5.0 (", i)}} }, 1},
		"weights":        {func(i int) http.Header { return http.Header{"Accept": {fmt.Sprint("application/json;q=0.", i)}} }, 1},
		"texts":          {func(i int) http.Header { return http.Header{"Accept": {fmt.Sprint("text/", i, ",*/*")}} }, 1},
		"codings":        {func(i int) http.Header { return http.Header{"Accept-Encoding": {fmt.Sprint("x", i)}} }, 1},
		"weights of one": {func(i int) http.Header { return http.Header{"Accept-Encoding": {fmt.Sprintf("gzip;q=0.%03d", i+1)}} }, 1},
		"media types":    {func(i int) http.Header { return http.Header{"Accept": {fmt.Sprint("application/", i, ",*/*")}} }, 1},
		"parameters":     {func(i int) http.Header { return http.Header{"Accept": {fmt.Sprint("application/json;x=", i)}} }, 1},
		"other objects":  {func(i int) http.Header { return http.Header{"Accept": {fmt.Sprint("application/json;as=", i, ",*/*")}} }, 1},
		"odd types":      {func(i int) http.Header { return http.Header{"Accept": {fmt.Sprint("application/cbor;x=", i)}} }, 20},
		"odd codings":    {func(i int) http.Header { return http.Header{"Accept-Encoding": {fmt.Sprint("gzip;x=", i)}} }, 1},
		"odd discovery": {func(i int) http.Header {
			return http.Header{"Accept": {fmt.Sprint("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=", i)}}
		}, 20},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				d := NewDocuments(r.client)
				r.Script(apis, tagged("one"))
				for i := range 320 {
					_, err := d.Get(t.Context(), wants("/apis", c.header(i)))
					var tooMany *TooManyDocumentsError
					if refused := errors.As(err, &tooMany); err != nil && !refused || refused && (tooMany.After <= 0 || i < c.asked) {
						t.Fatalf("the %dth: %v", i, err)
					}
				}
				if n := r.Asked(apis); n != c.asked {
					t.Errorf("got %d requests to the upstream, want %d", n, c.asked)
				}
				other := wants("/apis", c.header(1000))
				other.Caller = limit.Alone("bob")
				if _, err := d.Get(t.Context(), other); err != nil {
					t.Errorf("another caller: %v", err)
				}
			})
		})
	}
}

// A caller above its rate of odd representations receives a stored one of any age.
func TestOddDocumentIsServedFromStore(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		odd := func(i int) DocumentRequest {
			return wants("/apis", http.Header{"Accept": {fmt.Sprint("application/cbor;x=", i)}})
		}
		d := NewDocuments(r.client)
		r.Script(apis, tagged("one"))
		if _, err := d.Get(t.Context(), odd(0)); err != nil {
			t.Fatal(err)
		}
		elapse(documentFresh)
		for i := range 40 {
			_, _ = d.Get(t.Context(), odd(1+i))
		}
		asked := r.Asked(apis)
		document, err := d.Get(t.Context(), odd(0))
		if err != nil || string(document.Body) != "one" {
			t.Errorf("got %v, want the stored document", err)
		}
		if n := r.Asked(apis) - asked; n != 0 {
			t.Errorf("got %d requests to the upstream, want none", n)
		}
	})
}

func TestDocumentsOfAnUpstreamThatIsDown(t *testing.T) {
	for name, down := range map[string]func(*rig){
		"refuses connections": func(r *rig) { r.SetOffline(true) },
		"says nothing":        func(r *rig) { r.Script(apis, func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }) },
		"breaks off":          func(r *rig) { r.Script(apis, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				d := NewDocuments(r.client)
				r.Script(apis, tagged("one"))
				getDocument(t, d, nil)
				down(r)
				elapse(time.Hour)
				began := time.Now()
				if got := getDocument(t, d, nil); got != "one" {
					t.Errorf("got %q", got)
				}
				if took := time.Since(began); took > documentPatience {
					t.Errorf("read took %s", took)
				}
				began = time.Now()
				for range 10 {
					getDocument(t, d, nil)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("second read took %s", took)
				}
				_, err := d.Get(t.Context(), wants("/never/seen", nil))
				if name == "refuses connections" && !IsUnreachable(err) {
					t.Errorf("got %v for a document that was never read", err)
				}
				r.SetOffline(false)
				r.Script(apis, tagged("two"))
				elapse(time.Minute)
				if got := getDocument(t, d, nil); got != "two" {
					t.Errorf("after the upstream came back: %q", got)
				}
			})
		})
	}
}

// Only 200 responses are stored.
func TestDocumentsKeepNoErrors(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		r.Script(apis, testkit.Refuse(http.StatusServiceUnavailable, "ServiceUnavailable"))
		document, err := d.Get(t.Context(), wants("/apis", nil))
		if err != nil || document.Code != http.StatusServiceUnavailable {
			t.Fatalf("got %+v, %v", document, err)
		}
		r.Script(apis, tagged("one"))
		if got := getDocument(t, d, nil); got != "one" {
			t.Errorf("got %q", got)
		}
	})
}

// However many and small documents are, the store is bounded and keeps those in use.
func TestDocumentsAreBounded(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		d.kept = newDocumentStore(100 * documentOverhead)
		r.Script(apis, tagged("one"))
		for i := range 300 {
			r.Script(testkit.Ask(fmt.Sprint("/openapi/v3/", i)), text("{}"))
		}
		for i := range 300 {
			getDocument(t, d, nil)
			if _, err := d.Get(t.Context(), wants(fmt.Sprint("/openapi/v3/", i), nil)); err != nil {
				t.Fatal(err)
			}
			if d.kept.bytes > d.kept.budget || d.kept.byUse.Len() > 100 {
				t.Fatalf("got %d stored documents, counted as %d bytes", d.kept.byUse.Len(), d.kept.bytes)
			}
		}
		if n := r.Asked(apis); n != 1 {
			t.Errorf("got %d requests for a document in use, want one", n)
		}
	})
}

// A document that is stored again is counted once, and an evicted one is not counted.
func TestDocumentStore(t *testing.T) {
	s := newDocumentStore(10 * documentOverhead)
	for i := range 20 {
		key := string(rune('a' + i%4))
		s.put(key, &Document{Body: make([]byte, i*documentOverhead)})
		sum := 0
		for _, key := range []string{"a", "b", "c", "d"} {
			if document := s.get(key); document != nil {
				sum += document.size(key)
			}
		}
		if sum != s.bytes || sum > s.budget {
			t.Errorf("got %d stored bytes, but %d counted", sum, s.bytes)
		}
		if kept := s.get(key) != nil; kept != (i < 9) {
			t.Errorf("document of %d bytes is stored: %t", i*documentOverhead, kept)
		}
	}
}

// A document that is too large to store is read at most once a minute.
func TestOversizeDocuments(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		body := io.MultiReader(strings.NewReader("{"), &zeros{left: documentLimit})
		var oversize *OversizeError
		if _, err := d.readBody(body, "/apis"); !errors.As(err, &oversize) || oversize.Limit != documentLimit {
			t.Errorf("got %v for a document one byte over the limit", err)
		}
		if !d.reading.TryAcquire(readingBudget) {
			t.Fatal("reading budget was not released")
		}
		r.Script(apis, tagged("one"))
		if _, err := d.Get(t.Context(), wants("/apis", nil)); !errors.As(err, &oversize) {
			t.Errorf("got %v without a reading budget", err)
		}
		d.reading.Release(readingBudget)
		if got := getDocument(t, d, nil); got != "one" {
			t.Errorf("got %q with a reading budget again", got)
		}
		d.kept.put(d.document(wants("/apis", nil)).key, &Document{oversize: true, read: time.Now()})
		before := r.Asked(apis)
		if _, err := d.Get(t.Context(), wants("/apis", nil)); !errors.As(err, &oversize) || r.Asked(apis) != before {
			t.Errorf("got %v for a document known to be too large", err)
		}
		elapse(oversizeFresh)
		if got := getDocument(t, d, nil); got != "one" {
			t.Errorf("a minute later: %q", got)
		}
	})
}

// zeros are so many bytes.
type zeros struct{ left int }

func (z *zeros) Read(p []byte) (int, error) {
	n := min(len(p), z.left)
	if z.left -= n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Only parameters that a response depends on make another document.
func TestDocumentQuery(t *testing.T) {
	const schema = testkit.Ask("/openapi/v3/api/v1")
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		r.Script(schema, tagged("one"))
		for _, c := range []struct {
			ask   testkit.Ask
			query url.Values
			asked int // in total
			sent  string
		}{
			{apis, nil, 1, ""},
			{apis, url.Values{"x": {"1"}, "hash": {"one"}, "timeout": {"5s"}}, 1, ""},
			{apis, url.Values{"pretty": {""}}, 1, ""},
			{apis, url.Values{"pretty": {"1"}}, 2, "pretty=true"},
			{apis, url.Values{"pretty": {"true", "false"}, "x": {"2"}}, 2, "pretty=true"},
			{apis, url.Values{"pretty": {"0"}}, 2, "pretty=true"},
			{apis, url.Values{"pretty": {"junk"}}, 2, "pretty=true"},
			{schema, url.Values{"pretty": {"1"}}, 1, ""},
			{schema, url.Values{"hash": {"one"}, "x": {"1"}}, 2, "hash=one"},
			{schema, url.Values{"hash": {"one"}}, 2, "hash=one"},
			{schema, url.Values{"hash": {"two"}}, 3, "hash=two"}, // answered with another hash, so not stored
			{schema, url.Values{"hash": {"two"}}, 4, "hash=two"},
		} {
			if _, err := d.Get(t.Context(), DocumentRequest{Path: string(c.ask), Query: c.query}); err != nil {
				t.Error(err)
			}
			all := r.Requests(c.ask)
			if last := all[len(all)-1].URL.RawQuery; len(all) != c.asked || last != c.sent {
				t.Errorf("%v: got %d requests, the last for %q", c.query, len(all), last)
			}
		}
	})
}
