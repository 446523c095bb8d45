package abuse

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/facade"
)

// An oversized request is refused before a review is sent, and the facade caches nothing about it.
func TestOversizedRequestsAreRefusedBeforeReview(t *testing.T) {
	s := newSite(t, func(c *facade.Config) { c.Authorization.AllowedTTL = time.Hour })
	v := s.reader(t, "wordy")
	list := func(n int, one string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(one, i)
		}
		return strings.Join(all, "%2C")
	}
	selector := s.configMaps() + "?labelSelector="
	paths := map[string]struct {
		path string
		code int
	}{
		"a URL of 70 KiB":            {s.configMaps() + "?x=" + strings.Repeat("x", 70<<10), http.StatusRequestURITooLong},
		"a selector of 20 KiB":       {selector + strings.Repeat("x", 20<<10), http.StatusBadRequest},
		"5000 values":                {selector + "a+in+(" + list(5000, "%d") + ")", http.StatusBadRequest},
		"values in 16 KiB":           {selector + "a+in+(" + list(2500, "%d") + ")", http.StatusBadRequest},
		"300 requirements":           {selector + list(300, "a%d"), http.StatusBadRequest},
		"300 requirements of fields": {s.configMaps() + "?fieldSelector=" + list(300, "metadata.name!%%3Da%d"), http.StatusBadRequest},
		"200 parameters":             {s.configMaps() + "?" + strings.Repeat("a=b&", 200), http.StatusBadRequest},
	}
	reviews, decisions := s.reviews(t, "request"), s.decisions(t)
	asked := 0
	for range 5 {
		for what, c := range paths {
			if got := v.get(t, c.path); got.code != c.code {
				t.Errorf("%s: %d, want %d: %.200s", what, got.code, c.code, got.body)
			}
		}
	}
	for range 5 {
		if code := v.header(t, 1100<<10); code != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a header of 1.1 MiB: %d", code)
		}
		if code := v.header(t, 60<<10); code != http.StatusOK {
			t.Errorf("a header of 60 KiB: %d", code)
		}
		asked++
	}
	// Reviews of other requests of this test are cached: of the metrics, and of the list with the long header.
	if got := s.reviews(t, "request"); got > reviews+1 {
		t.Errorf("got %v reviews, want at most 1", got-reviews)
	}
	if got := s.decisions(t) - decisions; got > float64(asked+4) {
		t.Errorf("%v requests reached authorization, want only the valid ones", got)
	}
}

// decisions returns the number of requests that reached authorization.
func (s *site) decisions(t *testing.T) float64 {
	t.Helper()
	return s.sum(t, "listfacade_authorization_decisions_total")
}

// header sends a request with a header of that size. It uses HTTP/1.1, because an HTTP/2 client sees the limit in the
// server's settings.
func (v *visitor) header(t *testing.T, size int) int {
	t.Helper()
	conn := v.dial(t, "http/1.1")
	defer func() { _ = conn.Close() }() // the facade may have closed it
	go func() {
		// It fails when the facade answers before it has read the headers.
		_, _ = fmt.Fprintf(conn, "GET /api/v1 HTTP/1.1\r\nHost: facade\r\nConnection: close\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", size))
	}()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}
