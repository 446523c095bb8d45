package split

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func fileOf(t *testing.T, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// withoutFacades starts a proxy whose only facade has ended.
func withoutFacades(t *testing.T, api *fake, changes ...func(*Options)) *running {
	t.Helper()
	facade := startFake(t, nil)
	facade.end()
	return start(t, api, []*fake{facade}, changes...)
}

// Without a facade, kube-apiserver gives small answers. Reads with large ones get 429 with Retry-After, which clients
// respect. Writes are not affected.
func TestWithoutFacadeSmallReadsFallBack(t *testing.T) {
	api := startFake(t, says("from kube-apiserver"))
	run := withoutFacades(t, api)
	for _, line := range []string{"GET /api/v1/nodes/a", "GET /api/v1/pods?limit=500", "GET /apis", "PUT /api/v1/nodes/a"} {
		if answer, body := run.do(t, line); answer.StatusCode != http.StatusOK || body != "from kube-apiserver" {
			t.Errorf("%s: got %d %s", line, answer.StatusCode, body)
		}
	}
	for _, line := range []string{"GET /api/v1/pods", "GET /api/v1/pods?watch=true", "GET /api/v1/pods?limit=500&resourceVersion=0"} {
		answer, body := run.do(t, line)
		pause, err := strconv.Atoi(answer.Header.Get("Retry-After"))
		if answer.StatusCode != http.StatusTooManyRequests || err != nil || pause < minPause || pause > maxPause ||
			!strings.Contains(body, `"reason":"TooManyRequests"`) || !strings.Contains(body, textLarge) {
			t.Errorf("%s: got %d, Retry-After %d: %s", line, answer.StatusCode, pause, body)
		}
	}
	if got, want := run.counts(t, "refused"), `refused_requests_total{reason="large"} 3`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := run.counts(t, "fallback"), `fallback_requests_total{kind="request"} 3`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// When a facade is back, it answers again.
func TestFacadeIsUsedAgain(t *testing.T) {
	api, facade := startFake(t, nil), startFake(t, says("from a facade"))
	run := start(t, api, []*fake{facade})
	run.facades.all[0].ready.Store(false)
	eventually(t, "the facade answers", func() bool {
		_, body := run.do(t, "GET /version")
		return body == "from a facade"
	})
}

// Watches at kube-apiserver are bounded, end by themselves, and keep a shorter lifetime of their client.
func TestFallbackWatchesAreBounded(t *testing.T) {
	lines := make(chan string)
	api := startFake(t, events(lines))
	t.Cleanup(func() { close(lines) })
	run := withoutFacades(t, api, func(o *Options) { o.FallbackWatches, o.FallbackReads = 8, 0 })
	const watch = "GET /api/v1/pods?watch=true&resourceVersion=5"
	run.open(t, watch)
	lifetime, err := strconv.Atoi(api.last(t).URL.Query().Get("timeoutSeconds"))
	if least := int(fallbackWatch.Seconds()); err != nil || lifetime < least || lifetime >= 2*least {
		t.Errorf("got timeoutSeconds %d, want %d to %d", lifetime, least, 2*least)
	}
	if got := api.last(t).URL.Query().Get("resourceVersion"); got != "5" {
		t.Errorf("got resourceVersion %s, want 5", got)
	}
	run.open(t, watch+"&timeoutSeconds=7")
	if got := api.last(t).URL.Query().Get("timeoutSeconds"); got != "7" {
		t.Errorf("got timeoutSeconds %s, want 7", got)
	}
	answer, body := run.do(t, watch) // one source has a quarter
	if answer.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, textBusy) {
		t.Errorf("got %d %s", answer.StatusCode, body)
	}
	if answer, _ := run.do(t, "GET /api/v1/nodes/a"); answer.StatusCode != http.StatusTooManyRequests {
		t.Errorf("--fallback-requests=0: got %d", answer.StatusCode)
	}
}

// One source address uses at most half of the reads, so another source finds a free one. A waiting read continues when
// another has ended.
func TestFallbackReadsAreShared(t *testing.T) {
	f := newFallback(4, 0)
	from := func(address, token string) *http.Request {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/nodes/a", nil)
		r.RemoteAddr = address
		r.Header.Set("Authorization", token)
		return r
	}
	small := Decision{Small: true}
	_, leaveFirst, ok := f.enter(from("10.0.0.1:1", "a"), small)
	_, leaveSecond, also := f.enter(from("10.0.0.1:2", "b"), small)
	if !ok || !also {
		t.Fatal("got no read of an idle fallback")
	}
	waited := make(chan func())
	go func() {
		_, leave, _ := f.enter(from("10.0.0.1:3", "c"), small)
		waited <- leave
	}()
	_, leave, ok := f.enter(from("10.0.0.2:1", "a"), small)
	if !ok {
		t.Fatal("another source must find a free read")
	}
	leave()
	leaveFirst()
	(<-waited)()
	leaveSecond()
	if _, _, ok := f.enter(from("10.0.0.1:1", "a"), Decision{Small: true, Watch: true}); ok {
		t.Error("got a watch, want none")
	}
}

// No name of a token contains the token.
func TestTokenNames(t *testing.T) {
	a, b := tokenOf(&http.Request{Header: http.Header{"Authorization": {"Bearer a"}}}), tokenOf(&http.Request{Header: http.Header{}})
	if a == b || strings.Contains(a, "Bearer") || len(a) != 16 {
		t.Errorf("got %q and %q", a, b)
	}
}

// A client's own query is not changed otherwise.
func TestLifetimeKeepsQuery(t *testing.T) {
	u, err := url.Parse("/api/v1/pods?watch=true&labelSelector=a%3Db&resourceVersion=5&timeoutSeconds=99999")
	if err != nil {
		t.Fatal(err)
	}
	r := &http.Request{URL: u}
	got := withLifetime(r).URL.Query()
	got.Set("timeoutSeconds", "99999")
	if got.Encode() != u.Query().Encode() || !strings.Contains(u.RawQuery, "99999") {
		t.Errorf("got %v, and %s in the original", got, u.RawQuery)
	}
}

// The metrics are served at their own address, and the proxy's port forwards /metrics like any other path.
func TestMetricsHaveTheirOwnAddress(t *testing.T) {
	run := start(t, startFake(t, says("kube-apiserver's metrics")), []*fake{startFake(t, nil)})
	if _, body := run.do(t, "GET /metrics"); body != "kube-apiserver's metrics" {
		t.Errorf("got %s", body)
	}
	if got := run.counts(t, "target_ready"); strings.Count(got, "} 1") != 2 {
		t.Errorf("got %s, want two ready targets", got)
	}
	run.options.MetricsAddress = "127.0.0.1:0"
	listener, err := run.listenMetrics()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- run.serveMetrics(t.Context(), listener) }()
	answer, err := http.Get("http://" + listener.Addr().String() + "/metrics") //nolint:noctx // ends with the server
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(body), "listfacade_split_requests_total") {
		t.Errorf("got %v %s", err, body)
	}
}
