package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A web page of another site cannot read with the kubeconfig user's permissions.
func TestOnlyLocalRequestsActAsKubeconfig(t *testing.T) {
	for name, c := range map[string]struct {
		host   string
		header http.Header
		local  bool
	}{
		"an address":                           {"127.0.0.1:6443", nil, true},
		"another of them":                      {"127.9.9.9", nil, true},
		"IPv6":                                 {"[::1]:6443", nil, true},
		"IPv6 without a port":                  {"[::1]", nil, true},
		"IPv4 in IPv6":                         {"[::ffff:127.0.0.1]:1", nil, true},
		"localhost":                            {"LocalHost:6443", nil, true},
		"no name":                              {"", nil, false},
		"a name that resolves to this machine": {"evil.example:6443", nil, false},
		"one that begins like localhost":       {"localhost.evil.example:6443", nil, false},
		"one that begins like an address":      {"127.0.0.1.evil.example", nil, false},
		"any address":                          {"0.0.0.0:6443", nil, false},
		"the machine's other address":          {"192.0.2.1:6443", nil, false},
		"a page of this machine":               {"localhost:1", http.Header{"Origin": {"http://localhost:3000"}}, true},
		"a page of another site":               {"localhost:1", http.Header{"Origin": {"https://evil.example"}}, false},
		"a page without an origin":             {"localhost:1", http.Header{"Origin": {"null"}}, false},
		"an empty Origin":                      {"localhost:1", http.Header{"Origin": {""}}, false},
		"no URL":                               {"localhost:1", http.Header{"Origin": {"http://%zz"}}, false},
		"two Origins":                          {"localhost:1", http.Header{"Origin": {"http://localhost", "https://evil.example"}}, false},
		"a name with a user":                   {"localhost:1", http.Header{"Origin": {"http://localhost@evil.example"}}, false},
		"an image in a page":                   {"localhost:1", http.Header{"Sec-Fetch-Site": {"cross-site"}}, false},
		"an image of a sibling site":           {"localhost:1", http.Header{"Sec-Fetch-Site": {"same-site"}}, false},
		"typed into a browser":                 {"localhost:1", http.Header{"Sec-Fetch-Site": {"none"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/api", nil)
			r.Host = c.host
			for name, values := range c.header {
				r.Header[name] = values
			}
			caller, err := NewSelf(nil, time.Minute).Authenticate(r)
			if c.local != (err == nil && caller.Way == ByKubeconfig) || !c.local && !errors.Is(err, ErrNotLocal) {
				t.Errorf("got caller %v and error %v", caller, err)
			}
		})
	}
}
