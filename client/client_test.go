package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/listfacade/listfacade/client"
)

// servers are a kube-apiserver and a facade.
type servers struct {
	kubeAPIServer, facade *server
	config                *rest.Config // of kube-apiserver, with a token
}

func newServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{kubeAPIServer: newServer(t, http.StatusOK), facade: newServer(t, http.StatusOK)}
	s.config = &rest.Config{Host: s.kubeAPIServer.URL, BearerToken: "secret"}
	s.config.CAData = s.kubeAPIServer.ca
	return s
}

// wrap returns the split configuration.
func (s *servers) wrap(t *testing.T) *rest.Config {
	t.Helper()
	split, err := client.WrapConfig(s.config, s.facade.URL, s.facade.ca)
	if err != nil {
		t.Fatal(err)
	}
	return split
}

// send sends a request with a client of a configuration, and returns its status.
func send(t *testing.T, config *rest.Config, method, target string) (int, error) {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(method, config.Host+target, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// routed is a request with the server that answers it.
type routed struct {
	method, target string
	facade         bool
}

// sharedRequests reads the requests that the splitting proxy must send to the same servers.
func sharedRequests(t *testing.T) (all []routed) {
	t.Helper()
	text, err := os.ReadFile("../testdata/routing/requests.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if words := strings.Fields(line); !strings.HasPrefix(line, "#") {
			all = append(all, routed{words[1], words[2], words[0] == "facade"})
		}
	}
	if len(all) < 30 {
		t.Fatalf("got %d requests, want at least 30", len(all))
	}
	return all
}

func TestRequestsReachTheirServer(t *testing.T) {
	tests := append(sharedRequests(t),
		routed{"GET", "/apis/", true}, routed{"GET", "/api/v1/namespaces/secrets", true},
		routed{"GET", "/api/v1/namespaces/a/pods/b/exec?command=ls", false}, routed{"GET", "/api/v1/nodes/n/proxy/metrics", false},
		routed{"GET", "/api/v1/watch/pods", false}, routed{"GET", "/readyz", false}, routed{"GET", "/", false},
	)
	s := newServers(t)
	split := s.wrap(t)
	for _, test := range tests {
		if _, err := send(t, split, test.method, test.target); err != nil {
			t.Fatalf("%s %s: %v", test.method, test.target, err)
		}
		want := seen{line: test.method + " " + test.target, token: "Bearer secret"}
		right, wrong := s.kubeAPIServer, s.facade
		if test.facade {
			right, wrong = wrong, right
		}
		want.host = right.Listener.Addr().String()
		if got := right.take(); len(got) != 1 || got[0] != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if got := wrong.take(); len(got) != 0 {
			t.Errorf("the other server got %+v", got)
		}
	}
}

func TestUpgradesReachKubeAPIServer(t *testing.T) {
	s := newServers(t)
	httpClient, err := rest.HTTPClientFor(s.wrap(t))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodGet, s.config.Host+"/api/v1/pods?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
	response, err := httpClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if n, m := len(s.kubeAPIServer.take()), len(s.facade.take()); n != 1 || m != 0 {
		t.Errorf("kube-apiserver got %d requests and the facade %d, want 1 and 0", n, m)
	}
}

// A facade refuses impersonation.
func TestImpersonationReachesKubeAPIServer(t *testing.T) {
	s := newServers(t)
	split := s.wrap(t)
	split.Impersonate.UserName = "other"
	if _, err := send(t, split, http.MethodGet, "/api/v1/pods"); err != nil {
		t.Fatal(err)
	}
	if n, m := len(s.kubeAPIServer.take()), len(s.facade.take()); n != 1 || m != 0 {
		t.Errorf("kube-apiserver got %d requests and the facade %d, want 1 and 0", n, m)
	}
}

// The token of a plugin reaches both servers.
func TestTokensOfPluginsReachBothServers(t *testing.T) {
	s := newServers(t)
	s.config.BearerToken = ""
	plugin := filepath.Join(t.TempDir(), "plugin")
	const answer = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"made"}}`
	if err := os.WriteFile(plugin, []byte("#!/bin/sh\necho '"+answer+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.config.ExecProvider = &api.ExecConfig{
		Command: plugin, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: api.NeverExecInteractiveMode,
	}
	split := s.wrap(t)
	for _, target := range []string{"/api/v1/pods", "/api/v1/secrets"} {
		if _, err := send(t, split, http.MethodGet, target); err != nil {
			t.Fatal(err)
		}
	}
	for _, server := range []*server{s.facade, s.kubeAPIServer} {
		if got := server.take(); len(got) != 1 || got[0].token != "Bearer made" {
			t.Errorf("got %+v, want the plugin's token", got)
		}
	}
}

// Rancher and others serve a kube-apiserver below a path. A facade has none.
func TestPathOfTheServerIsRemoved(t *testing.T) {
	s := newServers(t)
	s.config.Host += "/k8s/clusters/c-1"
	split := s.wrap(t)
	for _, target := range []string{"/api/v1/pods", "/api/v1/secrets"} {
		if _, err := send(t, split, http.MethodGet, target); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.facade.take(); len(got) != 1 || got[0].line != "GET /api/v1/pods" {
		t.Errorf("the facade got %+v", got)
	}
	if got := s.kubeAPIServer.take(); len(got) != 1 || got[0].line != "GET /k8s/clusters/c-1/api/v1/secrets" {
		t.Errorf("kube-apiserver got %+v", got)
	}
}

// What kube-apiserver is read for without the facade costs it little.
func TestReadsWithoutFacade(t *testing.T) {
	const get, list, watch, document = "/api/v1/namespaces/a/pods/b", "/api/v1/pods", "/api/v1/pods?watch=true", "/apis"
	tests := []struct {
		facade   int // its status; 0 if it is not there
		sentOn   []string
		returned []string
	}{
		{0, []string{get, document}, []string{list, watch}},
		{http.StatusServiceUnavailable, []string{get, document}, []string{list, watch}},
		{http.StatusNotImplemented, []string{get, document, list, watch}, nil},
		{http.StatusTooManyRequests, nil, []string{get, document, list, watch}},
		{http.StatusForbidden, nil, []string{get, document, list, watch}},
	}
	for _, test := range tests {
		s := newServers(t)
		if s.facade.status = test.facade; test.facade == 0 {
			s.facade.Close()
		}
		split := s.wrap(t)
		for _, target := range test.sentOn {
			if status, err := send(t, split, http.MethodGet, target); err != nil || status != http.StatusOK {
				t.Errorf("facade %d, %s: got %d, %v, want kube-apiserver's answer", test.facade, target, status, err)
			}
		}
		s.kubeAPIServer.take()
		for _, target := range test.returned {
			status, err := send(t, split, http.MethodGet, target)
			if status != test.facade || (err != nil) != (test.facade == 0) {
				t.Errorf("facade %d, %s: got %d, %v, want the facade's answer", test.facade, target, status, err)
			}
		}
		if got := s.kubeAPIServer.take(); len(got) > 0 {
			t.Errorf("facade %d: kube-apiserver got %+v", test.facade, got)
		}
	}
}

// A copy with other credentials reads as their owner.
func TestCredentialsAreThoseOfTheClient(t *testing.T) {
	s := newServers(t)
	s.config.BearerToken = ""
	s.config.CertData, s.config.KeyData = pair(t, "first")
	split := s.wrap(t)
	second := rest.CopyConfig(split)
	second.CertData, second.KeyData = pair(t, "second")
	token := rest.CopyConfig(split)
	token.CertData, token.KeyData, token.BearerToken = nil, nil, "other"
	for _, test := range []struct {
		config             *rest.Config
		certificate, token string
	}{{split, "first", ""}, {second, "second", ""}, {token, "", "Bearer other"}} {
		for _, target := range []string{"/api/v1/pods", "/api/v1/secrets"} {
			if _, err := send(t, test.config, http.MethodGet, target); err != nil {
				t.Fatal(err)
			}
		}
		for _, server := range []*server{s.facade, s.kubeAPIServer} {
			got := server.take()
			if len(got) != 1 || got[0].certificate != test.certificate || got[0].token != test.token {
				t.Errorf("got %+v, want certificate %q and token %q", got, test.certificate, test.token)
			}
		}
	}
}

// A copy for another cluster does not read this one.
func TestCopyWithAnotherHostIsNotSplit(t *testing.T) {
	s, other := newServers(t), newServer(t, http.StatusOK)
	moved := rest.CopyConfig(s.wrap(t))
	moved.Host, moved.CAData = other.URL, other.ca
	if _, err := send(t, moved, http.MethodGet, "/api/v1/pods"); err != nil {
		t.Fatal(err)
	}
	if got := other.take(); len(got) != 1 {
		t.Errorf("the other cluster got %+v, want one request", got)
	}
}

// The wrappers of the program see the requests to both servers, and the dialer connects to both.
func TestOwnWrappersAndDialerAreUsed(t *testing.T) {
	s := newServers(t)
	var wrapped []string
	s.config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			wrapped = append(wrapped, r.URL.Path)
			return base.RoundTrip(r)
		})
	})
	var dialled []string
	s.config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	split := s.wrap(t)
	for _, target := range []string{"/api/v1/pods", "/api/v1/secrets"} {
		if _, err := send(t, split, http.MethodGet, target); err != nil {
			t.Fatal(err)
		}
	}
	if len(wrapped) != 2 || len(dialled) != 2 || dialled[0] != s.facade.Listener.Addr().String() {
		t.Errorf("wrapped %v, dialled %v, want two of each", wrapped, dialled)
	}
}

func TestBadArgumentsAreRefused(t *testing.T) {
	valid := newServers(t)
	tests := []struct {
		name, facade, want string
		ca                 []byte
		change             func(*rest.Config)
	}{
		{"plain HTTP", "http://facade", "want https://", nil, nil},
		{"no scheme", "facade:443", "want https://", nil, nil},
		{"a path", "https://facade/api", "want https://", nil, nil},
		{"no URL", "https://%", "parse the facade's URL", nil, nil},
		{"no certificate", "https://facade", "no certificate in PEM", []byte("ca"), nil},
		{"a Transport", "https://facade", "it has a Transport", nil, func(c *rest.Config) { c.Transport = http.DefaultTransport }},
		{"no Host", "https://facade", "parse Host", nil, func(c *rest.Config) { c.Host = "://" }},
	}
	for _, test := range tests {
		config := rest.CopyConfig(valid.config)
		if test.change != nil {
			test.change(config)
		}
		if _, err := client.WrapConfig(config, test.facade, test.ca); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", test.name, err, test.want)
		}
	}
}

// The configuration itself is not changed.
func TestConfigIsCopied(t *testing.T) {
	s := newServers(t)
	s.wrap(t)
	if s.config.WrapTransport != nil {
		t.Error("the argument was changed")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
