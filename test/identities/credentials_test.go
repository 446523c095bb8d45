package identities

import (
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// reads are requests of every sort: cached, forwarded, for a document, and for the facade's own endpoints.
var reads = []string{
	inFirstNamespace, inFirstNamespace + "/named?resourceVersion=0", "/api/v1/namespaces/oracle/secrets/canary", "/version", "/apis/apps/v1", "/metrics",
	"/apis/nope.io/v1/things", "/openapi/v3", "/nowhere",
}

// A request without a valid credential is anonymous or receives 401. It never runs with the facade's own credentials,
// whether the facade verifies or reviews the tokens of service accounts.
func TestMalformedTokensAreAnsweredAsByUpstream(t *testing.T) {
	w, f := newFacade(t)
	reviewing := suite.StartDelegating(t, w.Cluster, suite.ReviewedTokens)
	robots := w.identities["robot"].config.BearerToken
	for name, header := range map[string]http.Header{
		"empty":                      {"Authorization": {"Bearer "}},
		"without a space":            {"Authorization": {"Bearer"}},
		"two spaces":                 {"Authorization": {"Bearer  " + robots}},
		"behind a tab":               {"Authorization": {"Bearer\t" + robots}},
		"lower case":                 {"Authorization": {"bearer " + robots}},
		"more behind it":             {"Authorization": {"Bearer " + robots + " x"}},
		"a bad one first":            {"Authorization": {"Bearer x", "Bearer " + robots}},
		"a bad one behind":           {"Authorization": {"Bearer " + robots, "Bearer x"}},
		"basic first":                {"Authorization": {"Basic YTpi", "Bearer " + robots}},
		"basic":                      {"Authorization": {"Basic YWRtaW46YWRtaW4="}},
		"no scheme":                  {"Authorization": {robots}},
		"cut":                        {"Authorization": {"Bearer " + robots[:len(robots)-4]}},
		"unsigned":                   {"Authorization": {"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiJ9."}},
		"for a websocket, and none":  {"Sec-Websocket-Protocol": {socketToken(robots)}},
		"in a parameter of its name": {"X-Access-Token": {robots}},
		"a proxy's":                  {"Proxy-Authorization": {"Bearer " + robots}},
	} {
		t.Run(name, func(t *testing.T) {
			who := with(plain(w.ConfigWithToken("")), header)
			o := f.As(t, who)
			for _, path := range reads {
				o.Compare(t, testkit.Question{Path: path})
			}
			reviewing.As(t, who).Compare(t, testkit.Question{Path: reads[0]})
		})
	}
	for name, query := range map[string]string{"access_token": "?access_token=" + robots, "token": "?token=" + robots} {
		t.Run(name, func(t *testing.T) { get(t, w.as(t, f, "anonymous"), http.StatusForbidden, inFirstNamespace+query) })
	}
}

// socketToken is a token as a browser sends it, which cannot set headers of a websocket.
func socketToken(token string) string {
	return "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token))
}

// A watch over a websocket may carry its token in the list of protocols.
func TestWebsocketTokensAreAnsweredAsByUpstream(t *testing.T) {
	w, f := newFacade(t)
	o := f.As(t, plain(w.ConfigWithToken("")))
	// The watches below last a second, so the lane must be synced before.
	get(t, w.as(t, f, "robot"), http.StatusOK, inFirstNamespace+"?resourceVersion=0")
	for name, protocol := range map[string]string{
		"good": socketToken(w.identities["robot"].config.BearerToken), "bad": socketToken("x"), "empty": "base64url.bearer.authorization.k8s.io.",
	} {
		for _, path := range []string{inFirstNamespace, "/api/v1/namespaces/oracle/secrets", "/api/v1/namespaces/oracle-b/configmaps"} {
			p := suite.WatchBoth(t, o, testkit.Question{Path: path + "?watch=1&timeoutSeconds=1&resourceVersion=0", Header: http.Header{
				"Upgrade": {"websocket"}, "Sec-Websocket-Protocol": {protocol, "v4.channel.k8s.io"},
			}})
			want, got := p.Upstream.Ended(t), p.Facade.Ended(t)
			if diff := testkit.DiffBegun(want, got) + testkit.DiffEnds(want, got); diff != "" {
				t.Errorf("%s token: %s\n%s", name, path, diff)
			}
		}
	}
}

// An HTTP/2 connection ends after a request of a caller that is not authenticated.
func TestHTTP2ConnectionsOfUnknownCallersEnd(t *testing.T) {
	w, f := newFacade(t)
	for name, header := range map[string]http.Header{"anonymous": {}, "bad": {"Authorization": {"Bearer x"}}, "good": {"Authorization": {
		"Bearer " + w.identities["robot"].config.BearerToken,
	}}} {
		client := f.HTTP2Client(t)
		reused := false
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }})
		for range 2 {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL+"/version", nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Header = header
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.ProtoMajor != 2 {
				t.Fatalf("HTTP/%d", response.ProtoMajor)
			}
		}
		if want := name == "good"; reused != want {
			t.Errorf("%s: got reused connection %t, want %t", name, reused, want)
		}
	}
}

// sameUser checks that both servers identify the same user.
func sameUser(t *testing.T, w *world, f *suite.Facade, who *rest.Config) authenticationv1.UserInfo {
	t.Helper()
	want, wantErr := testkit.WhoAmI(t, who)
	got, gotErr := testkit.WhoAmI(t, f.ConfigOf(who))
	slices.Sort(want.Groups)
	slices.Sort(got.Groups)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-upstream +facade):\n%s", diff)
	}
	if apierrors.ReasonForError(wantErr) != apierrors.ReasonForError(gotErr) {
		t.Errorf("upstream: %v, facade: %v", wantErr, gotErr)
	}
	o := f.As(t, who)
	o.Excused = testkit.NotPassedOn
	for _, path := range reads {
		if path != "/metrics" {
			o.Compare(t, testkit.Question{Path: path})
		}
	}
	_ = w
	return got
}

func TestCertificatesIdentifyTheSameUserAsUpstream(t *testing.T) {
	w, f := newFacade(t)
	ca := w.Authority(t, testkit.ClientCA)
	const masters = "system:masters"
	intermediate := ca.Certify(t, testkit.Certificate{User: "intermediate", IsAuthority: true})
	chained := testkit.AuthorityOf(t, intermediate).Certify(t, testkit.Certificate{User: "nick"})
	unchained := chained
	chained.CertData = slices.Concat(chained.CertData, intermediate.CertData)
	for name, c := range map[string]struct {
		pair testkit.KeyPair
		user string
	}{
		"a user":                               {ca.Certify(t, testkit.Certificate{User: "nick", Groups: []string{"b", "a"}}), "nick"},
		"of a foreign authority":               {testkit.NewAuthority(t, "foreign").Certify(t, testkit.Certificate{User: "admin", Groups: []string{masters}}), ""},
		"of an authority of the same name":     {testkit.NewAuthority(t, "kubernetes-ca").Certify(t, testkit.Certificate{User: "admin", Groups: []string{masters}}), ""},
		"of the authority for front proxies":   {w.Authority(t, testkit.FrontProxyCA).Certify(t, testkit.Certificate{User: "admin", Groups: []string{masters}}), ""},
		"expired":                              {ca.Certify(t, testkit.Certificate{User: "nick", Until: time.Now().Add(-time.Minute)}), ""},
		"not yet valid":                        {ca.Certify(t, testkit.Certificate{User: "nick", From: time.Now().Add(30 * time.Minute)}), ""},
		"for servers":                          {ca.Certify(t, testkit.Certificate{User: "nick", Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}), ""},
		"without a name":                       {ca.Certify(t, testkit.Certificate{Groups: []string{masters}}), ""},
		"through an intermediate authority":    {chained, "nick"},
		"without the intermediate authority's": {unchained, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := sameUser(t, w, f, plain(w.ConfigWith(c.pair))); got.Username != c.user {
				t.Errorf("is %q, want %q", got.Username, c.user)
			}
		})
	}
}

// Of two credentials the first valid one identifies the caller, and the other is not forwarded.
func TestCertificateTakesPrecedenceOverToken(t *testing.T) {
	w := newWorld(t)
	way := newRoad(t, w)
	f := suite.LaunchDelegating(t, way.kubeconfig)
	f.AwaitReady(t)
	way.since()
	if got := sameUser(t, w, f, w.identities["certificate before token"].config); got.Username != "nick" {
		t.Errorf("is %q", got.Username)
	}
	for _, p := range way.since() {
		if !p.own && p.Header.Get("Authorization") != "" || strings.Contains(string(p.body), w.identities["certificate before token"].config.BearerToken) {
			t.Errorf("forwarded with the token: %s %s", p.Method, p.URL)
		}
	}
	if got := sameUser(t, w, f, w.identities["token behind a foreign certificate"].config); got.Username != "system:serviceaccount:oracle:robot" {
		t.Errorf("is %q", got.Username)
	}
}

func TestRemoteUserHeadersCountOnlyFromFrontProxies(t *testing.T) {
	w, f := newFacade(t)
	proxies := w.Authority(t, testkit.FrontProxyCA)
	good, other := proxies.Certify(t, testkit.Certificate{User: testkit.FrontProxyName}), proxies.Certify(t, testkit.Certificate{User: "another"})
	asAdmin := http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}}
	for name, c := range map[string]struct {
		who    *rest.Config
		header http.Header
		user   string
	}{
		"a proxy":           {w.ConfigWith(good), http.Header{"X-Remote-User": {"nick"}, "X-Remote-Group": {"b", "a"}, "X-Remote-Extra-Scope": {"x", "y"}}, "nick"},
		"a UID":             {w.ConfigWith(good), http.Header{"X-Remote-User": {"nick"}, "X-Remote-Uid": {"7"}}, "nick"},
		"an escaped extra":  {w.ConfigWith(good), http.Header{"X-Remote-User": {"nick"}, "X-Remote-Extra-A%2fb": {"x"}}, "nick"},
		"without a user":    {w.ConfigWith(good), http.Header{"X-Remote-Group": {"system:masters"}}, ""},
		"of another name":   {w.ConfigWith(other), asAdmin, ""},
		"no certificate":    {w.ConfigWithToken(""), asAdmin, ""},
		"a user's":          {w.user(t, "nick"), asAdmin, "nick"},
		"with a token":      {w.identities["robot"].config, asAdmin, "system:serviceaccount:oracle:robot"},
		"lower case":        {w.user(t, "nick"), http.Header{"x-remote-user": {"admin"}, "x-remote-group": {"system:masters"}}, "nick"},
		"underscores":       {w.user(t, "nick"), http.Header{"X_remote_user": {"admin"}, "X_remote_group": {"system:masters"}}, "nick"},
		"forwarded headers": {w.user(t, "nick"), http.Header{"X-Forwarded-User": {"admin"}, "X-Forwarded-For": {"127.0.0.1"}, "Forwarded": {"for=127.0.0.1"}}, "nick"},
	} {
		t.Run(name, func(t *testing.T) {
			who := with(plain(rest.CopyConfig(c.who)), c.header)
			if got := sameUser(t, w, f, who); got.Username != c.user {
				t.Errorf("is %q, want %q", got.Username, c.user)
			}
		})
	}
}

// A request that impersonates is refused. It is answered neither for the impersonated user nor for the caller.
func TestImpersonationIsRefused(t *testing.T) {
	w, f := newFacade(t)
	for name, header := range map[string]http.Header{
		"a user": {"Impersonate-User": {"reader"}}, "oneself": {"Impersonate-User": {"ivan"}}, "lower case": {"impersonate-user": {"reader"}},
		"a group": {"Impersonate-User": {"reader"}, "Impersonate-Group": {"system:masters"}}, "a group alone": {"Impersonate-Group": {"system:masters"}},
		"a UID": {"Impersonate-User": {"reader"}, "Impersonate-Uid": {"1"}}, "extra": {"Impersonate-Extra-Scopes": {"x"}}, "an empty user": {"Impersonate-User": {""}},
	} {
		for _, who := range []*rest.Config{w.user(t, "ivan"), w.user(t, "admin", "system:masters"), w.identities["robot"].config} {
			asker, err := testkit.NewAsker(f.ConfigOf(with(rest.CopyConfig(who), header)))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range append([]string{"/healthz"}, reads...) {
				answer := asker.MustAsk(t, testkit.Question{Path: path})
				if err := expect(answer, http.StatusForbidden); err != nil || !strings.Contains(string(answer.Body), "listfacade does not support impersonation") {
					t.Errorf("%s: %s: %v", name, path, err)
				}
			}
		}
	}
}
