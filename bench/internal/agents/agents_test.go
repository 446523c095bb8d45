package agents

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/listfacade/listfacade/internal/testkit"
)

// script answers requests in order, one after the other, and records them.
type script struct {
	mu      sync.Mutex
	answers []func(http.ResponseWriter, *http.Request)
	asked   []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	who := r.Header.Get("Authorization")
	for _, certificate := range r.TLS.PeerCertificates {
		who = certificate.Subject.CommonName
	}
	s.asked = append(s.asked, fmt.Sprintf("%s %s%s", who, q.Get("watch"), q.Get("resourceVersion")))
	var answer func(http.ResponseWriter, *http.Request)
	if len(s.answers) > 0 {
		answer, s.answers = s.answers[0], s.answers[1:]
	}
	s.mu.Unlock()
	if answer != nil {
		answer(w, r)
	}
}

// list answers with a version.
func list(version int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"kind":"PodList","metadata":{"resourceVersion":"%d"},"items":[]}`, version)
	}
}

// stays sends parts of a watch, each in a separate frame, until the client leaves.
func stays(parts ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		for _, part := range append(parts, "") {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

func TestFleetContinuesWhereItWas(t *testing.T) {
	padding := strings.Repeat("x", headBytes)
	s := &script{answers: []func(http.ResponseWriter, *http.Request){
		list(10),
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		},
		stays(`{"type":"ADDED","object":{"metadata":{"resourceVersion":"1`, `1","sent":"1"}`+padding, "}}\n"+
			`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"20"}}}`+"\n",
			`{"type":"ADDED","object":{"metadata":{"resourceVersion":"21","sent":"1"}}`), // the end is missing
		func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"type":"ERROR","object":{"kind":"Status","code":410}}`+"\n")
		},
		list(30),
		stays(),
	}}
	f := start(t, s, Config{PerConnection: 100, Stamp: `"sent":"`})
	until(t, f, Counts{Watching: 1, Events: 1, Lists: 1})
	f.Cut()
	until(t, f, Counts{Watching: 1, Events: 1, Lists: 2, Ended: 1})
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := []string{" 0", " 110", " 110", " 120", " 0", " 130"}; !slices.Equal(s.asked, want) {
		t.Errorf("got requests %q, want %q", s.asked, want)
	}
	if got := f.Refusals(); got != "1 × 429" {
		t.Errorf("got refusals %q, want one 429", got)
	}
	if got := len(f.Delays()); got != 1 {
		t.Errorf("got %d delays, want 1", got)
	}
}

func TestFleetOpensConnectionsInTurn(t *testing.T) {
	var s script
	for range 3 {
		s.answers = append(s.answers, list(10), stays())
	}
	watch := Watch{Path: "/api/v1/pods?"}
	f := start(t, &s, Config{PerConnection: 1, Openers: 1, Watches: []Watch{watch, watch, watch}})
	until(t, f, Counts{Watching: 3, Lists: 3})
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := []string{" 0", " 110", " 0", " 110", " 0", " 110"}; !slices.Equal(s.asked, want) {
		t.Errorf("got requests %q, want %q", s.asked, want)
	}
}

func TestFleetLeavesEndedWatchesClosed(t *testing.T) {
	s := &script{answers: []func(http.ResponseWriter, *http.Request){list(10), func(http.ResponseWriter, *http.Request) {}}}
	f := start(t, s, Config{PerConnection: 1, Once: true, Header: token})
	until(t, f, Counts{Lists: 1, Ended: 1})
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := []string{"Bearer 0 0", "Bearer 0 110"}; !slices.Equal(s.asked, want) {
		t.Errorf("got requests %q, want %q", s.asked, want)
	}
}

func TestFleetUsesOneCertificateForEachConnection(t *testing.T) {
	var s script
	for range 2 {
		s.answers = append(s.answers, list(10), stays())
	}
	authority := testkit.NewAuthority(t, "clients")
	certificate := func(connection int) *tls.Certificate {
		signed := authority.Certify(t, testkit.Certificate{User: fmt.Sprintf("node-%d", connection)})
		pair, err := tls.X509KeyPair(signed.CertData, signed.KeyData)
		if err != nil {
			t.Fatal(err)
		}
		return &pair
	}
	watch := Watch{Path: "/api/v1/pods?"}
	f := start(t, &s, Config{PerConnection: 1, Openers: 1, Watches: []Watch{watch, watch}, Certificate: certificate})
	until(t, f, Counts{Watching: 2, Lists: 2})
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.asked) // connections open in any order
	if want := []string{"node-0 0", "node-0 110", "node-1 0", "node-1 110"}; !slices.Equal(s.asked, want) {
		t.Errorf("got requests %q, want %q", s.asked, want)
	}
}

// until waits until a fleet has the wanted counts.
func until(t *testing.T, f *Fleet, want Counts) {
	t.Helper()
	testkit.Eventually(t, "counts", func() error {
		if got := f.Counts(); got != want {
			return fmt.Errorf("got %+v, want %+v", got, want)
		}
		return nil
	})
}

// start starts a fleet of a server. By default it has one watch.
func start(t *testing.T, handler http.Handler, c Config) *Fleet {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	c.Address, c.TLS = server.Listener.Addr().String(), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if c.Watches == nil {
		c.Watches = []Watch{{Path: "/api/v1/pods?"}}
	}
	f := New(c)
	f.Start(t.Context())
	t.Cleanup(f.Close)
	return f
}

func token(connection int) []hpack.HeaderField {
	return []hpack.HeaderField{{Name: "authorization", Value: fmt.Sprintf("Bearer %d", connection)}}
}
