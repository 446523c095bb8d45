package split

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Reads reach a facade and all other requests kube-apiserver, with the same URL and the caller's headers.
func TestRequestsReachTheirTargetUnchanged(t *testing.T) {
	api, facade := startFake(t, says("from kube-apiserver")), startFake(t, says("from a facade"))
	run := start(t, api, []*fake{facade})
	reads := []string{"GET /api/v1/namespaces/a/pods?labelSelector=a%3Db&limit=5", "GET /version", "GET /apis/apps/v1/deployments"}
	others := []string{
		"POST /api/v1/namespaces/a/pods?dryRun=All", "GET /api/v1/namespaces/a/secrets/b%2Dc", "DELETE /api/v1/nodes/a", "GET /metrics",
		"PATCH /api/v1/nodes/a/status", "GET /api/v1/namespaces/a/pods/b/log",
	}
	for _, line := range slices.Concat(reads, others) {
		answer, body := run.do(t, line, "Authorization: Bearer secret", "X-Forwarded-For: 10.0.0.1", "User-Agent: kubectl", "Audit-Id: one")
		want, target := "from kube-apiserver", api
		if slices.Contains(reads, line) {
			want, target = "from a facade", facade
		}
		if body != want || answer.ProtoMajor != 2 {
			t.Errorf("%s: got %q by HTTP/%d, want %q", line, body, answer.ProtoMajor, want)
		}
		received := target.last(t)
		if isRead := strings.HasPrefix(line, "GET "); isRead != (received.ProtoMajor == 2) {
			t.Errorf("%s: the target received HTTP/%d", line, received.ProtoMajor)
		}
		want = "Bearer secret|10.0.0.1, 127.0.0.1|kubectl|one|"
		if got := headersOf(received, "Authorization", "X-Forwarded-For", "User-Agent", "Audit-Id", "Accept-Encoding"); got != want {
			t.Errorf("%s: got headers %s, want %s", line, got, want)
		}
	}
	if diff := cmp.Diff(reads, facade.lines()); diff != "" {
		t.Errorf("the facade (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(others, api.lines()); diff != "" {
		t.Errorf("kube-apiserver (-want +got):\n%s", diff)
	}
}

func headersOf(r *http.Request, names ...string) string {
	var values []string
	for _, name := range names {
		values = append(values, r.Header.Get(name))
	}
	return strings.Join(values, "|")
}

// A client receives each event when the target sends it.
func TestEventsAreNotDelayed(t *testing.T) {
	lines := make(chan string)
	run := start(t, startFake(t, nil), []*fake{startFake(t, events(lines))})
	answer := run.open(t, "GET /api/v1/pods?watch=true")
	received := bufio.NewScanner(answer.Body)
	received.Buffer(nil, 1<<20)
	for _, line := range []string{"one", strings.Repeat("long", 10_000), "three"} {
		lines <- line
		if got := nextLine(t, received); got != line {
			t.Errorf("got %d bytes, want %d", len(got), len(line))
		}
	}
	close(lines)
	if received.Scan() || received.Err() != nil {
		t.Errorf("got %q, %v, want the end", received.Text(), received.Err())
	}
}

// A client that does not read its answer delays no other client of the same facade.
func TestSlowReaderDelaysNoOther(t *testing.T) {
	facade := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/nodes" {
			_, _ = w.Write(make([]byte, 16<<20))
		}
	})
	run := start(t, startFake(t, nil), []*fake{facade})
	slow := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true} //nolint:gosec // the test's own server
	t.Cleanup(slow.CloseIdleConnections)
	answer, err := (&http.Client{Transport: slow}).Get(run.url + "/api/v1/nodes")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for range 20 {
		run.do(t, "GET /api/v1/pods")
	}
}

// A read is sent to the next facade if one facade cannot be reached.
func TestReadsTryEachFacade(t *testing.T) {
	gone, good := startFake(t, nil), startFake(t, says("good"))
	run := start(t, startFake(t, nil), []*fake{gone, good})
	gone.end()
	eventually(t, "the proxy finds that the facade has gone", func() bool {
		answer, body := run.do(t, "GET /api/v1/pods")
		// A request may be sent before the end of its connection is known.
		if body != "good" && answer.Header.Get("Retry-After") != "1" {
			t.Errorf("got %d %s", answer.StatusCode, body)
		}
		return !run.facades.all[0].ready.Load()
	})
	for range 4 {
		if answer, body := run.do(t, "GET /api/v1/pods"); answer.StatusCode != http.StatusOK || body != "good" {
			t.Errorf("got %d %s", answer.StatusCode, body)
		}
	}
	if run.counts(t, "target_failures_total") == "" || run.logs.FilterMessage("Request to target failed").Len() == 0 {
		t.Errorf("failures were not counted and logged: %v", run.logs.All())
	}
}

// A read that a facade has received is not sent to the next one, which it could crash, too. Its client may repeat it.
// The facade remains ready, because a client could provoke such failures.
func TestReceivedReadsAreNotRepeated(t *testing.T) {
	fails := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	first, second, api := startFake(t, fails), startFake(t, fails), startFake(t, nil)
	run := start(t, api, []*fake{first, second})
	answer, body := run.do(t, "GET /api/v1/nodes/a")
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "1" || !strings.Contains(body, "facade") {
		t.Errorf("got %d, Retry-After %q: %s", answer.StatusCode, answer.Header.Get("Retry-After"), body)
	}
	if got := len(first.lines()) + len(second.lines()) + len(api.lines()); got != 1 {
		t.Errorf("targets received %d requests, want 1", got)
	}
	for _, target := range run.servers() {
		if !target.ready.Load() {
			t.Errorf("%s is not ready", target.base)
		}
	}
}

// A facade becomes unready with the second failed check in a row, and ready with the first good one.
func TestOneFailedCheckIsNotEnough(t *testing.T) {
	run := start(t, startFake(t, nil), []*fake{startFake(t, nil)})
	run.stop()
	if err := <-run.ended; err != nil { // no other checks follow
		t.Fatal(err)
	}
	s, failed := run.facades.all[0], errors.New("failed")
	for i, check := range []struct {
		err  error
		want bool
	}{{failed, true}, {nil, true}, {failed, true}, {failed, false}, {failed, false}, {nil, true}} {
		s.note(check.err)
		if got := s.ready.Load(); got != check.want {
			t.Errorf("check %d: got ready %t, want %t", i, got, check.want)
		}
	}
	if got := run.logs.FilterMessage("Target is not ready").Len(); got != 1 {
		t.Errorf("got %d lines, want 1", got)
	}
}

// The address of a Service can lead to a replica that has just ended, with all attempts to open one connection. A
// further one leads to another replica.
func TestUnsentReadIsSentAgain(t *testing.T) {
	facade := startFake(t, says("from a facade"))
	run := start(t, startFake(t, nil), []*fake{facade})
	d := run.facades.all[0].many.RoundTripper.(*multiplexed).dialer
	connect, refused := d.connect, 0
	d.connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		if refused < mostAttempts {
			refused++
			return nil, errRefused
		}
		return connect(ctx, network, address)
	}
	if answer, body := run.do(t, "GET /api/v1/pods"); body != "from a facade" {
		t.Errorf("got %d %s", answer.StatusCode, body)
	}
	if !run.facades.all[0].ready.Load() {
		t.Error("the facade is not ready")
	}
}

// A watch that cannot begin gets 429 instead of 503, so that informers open it again and send no list.
func TestWatchesWaitForTheirServer(t *testing.T) {
	fails := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	run := start(t, startFake(t, fails), []*fake{startFake(t, fails)})
	for line, want := range map[string]int{
		"GET /api/v1/pods?watch=1&resourceVersion=7": http.StatusTooManyRequests, "GET /api/v1/pods": http.StatusServiceUnavailable,
		"GET /api/v1/secrets?watch=1&resourceVersion=7": http.StatusTooManyRequests, "GET /api/v1/secrets": http.StatusServiceUnavailable,
	} {
		if answer, body := run.do(t, line); answer.StatusCode != want || answer.Header.Get("Retry-After") != "1" {
			t.Errorf("%s: got %d, Retry-After %q: %s", line, answer.StatusCode, answer.Header.Get("Retry-After"), body)
		}
	}
}

// A write that may have been executed is not repeated, neither by the proxy nor, because no Retry-After asks for it, by
// its client.
func TestWritesAreNotRepeated(t *testing.T) {
	api := startFake(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	run := start(t, api, []*fake{startFake(t, nil)})
	answer, body := run.do(t, "POST /api/v1/namespaces/a/pods")
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "" || !strings.Contains(body, textLost) {
		t.Errorf("got %d, Retry-After %q: %s", answer.StatusCode, answer.Header.Get("Retry-After"), body)
	}
	if got := api.lines(); len(got) != 1 {
		t.Errorf("kube-apiserver received %q", got)
	}
	api.end()
	answer, _ = run.do(t, "POST /api/v1/namespaces/a/pods")
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "1" {
		t.Errorf("without a connection: got %d, Retry-After %q", answer.StatusCode, answer.Header.Get("Retry-After"))
	}
}

// kube-apiserver ends an HTTP/2 connection when a request on it has a wrong token. No write of another client is lost.
func TestWrongTokensEndNoWrites(t *testing.T) {
	api := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Connection", "close") // with HTTP/2: GOAWAY
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.Copy(w, r.Body)
	})
	run := start(t, api, []*fake{startFake(t, nil)})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			run.do(t, "GET /api/v1/secrets", "Authorization: Bearer wrong")
		}
	}()
	for range 200 {
		answer, err := run.client.Post(run.url+"/api/v1/pods", "application/json", strings.NewReader("{}")) //nolint:noctx // ends with the server
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || string(body) != "{}" {
			t.Fatalf("got %d %s, %v", answer.StatusCode, body, err)
		}
	}
	<-done
}

// A client certificate cannot be passed on, so its owner receives an explanation, unless the request has a token.
func TestClientCertificateIsRefused(t *testing.T) {
	api, facade := startFake(t, nil), startFake(t, nil)
	run := start(t, api, []*fake{facade})
	pair := testkit.NewAuthority(t, "ca").Certify(t, testkit.Certificate{User: "amy"})
	loaded, err := tls.X509KeyPair(pair.CertData, pair.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	run.client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{loaded}
	run.client.CloseIdleConnections()
	for line, headers := range map[string][]string{
		"GET /api/v1/pods": nil, "POST /api/v1/pods": {"X-Remote-User: amy"}, "GET /version": {"Authorization: "},
	} {
		answer, body := run.do(t, line, headers...)
		if answer.StatusCode != http.StatusUnauthorized || !strings.Contains(body, textCertificate) || !strings.Contains(body, `"kind":"Status"`) {
			t.Errorf("%s: got %d %s", line, answer.StatusCode, body)
		}
	}
	if answer, _ := run.do(t, "GET /readyz"); answer.StatusCode != http.StatusOK {
		t.Errorf("health: got %d", answer.StatusCode)
	}
	if answer, _ := run.do(t, "GET /api/v1/pods", "Authorization: Bearer secret"); answer.StatusCode != http.StatusOK {
		t.Errorf("with a token: got %d", answer.StatusCode)
	}
	if got := len(api.lines()) + len(facade.lines()); got != 1 {
		t.Errorf("targets received %d requests, want 1", got)
	}
}

// A proxy whose target leads back to itself detects it.
func TestLoopIsDetected(t *testing.T) {
	var run *running
	api := startFake(t, func(w http.ResponseWriter, r *http.Request) { // another hop to the same proxy
		again, err := http.NewRequestWithContext(r.Context(), r.Method, run.url+r.URL.Path, nil)
		if err != nil {
			panic(err)
		}
		again.Header = r.Header
		answer, err := run.client.Do(again)
		if err != nil {
			panic(err)
		}
		defer answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
	})
	run = start(t, api, []*fake{startFake(t, nil)})
	answer, body := run.do(t, "DELETE /api/v1/nodes/a")
	if answer.StatusCode != http.StatusLoopDetected || !strings.Contains(body, textLoop) || len(api.lines()) != 1 {
		t.Errorf("got %d after %q: %s", answer.StatusCode, api.lines(), body)
	}
}

// Options that cannot work are refused before anything is served, by the name of the flag.
func TestWrongOptionsAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"--kube-apiserver is required":                func(o *Options) { o.KubeAPIServer = "" },
		"--facade is required":                        func(o *Options) { o.Facades = nil },
		`--kube-apiserver: "http://a" must be a URL`:  func(o *Options) { o.KubeAPIServer = "http://a" },
		`--facade: "a:443" must be a URL`:             func(o *Options) { o.Facades = []string{"a:443"} },
		`--facade "https://a/b" must not have a path`: func(o *Options) { o.Facades = []string{"https://a/b"} },
		"--fallback-requests and --fallback-watches":  func(o *Options) { o.FallbackReads = -1 },
		"--facade: " + "open ":                        func(o *Options) { o.FacadeCAFile = "missing" },
		"contains no certificate in PEM":              func(o *Options) { o.FacadeCAFile = fileOf(t, []byte("none")) },
		"--rules: open ":                              func(o *Options) { o.RulesFile = "missing" },
		"gets: value must be": func(o *Options) {
			o.RulesFile = fileOf(t, []byte("{apiVersion: config.listfacade/v1alpha1, kind: SplitRules, gets: x}"))
		},
		"--log-format": func(o *Options) { o.Serving.LogFormat = "xml" },
		"--tls-cert-file and --tls-private-key-file": func(o *Options) { o.Serving.CertFile = "a" },
	} {
		o := DefaultOptions()
		o.KubeAPIServer, o.Facades, o.Serving.CertDir = "https://a", []string{"https://b"}, t.TempDir()
		change(&o)
		if _, err := New(o, zap.NewNop()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
