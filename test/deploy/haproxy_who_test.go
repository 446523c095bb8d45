package deploy

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit"
)

// arrival is a request that a server behind HAProxy received.
type arrival struct {
	Server      string // facade or kube-apiserver
	Certificate string // subject of HAProxy's certificate; empty if it sent none
	Header      http.Header
}

// arrivals is a HAProxy in front of two servers that answer with the request that they received.
type arrivals struct {
	url   string
	users *testkit.Authority
}

func newArrivals(t *testing.T) *arrivals {
	t.Helper()
	users, servers, proxies := testkit.NewAuthority(t, "users"), testkit.NewAuthority(t, "servers"), testkit.NewAuthority(t, "proxies")
	serving := servers.Certify(t, testkit.Certificate{User: "server", Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	b := balanced{
		facade: answering(t, "facade", serving), apiServer: answering(t, "kube-apiserver", serving),
		clientCA: users.CertData(), serverCA: servers.CertData(), serving: serving,
		proxy: proxies.Certify(t, testkit.Certificate{User: testkit.FrontProxyName}),
	}
	return &arrivals{url: b.start(t), users: users}
}

// answering starts a server that answers with the request, and returns its address.
func answering(t *testing.T, name string, serving testkit.KeyPair) string {
	t.Helper()
	pair, err := tls.X509KeyPair(serving.CertData, serving.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := arrival{Server: name, Header: r.Header}
		for _, certificate := range r.TLS.PeerCertificates {
			a.Certificate = certificate.Subject.CommonName
		}
		if err := json.NewEncoder(w).Encode(a); err != nil {
			t.Error(err)
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// send sends a request to HAProxy, with a certificate if one is given.
func (a *arrivals) send(t *testing.T, method, path string, header http.Header, pair *testkit.KeyPair) (*http.Response, error) {
	t.Helper()
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the test's own server
	if pair != nil {
		certificate := shown(t, *pair)
		// The certificate is sent even if the server does not list its authority.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
	}
	transport := &http.Transport{TLSClientConfig: config, DisableCompression: true, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(t.Context(), method, a.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	return transport.RoundTrip(request)
}

// shown is a key pair whose certificate crypto/x509 may not be able to parse.
func shown(t *testing.T, pair testkit.KeyPair) tls.Certificate {
	t.Helper()
	certificate, _ := pem.Decode(pair.CertData)
	private, _ := pem.Decode(pair.KeyData)
	key, err := x509.ParsePKCS8PrivateKey(private.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{certificate.Bytes}, PrivateKey: key}
}

// at returns the request as it arrived.
func (a *arrivals) at(t *testing.T, method, path string, header http.Header, pair *testkit.KeyPair) arrival {
	t.Helper()
	response, err := a.send(t, method, path, header, pair)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var got arrival
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		t.Fatalf("%s: %v", response.Status, err)
	}
	return got
}

func TestProxyForwardsIdentities(t *testing.T) {
	proxy := newArrivals(t)
	user := proxy.users.Certify(t, testkit.Certificate{User: "alice", Groups: []string{"one", "two"}})
	nameless := proxy.users.Certify(t, testkit.Certificate{Groups: []string{"one"}})
	token := http.Header{"Authorization": {"Bearer x"}}
	claims := http.Header{
		"X-Remote-User": {"admin"}, "x-remote-GROUP": {"system:masters"}, "X-Remote-Extra-Scope": {"all"}, "X-Remote-Uid": {"1"},
		"X-Forwarded-For": {"10.0.0.1"}, "X-Forwarded-Client-Cert": {"admin"}, "Forwarded": {"for=10.0.0.1"}, "X-Real-Ip": {"10.0.0.1"},
		"Connection": {"X-Remote-User"},
	}
	for _, c := range []struct {
		name        string
		header      http.Header
		pair        *testkit.KeyPair
		certificate string
		want        map[string][]string // of headers that say who
	}{
		{"no identity", nil, nil, "", nil},
		{"a token", token, nil, "", map[string][]string{"Authorization": {"Bearer x"}}},
		{"claims", claims, nil, "", nil},
		{"a certificate", nil, &user, testkit.FrontProxyName, identity("alice", "one", "two")},
		{"a certificate and claims", claims, &user, testkit.FrontProxyName, identity("alice", "one", "two")},
		{"a certificate and a token", token, &user, testkit.FrontProxyName, identity("alice", "one", "two")},
		{"a certificate without a name, and a token", token, &nameless, "", map[string][]string{"Authorization": {"Bearer x"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodPost} { // to the one server and to the other
				got := proxy.at(t, method, "/api/v1/pods", c.header, c.pair)
				if diff := cmp.Diff(c.want, said(got.Header)); diff != "" || got.Certificate != c.certificate {
					t.Errorf("%s receives the certificate %q and the headers (-want +got)\n%s", got.Server, got.Certificate, diff)
				}
			}
		})
	}
}

func identity(user string, groups ...string) map[string][]string {
	return map[string][]string{"X-Remote-User": {user}, "X-Remote-Group": groups}
}

// said returns the headers that identify the caller to servers.
func said(header http.Header) map[string][]string {
	var all map[string][]string
	for name, values := range header {
		if name == "Authorization" || strings.HasPrefix(name, "X-Remote-") || strings.HasPrefix(name, "X-Forwarded-") ||
			name == "Forwarded" || name == "X-Real-Ip" {
			if name == "X-Forwarded-For" && slices.Equal(values, []string{"127.0.0.1"}) {
				continue // HAProxy's own
			}
			if all == nil {
				all = map[string][]string{}
			}
			all[name] = values
		}
	}
	return all
}

// HAProxy closes the connection, or refuses the request, for an invalid certificate.
func TestProxyRefusesCertificates(t *testing.T) {
	proxy := newArrivals(t)
	for _, c := range []struct {
		name string
		pair testkit.KeyPair
	}{
		{"expired", proxy.users.Certify(t, testkit.Certificate{User: "alice", Until: time.Now().Add(-time.Minute)})},
		{"of a foreign authority", testkit.NewAuthority(t, "foreign").Certify(t, testkit.Certificate{User: "alice"})},
		{"of a server", proxy.users.Certify(t, testkit.Certificate{User: "alice", Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})},
		{"of too many groups", proxy.users.Certify(t, testkit.Certificate{User: "alice", Groups: strings.Split("abcdefghi", "")})},
		{"of two lines", proxy.users.Certify(t, testkit.Certificate{User: "alice\r\nX-Remote-Group: system:masters"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			response, err := proxy.send(t, http.MethodGet, "/api/v1/pods", nil, &c.pair)
			if err != nil {
				return // the handshake failed
			}
			defer response.Body.Close()
			if response.StatusCode != http.StatusForbidden {
				body, _ := io.ReadAll(response.Body)
				t.Errorf("%s: %s", response.Status, body)
			}
		})
	}
}

// HAProxy sends the reads that the facade supports to the facade, and all other requests to kube-apiserver.
func TestProxyRoutesReadsToFacade(t *testing.T) {
	proxy := newArrivals(t)
	for _, c := range []struct{ want, method, path, header string }{
		{"facade", "GET", "/api/v1/pods", ""},
		{"facade", "GET", "/api/v1/pods?watch=true&fieldSelector=metadata.name%3Dlog", ""},
		{"facade", "GET", "/api/v1/namespaces/log/pods/exec", ""},
		{"facade", "GET", "/api/v1/namespaces/secrets", ""},
		{"facade", "GET", "/apis/apps/v1/namespaces/n/deployments/d/scale", ""},
		{"facade", "GET", "/apis", ""},
		{"facade", "GET", "/openapi/v3", ""},
		{"facade", "GET", "/version", ""},
		{"kube-apiserver", "POST", "/api/v1/namespaces/n/pods", ""},
		{"kube-apiserver", "OPTIONS", "/api/v1/pods", ""},
		{"kube-apiserver", "DELETE", "/api/v1/namespaces/n/pods/p", ""},
		{"kube-apiserver", "GET", "/api/v1/namespaces/n/pods/p/log?follow=true", ""},
		{"kube-apiserver", "GET", "/api/v1/namespaces/n/pods/p/exec?command=ls", ""},
		{"kube-apiserver", "GET", "/api/v1/namespaces/n/pods/p/attach", ""},
		{"kube-apiserver", "GET", "/api/v1/namespaces/n/pods/p/portforward", ""},
		{"kube-apiserver", "GET", "/api/v1/namespaces/n/pods/p/proxy/x", ""},
		{"kube-apiserver", "GET", "/api/v1/namespaces/n/services/s/proxy/", ""},
		{"kube-apiserver", "GET", "/api/v1/nodes/n/proxy/metrics", ""},
		{"kube-apiserver", "GET", "/api/v1/secrets", ""},
		{"kube-apiserver", "GET", "/api/v1/namespaces/n/secrets/s", ""},
		{"kube-apiserver", "GET", "/apis/metrics.k8s.io/v1beta1/pods", ""},
		{"kube-apiserver", "GET", "/apis/custom.metrics.k8s.io/v1beta2", ""},
		{"kube-apiserver", "GET", "/api/v1/pods", "Impersonate-User"},
		{"kube-apiserver", "GET", "/api/v1/pods", "impersonate-extra-x"},
		{"kube-apiserver", "GET", "/apiserver", ""},
		{"kube-apiserver", "GET", "/metrics", ""},
		{"kube-apiserver", "GET", "/readyz", ""},
	} {
		t.Run(fmt.Sprint(c.method, " ", c.path, " ", c.header), func(t *testing.T) {
			header := http.Header{}
			if c.header != "" {
				header[c.header] = []string{"x"}
			}
			if got := proxy.at(t, c.method, c.path, header, nil); got.Server != c.want {
				t.Errorf("%s received the request", got.Server)
			}
		})
	}
}
