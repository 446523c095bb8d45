package split

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// stranger returns a file with an authority that has signed no server's certificate.
func stranger(t *testing.T) string {
	t.Helper()
	return fileOf(t, testkit.NewAuthority(t, "stranger").CertData())
}

// A facade whose certificate does not verify is not used. The log says what to do, and writes still work.
func TestUnverifiedFacadeIsExplained(t *testing.T) {
	api, facade := startFake(t, says("written")), startFake(t, nil)
	run := start(t, api, []*fake{facade}, func(o *Options) { o.FacadeCAFile = stranger(t) })
	if _, body := run.do(t, "POST /api/v1/pods"); body != "written" {
		t.Errorf("got %s", body)
	}
	if answer, body := run.do(t, "GET /readyz?verbose"); answer.StatusCode != http.StatusOK || !strings.Contains(body, "[-]facade-1 failed") {
		t.Errorf("got %d %s", answer.StatusCode, body)
	}
	lines := run.logs.FilterMessage("Target is not ready").All()
	const want = "the file of --facade-ca-file must contain the authority of the server's certificate, and the certificate must name 127.0.0.1"
	if len(lines) != 1 || !strings.Contains(lines[0].ContextMap()["error"].(string), want) {
		t.Errorf("got %v, want %s", lines, want)
	}
}

// A client whose request needs a server that the proxy does not trust receives an error at once, and no Retry-After.
// The error names the option. kube-apiserver still answers small reads for a facade.
func TestClientsReceiveErrorsOfUnverifiedServers(t *testing.T) {
	api, facade := startFake(t, says("small")), startFake(t, nil)
	withoutFacade := start(t, api, []*fake{facade}, func(o *Options) { o.FacadeCAFile = stranger(t) })
	for _, line := range []string{"GET /api/v1/pods", "GET /api/v1/pods?watch=true"} {
		withoutFacade.refuses(t, line, "--facade-ca-file")
	}
	if _, body := withoutFacade.do(t, "GET /api/v1/nodes/a"); body != "small" {
		t.Errorf("got %s, want kube-apiserver's answer", body)
	}
	withoutServer := start(t, api, []*fake{facade}, func(o *Options) { o.KubeAPIServerCAFile = stranger(t) })
	for _, line := range []string{"POST /api/v1/pods", "GET /api/v1/secrets", "GET /api/v1/secrets?watch=true&resourceVersion=1"} {
		withoutServer.refuses(t, line, "--kube-apiserver-ca-file")
	}
}

func (r *running) refuses(t *testing.T, line, option string) {
	t.Helper()
	answer, body := r.do(t, line)
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "" || !strings.Contains(body, option) {
		t.Errorf("%s: got %d, Retry-After %q: %s", line, answer.StatusCode, answer.Header.Get("Retry-After"), body)
	}
}

// If one of several facades is not trusted, the others decide whether clients must wait.
func TestOneUnverifiedFacadeIsNotExplained(t *testing.T) {
	gone, facade := startFake(t, nil), startFake(t, nil)
	gone.end()
	run := start(t, startFake(t, nil), []*fake{gone, facade}, func(o *Options) { o.FacadeCAFile = stranger(t) })
	if answer, body := run.do(t, "GET /api/v1/pods"); answer.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, textLarge) {
		t.Errorf("got %d %s", answer.StatusCode, body)
	}
}

// A certificate that one connection could not verify is explained only if the last check could not verify it, either.
// Otherwise the client repeats its request, which may reach another replica.
func TestOneUnverifiedKubeAPIServerIsNotExplained(t *testing.T) {
	s := &Split{apiServer: &server{kind: KubeAPIServer}}
	unverified := &unsentError{&tls.CertificateVerificationError{Err: errors.New("unknown authority")}}
	for _, untrusted := range []bool{false, true} {
		s.apiServer.untrusted.Store(untrusted)
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			status := s.unreachable(httptest.NewRequest(method, "/api/v1/secrets", nil), unverified)
			explained := strings.Contains(status.Message, "--kube-apiserver-ca-file")
			repeated := status.Details != nil && status.Details.RetryAfterSeconds == waitSeconds
			if explained != untrusted || repeated == untrusted {
				t.Errorf("%s, untrusted %t: got %s, details %v", method, untrusted, status.Message, status.Details)
			}
		}
	}
}

// The client of a refused token receives the server's answer, and a warning that says what to do.
func TestRefusedTokenIsExplained(t *testing.T) {
	refuses := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "Unauthorized")
	}
	run := start(t, startFake(t, refuses), []*fake{startFake(t, refuses)})
	for _, line := range []string{"GET /api/v1/pods", "GET /api/v1/pods?watch=true", "POST /api/v1/pods", "GET /api/v1/secrets"} {
		answer, body := run.do(t, line, "Authorization: Bearer elsewhere")
		if answer.StatusCode != http.StatusUnauthorized || body != "Unauthorized" || answer.Header.Get("Warning") != warnRefused {
			t.Errorf("%s: got %d %s, warning %q", line, answer.StatusCode, body, answer.Header.Get("Warning"))
		}
	}
}

// A 401 has no warning about a token if the request has none, or if kube-apiserver passes the answer of a pod on.
func TestOtherRefusalsAreNotExplained(t *testing.T) {
	refuses := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
	run := start(t, startFake(t, refuses), []*fake{startFake(t, refuses)})
	const token, pod = "Bearer a", "/api/v1/namespaces/a/pods/b"
	for _, test := range []struct {
		line, authorization string
		explained           bool
	}{
		{"GET /api/v1/pods", "bearer a", true},
		{"GET " + pod + "/log", token, true},
		{"GET /api/v1/namespaces/a/pods/proxy", token, true},
		{"GET /api/v1/pods", "Basic a", false},
		{"GET /api/v1/pods", "", false},
		{"GET " + pod + "/proxy", token, false},
		{"POST " + pod + "/proxy/metrics", token, false},
		{"GET /api/v1/nodes/a/proxy/metrics", token, false},
		{"GET /api/v1/namespaces/a/services/b:https/proxy/", token, false},
		{"GET /api/v1/proxy/nodes/a/metrics", token, false},
	} {
		answer, _ := run.do(t, test.line, "Authorization: "+test.authorization)
		if got := answer.Header.Get("Warning") != ""; got != test.explained {
			t.Errorf("%s with %q: got a warning %t, want %t", test.line, test.authorization, got, test.explained)
		}
	}
}
