package main

import (
	"bytes"
	"compress/gzip"
	"hash/maphash"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/bench/internal/proc"
)

// digested returns the digest of a body that a server sends over HTTP/1.1.
func digested(t *testing.T, body string, compressed bool) digest {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := []byte(body)
		if compressed {
			w.Header().Set("Content-Encoding", "gzip")
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(text)
			_ = z.Close()
			text = b.Bytes()
		}
		_, _ = w.Write(text)
	}))
	defer web.Close()
	s, err := newServer("some", proc.Process(1), &rest.Config{Host: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.digest(t.Context(), question{path: "/", encoding: "gzip", protocol: http1}, digestSeed)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var digestSeed = maphash.MakeSeed()

// Only the list's own version and token may differ. The list is longer than digestHead.
func TestDigestIgnoresOnlyVersionAndToken(t *testing.T) {
	list := func(version, token, last string) string {
		return `{"kind":"PodList","metadata":{"resourceVersion":"` + version + `","continue":"` + token + `"},"items":[` +
			strings.Repeat(`{"metadata":{"name":"a"}},`, 10_000) + `{"metadata":{"name":"` + last + `"}}]}`
	}
	want := digested(t, list("5", "x", "z"), false)
	if want.size != int64(len(list("5", "x", "z"))) {
		t.Errorf("got a size of %d bytes", want.size)
	}
	for name, test := range map[string]struct {
		body       string
		compressed bool
		same       bool
	}{
		"the same":            {list("5", "x", "z"), false, true},
		"another version":     {list("6", "yy", "z"), false, true},
		"another last object": {list("5", "x", "y"), false, false},
		"another kind":        {strings.Replace(list("5", "x", "z"), "PodList", "PadList", 1), false, false},
		"another encoding":    {list("5", "x", "z"), true, false},
		"a truncated list":    {list("5", "x", "z")[:200_000], false, false},
		"an empty object":     {`{}`, false, false},
	} {
		if difference := want.differs(digested(t, test.body, test.compressed)); (difference == "") != test.same {
			t.Errorf("%s: %q", name, difference)
		}
	}
	one, other := digested(t, list("5", "x", "z"), true), digested(t, list("6", "y", "z"), true)
	if difference := one.differs(other); difference != "" || one.items != want.items {
		t.Errorf("compressed: %s", difference)
	}
}
