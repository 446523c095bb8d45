package handlers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// A path that is not canonical does not reach the upstream, which would answer it with a secret here. Its cleaned form
// does not reach the upstream either.
func TestNonCanonicalPathsAreNotForwarded(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		stolen := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("stolen")) }
		for path, want := range map[string]string{
			"/api/v1/namespaces/ns/configmaps/a//b":               "the server could not find the requested resource",
			"/api/v1/namespaces/ns/configmaps/..%2fsecrets":       "the server could not find the requested resource",
			"/api/v1/namespaces/ns/configmaps/%2e%2e":             `Name parameter invalid: \"..\": may not be '..'`,
			"/api/v1/namespaces/../configmaps":                    `invalid key: \"/configmaps/..\"`,
			"/api/v1/namespaces/ns/pods/a/../../secrets":          "the server could not find the requested resource",
			"/openapi/v3/../../api/v1/namespaces/ns/secrets":      "",
			"/version/../api/v1/namespaces/ns/secrets":            "the server could not find the requested resource",
			"/foo/%2e%2E/api/v1/namespaces/ns/secrets":            "404 page not found",
			"//api/v1/namespaces/ns/secrets":                      "404 page not found",
			"/%2e/api/v1/namespaces/ns/secrets":                   "404 page not found",
			"/apis/nope.io/../../api/v1/namespaces/ns/secrets":    "404 page not found",
			"/api/v1/watch/namespaces/ns/configmaps/..?pretty=%2": "", // a watch without events
		} {
			for _, asked := range []testkit.Ask{"/api/v1/namespaces/ns/secrets", "/api/v1/secrets", testkit.Ask(path)} {
				f.Script(asked, stolen)
			}
			_, body := f.get(t, path+map[bool]string{true: "&timeoutSeconds=1"}[strings.Contains(path, "?")])
			if !strings.Contains(body, want) || want == "" && body != "" || strings.Contains(body, "stolen") {
				t.Errorf("%s: got %q", path, body)
			}
		}
	})
}

// A path that is not canonical, but that kube-apiserver accepts, is forwarded as its canonical path.
func TestNonCanonicalPathsAreForwardedInCanonicalForm(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		for path, want := range map[string]testkit.Ask{
			"/api/v1/namespaces//configmaps":             testkit.AskList, // of all namespaces
			"/api/v1/namespaces/ns/configmaps/a%2f":      "/api/v1/namespaces/ns/configmaps/a/",
			"/api/v1/namespaces/ns/configmaps/a///":      "/api/v1/namespaces/ns/configmaps/a/",
			"/api/v1/n%61mespaces/ns/config%6daps/%61":   "/api/v1/namespaces/ns/configmaps/a",
			"/api/v1/namespaces/ns/configmaps/%2525%20a": "/api/v1/namespaces/ns/configmaps/%25 a",
		} {
			before := f.Asked(want)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header = http.Header{"Accept": {passedThrough}}
			response, err := f.client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			asked := f.Requests(want)
			if len(asked) != before+1 {
				t.Fatalf("%s: got %d, and %s requested %d times", path, response.StatusCode, want, len(asked)-before)
			}
			if got := asked[before].URL; !isCanonical(got.Path) || strings.Contains(got.EscapedPath(), "%2f") {
				t.Errorf("%s: got a request for %s", path, got)
			}
		}
	})
}
