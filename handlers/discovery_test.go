package handlers

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
)

// says responds with JSON.
func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// Documents of aggregated API servers are forwarded each time. Those of the upstream itself are cached.
func TestDocumentsOfAggregatedAPIsAreForwarded(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Script("/apis", says(`{"kind":"APIGroupList","apiVersion":"v1","groups":[`+
			`{"name":"own.io","versions":[{"groupVersion":"own.io/v1","version":"v1"}]},`+
			`{"name":"other.io","versions":[{"groupVersion":"other.io/v1","version":"v1"}]}]}`))
		f.Script("/apis/apiregistration.k8s.io/v1/apiservices", says(`{"kind":"APIServiceList","apiVersion":"apiregistration.k8s.io/v1",`+
			`"items":[{"spec":{"group":"own.io","version":"v1"}},{"spec":{"group":"other.io","version":"v1","service":{"name":"s"}}}]}`))
		for _, gv := range []string{"own.io/v1", "other.io/v1"} {
			f.Script(testkit.Ask("/apis/"+gv), says(`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"`+gv+`","resources":[]}`))
			f.Script(testkit.Ask("/apis/"+gv+"/"), says(`{}`))
			f.Script(testkit.Ask("/openapi/v3/apis/"+gv), says(`{}`))
		}
		f.Script("/apis/other.io", says(`{}`))
		f.Script("/openapi/v3/api/v1", says(`{}`))
		f.get(t, reads[0]) // discovers
		for path, kept := range map[string]bool{
			"/apis": true, "/apis/own.io/v1": true, "/apis/own.io/v1/": true, "/openapi/v3/apis/own.io/v1": true, "/openapi/v3/api/v1": true,
			"/api/v1": true, "/apis/other.io": true,
			"/apis/other.io/v1": false, "/apis/other.io/v1/": false, "/openapi/v3/apis/other.io/v1": false,
		} {
			before, want := f.Asked(testkit.Ask(path)), 1
			source := observe.FromCache
			if !kept {
				want, source = 3, observe.FromUpstream
			}
			for range 3 {
				if response, body := f.get(t, path); response.StatusCode != http.StatusOK {
					t.Errorf("%s: got %s %s", path, response.Status, body)
				}
				if got := f.events.last().Source; got != source {
					t.Errorf("%s: got a response from %s", path, got)
				}
			}
			if n := f.Asked(testkit.Ask(path)) - before; n != want {
				t.Errorf("%s: got %d requests", path, n)
			}
		}
	})
}

// A caller that requests too many documents is refused in the words of priority and fairness: no storage is the reason.
func TestTooManyDocumentsAreRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Script("/api/v1", says(`{}`))
		for i := range 21 { // the burst of documents with unusual headers is 20
			response, body, err := f.tryFor(t, "/api/v1", fmt.Sprintf("application/cbor;q=0.%d,application/json", i+1))
			code, text := http.StatusOK, "{}"
			if i == 20 {
				code, text = http.StatusTooManyRequests, `"Too many requests, please try again later."`
			}
			if err != nil || response.StatusCode != code || !strings.Contains(body, text) {
				t.Errorf("request %d: got %v %v %q, want %d with %q", i, err, response, body, code, text)
			}
		}
	})
}
