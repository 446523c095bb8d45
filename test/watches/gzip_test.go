package watches

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A streaming list is compressed if the client accepts gzip, with one gzip member per flush. Other watches are not
// (semantics 6.6).
func TestWatchGzip(t *testing.T) {
	s := suite.NewFixture(t, suite.Cluster(t))
	o := s.Oracle(t, suite.StartFacade(t, suite.Cluster(t)))
	path := suite.Collection(suite.ConfigMaps, s.Namespace) + "?watch=1&labelSelector=t%3Da"
	suite.Reach(t, o, path[:len(path)-len("?watch=1&labelSelector=t%3Da")], s.Put(t, suite.ConfigMaps, "a", "t=a", "1"))
	asks := http.Header{"Accept-Encoding": {"gzip"}, "Accept": {suite.AcceptJSON}}
	for _, asker := range []*testkit.Asker{o.Upstream, o.Facade} {
		members := openMembers(t, asker, testkit.Question{Path: path + "&allowWatchBookmarks=true", Header: asks})
		var initial []byte
		for !bytes.Contains(initial, []byte("initial-events-end")) {
			initial = append(initial, members.next(t)...)
		}
		if got := bytes.Count(initial, []byte("\n")); got != 2 {
			t.Errorf("got %d frames up to the end of the initial events, want 2: %s", got, initial)
		}
		s.Put(t, suite.ConfigMaps, "a", "t=a", "2")
		if live := members.next(t); !bytes.HasPrefix(live, []byte(`{"type":"MODIFIED"`)) || bytes.Count(live, []byte("\n")) != 1 {
			t.Errorf("want one gzip member with one event, got %s", live)
		}
		s.Put(t, suite.ConfigMaps, "a", "t=a", "1")
	}
	for _, query := range []string{"", "&resourceVersion=1&allowWatchBookmarks=true", "&allowWatchBookmarks=true&resourceVersion=0"} {
		var headers [2]http.Header
		for i, asker := range []*testkit.Asker{o.Upstream, o.Facade} {
			response, err := asker.Open(t.Context(), testkit.Question{Path: path + query + "&timeoutSeconds=1", Header: asks})
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			headers[i] = http.Header{"Content-Encoding": response.Header["Content-Encoding"], "Vary": response.Header["Vary"]}
		}
		if diff := cmp.Diff(headers[0], headers[1]); diff != "" {
			t.Errorf("%q (-upstream +facade):\n%s", query, diff)
		}
	}
}

// members reads a stream of gzip members one by one.
type members struct {
	body *bufio.Reader
	gzip *gzip.Reader
}

func openMembers(t *testing.T, a *testkit.Asker, q testkit.Question) *members {
	t.Helper()
	response, err := a.Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.Header.Get("Content-Encoding") != "gzip" || response.Header.Get("Vary") != "Accept-Encoding" {
		t.Fatalf("%s: not compressed: %v", q, response.Header)
	}
	return &members{body: bufio.NewReader(response.Body)}
}

// next waits for a complete member, and returns its content.
func (m *members) next(t *testing.T) []byte {
	t.Helper()
	var err error
	if m.gzip == nil {
		m.gzip, err = gzip.NewReader(m.body)
	} else {
		err = m.gzip.Reset(m.body)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.gzip.Multistream(false)
	content, err := io.ReadAll(m.gzip)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return content
}
