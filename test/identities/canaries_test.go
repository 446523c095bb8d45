package identities

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// ask sends a request with a new client, and returns code and body.
func ask(t *testing.T, config *rest.Config, method, path, body string, header http.Header) (int, string) {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, config.Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// Neither logs nor metrics contain credentials or contents of objects, for every result of a request and at every log
// level.
func TestCredentialsAndObjectsAreNotLogged(t *testing.T) {
	w := newWorld(t)
	p := startProcess(t, w, "--log-level", "debug")
	robot := w.token(t)
	const canary = "canary-of-a-credential"
	asked := map[string]int{}
	none := p.facade.ConfigOf(&rest.Config{})
	for _, path := range []string{
		suite.Collection(suite.ConfigMaps, suite.FirstNamespace), "/api/v1/namespaces/oracle/secrets", "/api/v1/nodes", "/api/v1/namespaces/oracle/pods?limit=abc",
		"/apis/no.such/v1/things", "/metrics", "/healthz", "/api/v1/namespaces/../pods",
	} {
		for name, header := range map[string]http.Header{
			"a good token":       {"Authorization": {"Bearer " + robot}},
			"a bad one":          {"Authorization": {"Bearer " + canary}},
			"a password":         {"Authorization": {"Basic " + canary}},
			"a protocol's token": {"Sec-Websocket-Protocol": {"base64url.bearer.authorization.k8s.io." + canary}},
			"a cookie":           {"Cookie": {"session=" + canary}, "Proxy-Authorization": {canary}},
		} {
			code, _ := ask(t, none, http.MethodGet, path, "", header)
			asked[fmt.Sprint(name, " ", code)]++
		}
	}
	review := fmt.Sprintf(`{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","metadata":{"annotations":{"a":%q}}}`, canary)
	ask(t, none, http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", review,
		http.Header{"Authorization": {"Bearer " + robot}, "Content-Type": {"application/json"}})
	if asked["a good token 200"] == 0 || asked["a bad one 401"] == 0 {
		t.Fatalf("got answers %v, want 200 for the good token and 401 for the bad one", asked)
	}
	_, metrics := ask(t, p.facade.ConfigOf(w.identities["admin"].config), http.MethodGet, "/metrics", "", nil)
	said := p.end(t)
	if !strings.Contains(said, "Answered request") {
		t.Fatal("the log has no line about requests")
	}
	for name, secret := range map[string]string{"a credential": canary, "a token": robot, "an object": inFirst} {
		if at := strings.Index(said, secret); at >= 0 {
			t.Errorf("the log contains %s: %s", name, said[max(at-200, 0):min(at+200, len(said))])
		}
		if strings.Contains(metrics, secret) {
			t.Errorf("the metrics contain %s", name)
		}
	}
}

// series counts the metric series with names of listfacade or kube-apiserver, without histogram buckets.
func series(metrics string) (n int) {
	for line := range strings.Lines(metrics) {
		own := strings.HasPrefix(line, "listfacade_") || strings.HasPrefix(line, "apiserver_")
		if own && !strings.Contains(line, "_bucket{") {
			n++
		}
	}
	return n
}

// Names that clients invent create no metric series.
func TestInventedNamesCreateNoMetricSeries(t *testing.T) {
	w, f := newFacade(t)
	admin := f.ConfigOf(w.identities["admin"].config)
	client, err := rest.HTTPClientFor(admin)
	if err != nil {
		t.Fatal(err)
	}
	const canary = "madeup"
	flood := func(from, to int) {
		var asking sync.WaitGroup
		turns := make(chan struct{}, 8)
		for i := from; i < to; i++ {
			turns <- struct{}{}
			asking.Go(func() {
				defer func() { <-turns }()
				name := fmt.Sprint(canary, i)
				path := []string{
					"/api/v1/" + name, "/apis/" + name + "/v1/" + name, "/api/v1/namespaces/" + name + "/configmaps", "/api/v1/namespaces/a/configmaps/" + name,
					"/" + name, "/api/v1/namespaces/a/pods/b/" + name, "/api/v1/configmaps?fieldSelector=" + name, "/healthz/" + name,
				}[i%8]
				method := []string{http.MethodGet, http.MethodHead, http.MethodPost, strings.ToUpper(name)}[i/8%4]
				r, err := http.NewRequestWithContext(t.Context(), method, admin.Host+path, bytes.NewReader(nil))
				if err != nil {
					t.Error(err)
					return
				}
				r.Header.Set("User-Agent", name)
				response, err := client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			})
		}
		asking.Wait()
	}
	flood(0, 200)
	_, before := ask(t, admin, http.MethodGet, "/metrics", "", nil)
	flood(200, 2000)
	_, after := ask(t, admin, http.MethodGet, "/metrics", "", nil)
	if strings.Contains(after, canary) {
		t.Error("an invented name is the value of a label")
	}
	if grown := series(after) - series(before); grown > 40 || series(before) == 0 { // new codes
		t.Errorf("got %d series before and %d after, want at most 40 more", series(before), series(after))
	}
}
