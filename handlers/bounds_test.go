package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// inSet is a label selector with the given number of values.
func inSet(values int) string {
	all := make([]string, values)
	for i := range all {
		all[i] = fmt.Sprint("v", i)
	}
	return "a in (" + strings.Join(all, ",") + ")"
}

// Requests above a limit are refused before authentication, and requests just below it are served.
func TestBoundsOfRequests(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		for name, c := range map[string]struct {
			query string
			code  int
			says  string
		}{
			"a URL of maximum length":             {"x=" + strings.Repeat("x", maxURL-len(reads[0])-3), 200, ""},
			"a longer one":                        {"x=" + strings.Repeat("x", maxURL-len(reads[0])-2), 414, "longer than 65536 bytes"},
			"the maximum number of parameters":    {strings.Repeat("x=1&", maxParameters-2) + "x=1", 200, ""},
			"one more":                            {strings.Repeat("x=1&", maxParameters-1) + "x=1", 400, "more than 100 query parameters"},
			"more than net/url reads":             {strings.Repeat("&", 10_001), 400, "more than 100 query parameters"},
			"more by semicolons":                  {strings.Repeat("x=1;", maxParameters) + "&x=1", 200, ""},
			"a long selector":                     {"labelSelector=" + url.QueryEscape("a="+strings.Repeat(" ", maxSelector-3)+"b"), 200, ""},
			"a longer one of labels":              {"labelSelector=" + url.QueryEscape("a="+strings.Repeat(" ", maxSelector-2)+"b"), 400, "labelSelector is longer than 16384 bytes"},
			"a longer one of shards":              {"shardSelector=" + strings.Repeat("x", maxSelector+1), 400, "shardSelector is longer than 16384 bytes"},
			"a longer one of fields":              {"fieldSelector=" + strings.Repeat("x", maxSelector+1), 400, "fieldSelector is longer than 16384 bytes"},
			"one behind another":                  {"labelSelector=a&labelSelector=" + strings.Repeat("x", maxSelector+1), 400, "labelSelector is longer"},
			"many requirements":                   {"labelSelector=a" + strings.Repeat(",a", maxRequirements-1), 200, ""},
			"too many":                            {"labelSelector=a" + strings.Repeat(",a", maxRequirements), 400, "more than 256 requirements"},
			"too many of fields":                  {"fieldSelector=metadata.name%3Da" + strings.Repeat(",metadata.name%3Da", maxRequirements), 400, "more than 256 requirements"},
			"many values":                         {"labelSelector=" + url.QueryEscape(inSet(maxValues)), 200, ""},
			"too many values":                     {"labelSelector=" + url.QueryEscape(inSet(maxValues+1)), 400, "or 1000 values"},
			"a long selector that does not parse": {"labelSelector=" + strings.Repeat(",%3D", 1000), 400, "found ',', expected"},
		} {
			response, body := f.get(t, reads[0]+"&"+c.query)
			if response.StatusCode != c.code || !strings.Contains(body, c.says) {
				t.Errorf("%s: got %d %.300s", name, response.StatusCode, body)
			}
			if c.code != 200 && !strings.Contains(body, `"kind":"Status"`) {
				t.Errorf("%s: %.300s", name, body)
			}
		}
	})
}

// A connection stays with HTTP, except for a watch over a websocket. None of these requests reaches the upstream.
func TestUpgradesAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		for _, path := range []string{
			"/api/v1/configmaps", "/api/v1/configmaps?watch=1", "/api/v1/namespaces/ns/configmaps/a", "/api/v1/namespaces/ns/pods/a/log", "/apis", "/openapi/v2", "/nowhere",
			"/api/v1/namespaces/ns/pods/a/exec", "/api/v1/namespaces/ns/pods/a/attach", "/api/v1/namespaces/ns/pods/a/portforward",
			"/api/v1/namespaces/ns/pods/a/proxy", "/api/v1/nodes/n/proxy/run", "/api/v1/proxy/nodes/n",
		} {
			for _, upgrade := range []string{"websocket", "SPDY/3.1", "h2c", "websocket, h2c", "tls/1.3"} {
				if upgrade == "websocket" && strings.Contains(path, "watch") {
					continue
				}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Header = http.Header{"Connection": {"Upgrade, HTTP2-Settings"}, "Upgrade": {upgrade}, "Http2-Settings": {"AAMAAABkAAQAoAAAAAIAAAAA"}}
				response, err := f.client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				want := http.StatusBadRequest
				if strings.Contains(path, "pods/a/") && !strings.Contains(path, "log") || strings.Contains(path, "proxy") {
					want = http.StatusMethodNotAllowed
				}
				if response.StatusCode != want {
					t.Errorf("%s to %s: got %d, want %d", path, upgrade, response.StatusCode, want)
				}
			}
			if n := f.Asked(testkit.Ask(path)); n != 0 {
				t.Errorf("%s: got a request to the upstream, want none", path)
			}
		}
	})
}
