package upstream

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
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

// However small documents are and however many, what is kept is bounded.
func TestDocumentsAreBounded(t *testing.T) {
	d := NewDocuments(nil)
	small := &Document{Body: []byte("{}")}
	most := 0
	for i := range documentBudget/documentOverhead + 1000 {
		d.keep(fmt.Sprintf("/version?%d", i), small)
		most = max(most, len(d.kept))
	}
	if most > documentBudget/documentOverhead {
		t.Errorf("%d documents were kept", most)
	}
	large := &Document{Body: make([]byte, documentBudget/2)}
	for i := range 5 {
		d.keep(fmt.Sprint("/large", i), large)
		d.keep(fmt.Sprint("/large", i), large) // again: counted once
	}
	sum := 0
	for key, document := range d.kept {
		sum += document.size(key)
	}
	if sum != d.bytes || sum > documentBudget {
		t.Errorf("%d bytes are kept, %d are counted", sum, d.bytes)
	}
}

func TestDocumentQuery(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d := NewDocuments(r.client)
		for _, query := range []url.Values{{"a": {"1"}}, {"a": {"2"}}, nil} {
			if _, err := d.Get(t.Context(), "/apis", query, nil); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if n := r.Asked(apis); n != 3 {
			t.Errorf("asked %d times", n)
		}
	})
}
