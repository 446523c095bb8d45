package identities

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const robotsSecrets = "/api/v1/namespaces/oracle/secrets"

// newRoadFacade starts a facade whose requests to the upstream are recorded.
func newRoadFacade(t *testing.T) (*world, *road, *suite.Facade) {
	t.Helper()
	w := newWorld(t)
	way := newRoad(t, w)
	f := suite.LaunchDelegating(t, way.kubeconfig)
	f.AwaitReady(t)
	return w, way, f
}

// hopping returns an asker for robot that adds headers. It uses HTTP/1.1, because HTTP/2 has no hop-by-hop headers.
func hopping(t *testing.T, w *world, f *suite.Facade, header http.Header) *testkit.Asker {
	t.Helper()
	asker, err := testkit.NewAsker(f.ConfigOf(with(plain(rest.CopyConfig(w.identities["robot"].config)), header)))
	if err != nil {
		t.Fatal(err)
	}
	return asker
}

// No header of a request makes the facade omit or replace the caller's credentials.
func TestHopByHopHeadersDoNotChangeForwardedCredentials(t *testing.T) {
	w, way, f := newRoadFacade(t)
	robots := "Bearer " + w.identities["robot"].config.BearerToken
	for _, header := range []http.Header{
		{"Connection": {"Impersonate-User, Authorization"}}, {"Connection": {"close, X-Remote-User"}}, {"Connection": {"Authorization"}},
		{"Connection": {"", "Authorization"}}, {"Connection": {"close"}, "X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}},
		{"Keep-Alive": {"Authorization"}}, {"Te": {"trailers"}, "Trailer": {"Authorization"}}, {"Cookie": {"a=b"}, "X-Forwarded-For": {"1.2.3.4"}, "Forwarded": {"for=1.2.3.4"}},
		{"Proxy-Authorization": {"Bearer x"}}, {"Proxy-Connection": {"Authorization"}}, {"X_remote_user": {"admin"}},
	} {
		way.since()
		answer := hopping(t, w, f, header).MustAsk(t, testkit.Question{Path: robotsSecrets})
		if err := expect(answer, http.StatusOK); err != nil {
			t.Errorf("%v: %v", header, err)
		}
		all := forwarded(way.since(), robotsSecrets)
		if len(all) != 1 || !slices.Equal(all[0].Header["Authorization"], []string{robots}) {
			t.Errorf("%v: got %d forwarded requests, want one with the caller's credentials", header, len(all))
		}
		for _, p := range all {
			for name := range p.Header {
				if !slices.Contains([]string{"Accept", "Accept-Encoding", "User-Agent", "Authorization", "Audit-Id", "Via"}, name) {
					t.Errorf("%v: header %s is forwarded: %q", header, name, p.Header[name])
				}
			}
		}
	}
}

// The facade upgrades no connection, and forwards no header that requests an upgrade.
func TestUpgradesAreNeitherServedNorForwarded(t *testing.T) {
	w, way, f := newRoadFacade(t)
	for _, upgrade := range []http.Header{
		{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}, "Sec-Websocket-Version": {"13"}},
		{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}},
		{"Connection": {"Upgrade, HTTP2-Settings"}, "Upgrade": {"h2c"}, "Http2-Settings": {"AAMAAABkAARAAAAAAAIAAAAA"}},
	} {
		asker := hopping(t, w, f, upgrade)
		way.since()
		for _, path := range []string{
			"/api/v1/namespaces/oracle/pods/alpha/exec?command=x", "/api/v1/namespaces/oracle/pods/alpha/attach", "/api/v1/namespaces/oracle/pods/alpha/portforward",
			"/api/v1/namespaces/oracle/pods/alpha/proxy/", "/api/v1/namespaces/oracle/services/alpha/proxy/x", "/api/v1/nodes/node-0/proxy/run", "/api/v1/proxy/nodes/node-0",
		} {
			answer := asker.MustAsk(t, testkit.Question{Path: path})
			if answer.Code != http.StatusMethodNotAllowed || string(answer.Body) != noSuchMethod {
				t.Errorf("%v: %s: %d %s", upgrade, path, answer.Code, head(answer.Body))
			}
		}
		for _, p := range way.since() {
			if !p.own {
				t.Errorf("%v: forwarded %s %s", upgrade, p.Method, p.URL)
			}
		}
		for _, path := range []string{robotsSecrets, inFirstNamespace, "/version", "/nowhere"} {
			if answer := asker.MustAsk(t, testkit.Question{Path: path}); answer.Code == http.StatusSwitchingProtocols {
				t.Errorf("%v: %s: %d", upgrade, path, answer.Code)
			}
		}
		for _, p := range way.since() {
			for name := range p.Header {
				if name == "Upgrade" || name == "Http2-Settings" || strings.HasPrefix(name, "Sec-Websocket") {
					t.Errorf("%v: %s %s: header %s is forwarded", upgrade, p.Method, p.URL, name)
				}
			}
		}
	}
}

// The upstream receives only GET and HEAD requests, and the reviews of callers.
func TestOnlyReadsAndReviewsReachUpstream(t *testing.T) {
	w, way, f := newRoadFacade(t)
	asker := w.as(t, f, "robot").Facade
	overridden := hopping(t, w, f, http.Header{"X-Http-Method-Override": {"DELETE"}, "X-Http-Method": {"DELETE"}, "X-Method-Override": {"DELETE"}})
	way.since()
	for _, path := range append([]string{
		"/api/v1/namespaces/oracle/pods/alpha/eviction", "/api/v1/namespaces/oracle/pods/alpha/binding", "/api/v1/namespaces/oracle/serviceaccounts/robot/token",
		"/apis/authorization.k8s.io/v1/namespaces/oracle/localsubjectaccessreviews", "/api/v1/namespaces/oracle/configmaps/named?dryRun=All",
	}, reads...) {
		for _, method := range writes {
			answer := asker.MustAsk(t, testkit.Question{Method: method, Path: path})
			if answer.Code != http.StatusMethodNotAllowed || string(answer.Body) != noSuchMethod {
				t.Errorf("%s %s: %d %s", method, path, answer.Code, head(answer.Body))
			}
		}
		q := testkit.Question{Path: path}
		if want, got := asker.MustAsk(t, q), overridden.MustAsk(t, q); want.Code != got.Code {
			t.Errorf("%s with another method in a header: got %d, want %d", q, got.Code, want.Code)
		}
	}
	for _, p := range way.since() {
		review := p.own && p.Method == http.MethodPost && strings.HasSuffix(p.URL.Path, "reviews")
		if !review && p.Method != http.MethodGet && p.Method != http.MethodHead {
			t.Errorf("%s %s reached the upstream", p.Method, p.URL)
		}
	}
	for _, name := range []string{"robot", "nick", "through a front proxy"} {
		if _, err := testkit.WhoAmI(t, f.ConfigOf(w.identities[name].config)); err != nil {
			t.Errorf("SelfSubjectReview of %s: %v", name, err)
		}
	}
}

// The facade neither follows a redirect of the upstream nor forwards it to the caller.
func TestRedirectsAreNeitherFollowedNorForwarded(t *testing.T) {
	w, way, f := newRoadFacade(t)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the facade followed a redirect: %s %v", r.URL, r.Header)
	}))
	t.Cleanup(elsewhere.Close)
	for _, path := range []string{robotsSecrets, "/openapi/v3/apis/ex.io/v1", "/nowhere", "/api/v1/namespaces/oracle/pods/alpha/status"} {
		for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
			way.divert(path, func(answer http.ResponseWriter, r *http.Request) { http.Redirect(answer, r, elsewhere.URL, code) })
			for _, name := range []string{"robot", "admin"} {
				answer := w.as(t, f, name).Facade.MustAsk(t, testkit.Question{Path: path})
				if answer.Code < http.StatusBadRequest || answer.Header.Get("Location") != "" || strings.Contains(string(answer.Body), elsewhere.URL) {
					t.Errorf("%s: %s: %d %v %s", name, path, answer.Code, answer.Header, head(answer.Body))
				}
			}
		}
	}
}
