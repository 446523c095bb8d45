package split

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A load balancer, or a kube-apiserver without HTTP/2, offers HTTP/1.1 only.
func TestTargetsWithoutHTTP2AreServed(t *testing.T) {
	old := func(s *httptest.Server) { s.EnableHTTP2 = false }
	says := func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto)) }
	run := start(t, startFake(t, says, old), []*fake{startFake(t, says, old)})
	for _, line := range []string{"GET /api/v1/pods", "GET /api/v1/pods?watch=1", "GET /api/v1/secrets", "POST /api/v1/pods"} {
		if answer, body := run.do(t, line); answer.StatusCode != http.StatusOK || body != "HTTP/1.1" {
			t.Errorf("%s: got %d %s", line, answer.StatusCode, body)
		}
	}
	if multiplexed := run.facades.all[0].many.RoundTripper.(*multiplexed); multiplexed.without.Load() == nil {
		t.Error("each request asks the facade for HTTP/2, want one a minute")
	}
}

// GETs share a connection to their target.
func TestReadsUseHTTP2(t *testing.T) {
	says := func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto + r.RemoteAddr)) }
	run := start(t, startFake(t, says), []*fake{startFake(t, says)})
	for _, path := range []string{"GET /api/v1/pods", "GET /api/v1/secrets"} {
		_, first := run.do(t, path)
		_, second := run.do(t, path)
		if first[:6] != "HTTP/2" || first != second {
			t.Errorf("%s: got %s, then %s, want the same connection with HTTP/2", path, first, second)
		}
	}
}
