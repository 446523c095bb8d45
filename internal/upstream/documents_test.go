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
	document, err := d.Get(t.Context(), "/apis", nil, header)
	if err != nil {
		t.Fatal(err)
	}
	return string(document.Body)
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
			t.Errorf("asked %d times within a second", n)
		}
		elapse(documentFresh)
		if got := getDocument(t, d, nil); got != "one" {
			t.Errorf("after a 304: %q", got)
		}
		if all := r.Requests(apis); len(all) != 2 || all[1].Header.Get("If-None-Match") != `"one"` {
			t.Errorf("the document was not asked for by its ETag")
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
			t.Errorf("asked %d times", n)
		}
	})
}

// The answer depends on these headers, and on no other.
func TestDocumentsVary(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		r.Script(apis, func(w http.ResponseWriter, request *http.Request) {
			_, _ = fmt.Fprint(w, request.Header.Get("Accept"), request.Header.Get("Accept-Encoding"), request.Header.Get("User-Agent"),
				request.Header.Get("Authorization"), request.Header.Get("X-Remote-User"))
		})
		for _, header := range []http.Header{
			{"Accept": {"application/json"}}, {"Accept": {"application/yaml"}}, {"Accept-Encoding": {"gzip"}}, {"User-Agent": {"curl/8"}},
		} {
			header.Set("Authorization", "secret")
			header.Set("X-Remote-User", "admin")
			want := header.Get("Accept") + header.Get("Accept-Encoding") + header.Get("User-Agent")
			got := getDocument(t, d, header)
			if header.Get("User-Agent") == "" && len(got) > len(want) {
				got = got[:len(want)] // net/http names itself
			}
			if got != want {
				t.Errorf("with %v: %q", header, got)
			}
		}
		if n := r.Asked(apis); n != 4 {
			t.Errorf("asked %d times", n)
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
					t.Errorf("it took %s", took)
				}
				began = time.Now()
				for range 10 {
					getDocument(t, d, nil)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("and %s again right afterwards", took)
				}
				_, err := d.Get(t.Context(), "/never/seen", nil, nil)
				if name == "refuses connections" && !IsUnreachable(err) {
					t.Errorf("a document that was never read: %v", err)
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

// Only what the upstream called good is kept.
func TestDocumentsKeepNoErrors(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		r.Script(apis, testkit.Refuse(http.StatusServiceUnavailable, "ServiceUnavailable"))
		document, err := d.Get(t.Context(), "/apis", nil, nil)
		if err != nil || document.Code != http.StatusServiceUnavailable {
			t.Fatalf("%+v, %v", document, err)
		}
		r.Script(apis, tagged("one"))
		if got := getDocument(t, d, nil); got != "one" {
			t.Errorf("got %q", got)
		}
	})
}

// However small documents are and however many, what is kept is bounded, and what is in use is kept.
func TestDocumentsAreBounded(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		d.kept = newDocumentStore(100 * documentOverhead)
		r.Script(apis, tagged("one"))
		r.Script("/version", text("{}"))
		for i := range 300 {
			getDocument(t, d, nil)
			if _, err := d.Get(t.Context(), "/version", nil, http.Header{"Accept": {fmt.Sprint("application/json;q=", i)}}); err != nil {
				t.Fatal(err)
			}
			if d.kept.bytes > d.kept.budget || d.kept.byUse.Len() > 100 {
				t.Fatalf("%d documents are kept, counted as %d bytes", d.kept.byUse.Len(), d.kept.bytes)
			}
		}
		if n := r.Asked(apis); n != 1 {
			t.Errorf("what is in use was asked for %d times", n)
		}
	})
}

// What is kept again is counted once, and what is forgotten not at all.
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
			t.Errorf("%d bytes are kept, %d are counted", sum, s.bytes)
		}
		if kept := s.get(key) != nil; kept != (i < 9) {
			t.Errorf("a document of %d bytes is kept: %t", i*documentOverhead, kept)
		}
	}
}

// What is too large to keep is nobody's to read twice a minute.
func TestOversizeDocuments(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		body := io.MultiReader(strings.NewReader("{"), &zeros{left: documentLimit})
		var oversize *OversizeError
		if _, err := d.readBody(body, "/apis"); !errors.As(err, &oversize) || oversize.Limit != documentLimit {
			t.Errorf("a byte too much: %v", err)
		}
		if !d.reading.TryAcquire(readingBudget) {
			t.Fatal("room is taken that nobody uses")
		}
		r.Script(apis, tagged("one"))
		if _, err := d.Get(t.Context(), "/apis", nil, nil); !errors.As(err, &oversize) {
			t.Errorf("without room to read it: %v", err)
		}
		d.reading.Release(readingBudget)
		if got := getDocument(t, d, nil); got != "one" {
			t.Errorf("with room again: %q", got)
		}
		d.kept.put(documentKey("/apis", nil, nil), &Document{oversize: true, read: time.Now()})
		before := r.Asked(apis)
		if _, err := d.Get(t.Context(), "/apis", nil, nil); !errors.As(err, &oversize) || r.Asked(apis) != before {
			t.Errorf("known to be too large: %v", err)
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

// Only what an answer depends on makes it another one.
func TestDocumentQuery(t *testing.T) {
	const schema = testkit.Ask("/openapi/v3/api/v1")
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		r.Script(schema, tagged("one"))
		for _, c := range []struct {
			ask   testkit.Ask
			query url.Values
			asked int // in all
			sent  string
		}{
			{apis, nil, 1, ""},
			{apis, url.Values{"x": {"1"}, "hash": {"one"}, "timeout": {"5s"}}, 1, ""},
			{apis, url.Values{"pretty": {""}}, 1, ""},
			{apis, url.Values{"pretty": {"1"}}, 2, "pretty=true"},
			{apis, url.Values{"pretty": {"true", "false"}, "x": {"2"}}, 2, "pretty=true"},
			{apis, url.Values{"pretty": {"0"}}, 3, "pretty=false"},
			{apis, url.Values{"pretty": {"junk"}}, 3, "pretty=false"},
			{schema, nil, 1, ""},
			{schema, url.Values{"hash": {"one"}, "x": {"1"}}, 2, "hash=one"},
			{schema, url.Values{"hash": {"one"}}, 2, "hash=one"},
			{schema, url.Values{"hash": {"two"}}, 3, "hash=two"}, // answered, but not by what has this hash: not kept
			{schema, url.Values{"hash": {"two"}}, 4, "hash=two"},
		} {
			if _, err := d.Get(t.Context(), string(c.ask), c.query, nil); err != nil {
				t.Error(err)
			}
			all := r.Requests(c.ask)
			if last := all[len(all)-1].URL.RawQuery; len(all) != c.asked || last != c.sent {
				t.Errorf("%v: asked %d times, at last for %q", c.query, len(all), last)
			}
		}
	})
}
