package handlers

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/upstream"
)

// callerOrError is an Authenticator.
type callerOrError struct {
	caller *auth.Caller
	err    error
}

// Authenticate implements Authenticator.
func (c callerOrError) Authenticate(*http.Request) (*auth.Caller, error) { return c.caller, c.err }

func alice(way auth.Way) *auth.Caller {
	return auth.NewCaller(&user.DefaultInfo{Name: "alice", Groups: []string{user.AllAuthenticated}}, way, time.Time{})
}

// A watch that cannot begin gets 429 instead of 503, in every spelling. The log has the cause, which the client does
// not get.
func TestRefusedWatchesAreLogged(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	cause := errors.New("dial tcp 10.0.0.1:443: connection refused")
	inBubble(t, func(t *testing.T, f *facade) {
		f.get(t, "/api/v1/configmaps?resourceVersion=0")
		for _, target := range []string{"/api/v1/configmaps?watch=1", "/api/v1/watch/configmaps?resourceVersion=1"} {
			logged := logs.FilterMessage("Request failed").Len()
			response, body := f.get(t, target)
			if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") != "1" ||
				!strings.Contains(body, "authorization by kube-apiserver is unavailable") || strings.Contains(body, "10.0.0.1") {
				t.Errorf("%s: got %d, Retry-After %q: %s", target, response.StatusCode, response.Header.Get("Retry-After"), body)
			}
			if found := logs.FilterMessage("Request failed").All(); len(found) != logged+1 ||
				!strings.Contains(fmt.Sprint(found[logged].ContextMap()["error"]), cause.Error()) {
				t.Errorf("%s: got %v, want one more line with the cause", target, found)
			}
			if status := f.events.last().Status; status == nil || status.Code != http.StatusTooManyRequests {
				t.Errorf("%s: got the Status %+v for the audit log, want that of the response", target, status)
			}
		}
	}, func(c *Config) {
		c.Log, c.Authenticator = zap.New(core), callerOrError{caller: alice(auth.ByToken)}
		c.Authorizer = denier{err: &auth.UnavailableError{Err: cause}}
	})
}

// Each error of authentication and authorization has its own response. No response contains the upstream's address.
func TestErrorsOfAuthenticationAndAuthorization(t *testing.T) {
	const unavailable = "authentication or authorization by kube-apiserver is unavailable"
	down := &auth.UnavailableError{Err: errors.New("dial tcp 10.0.0.1:443: connection refused")}
	for name, c := range map[string]struct {
		authenticate, authorize error
		code                    int
		reason, message, retry  string
	}{
		"invalid credentials":                 {auth.ErrUnauthenticated, nil, 401, "Unauthorized", "Unauthorized", ""},
		"tokens cannot be reviewed":           {down, nil, 503, "ServiceUnavailable", unavailable, "1"},
		"too many failed logins":              {&auth.BusyError{After: 3 * time.Second}, nil, 429, "TooManyRequests", "too many requests, retry later", "3"},
		"a page of another site":              {auth.ErrNotLocal, nil, 403, "Forbidden", "loopback names", ""},
		"a bug in the authenticator":          {errors.New("nil map"), nil, 500, "InternalError", "", ""},
		"denied":                              {nil, &auth.DeniedError{}, 403, "Forbidden", `configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" at the cluster scope`, ""},
		"denied with a reason":                {nil, &auth.DeniedError{Reason: "because <b>"}, 403, "Forbidden", `at the cluster scope: because <b>`, ""},
		"rights cannot be reviewed":           {nil, down, 503, "ServiceUnavailable", unavailable, "1"},
		"too many questions":                  {nil, &auth.BusyError{After: time.Millisecond}, 429, "TooManyRequests", "too many requests, retry later", "1"},
		"a decision that covers nothing":      {nil, nil, 403, "Forbidden", `cannot list resource "configmaps"`, ""},
		"the upstream is silent for too long": {nil, auth.ErrStale, 503, "ServiceUnavailable", "the cache has received nothing from the upstream kube-apiserver for too long", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, f *facade) {
				f.Put("ns/secretive", "canary")
				response, body := f.get(t, "/api/v1/configmaps?resourceVersion=0")
				for _, want := range []string{fmt.Sprintf(`"code":%d`, c.code), c.message, fmt.Sprintf(`"reason":%q`, c.reason)} {
					if !strings.Contains(strings.NewReplacer(`\"`, `"`, `\u003c`, "<", `\u003e`, ">").Replace(body), want) {
						t.Errorf("got %[2]s, want it to contain %[1]q", want, body)
					}
				}
				if response.StatusCode != c.code || response.Header.Get("Retry-After") != c.retry {
					t.Errorf("got %d, Retry-After %q", response.StatusCode, response.Header.Get("Retry-After"))
				}
				if strings.Contains(body, "10.0.0.1") || strings.Contains(body, "canary") {
					t.Errorf("the response reveals internal details: %s", body)
				}
			}, func(config *Config) {
				config.Authenticator = callerOrError{caller: alice(auth.ByToken), err: c.authenticate}
				config.Authorizer = denier{err: c.authorize}
			})
		})
	}
}

// Requests that impersonate another user are refused, whatever they read, and are not authorized.
func TestImpersonationIsRefused(t *testing.T) {
	for _, header := range []string{"Impersonate-User", "impersonate-group", "Impersonate-Uid", "Impersonate-Extra-Scopes", "Impersonate-Anything"} {
		inBubble(t, func(t *testing.T, f *facade) {
			f.Put("ns/a", "1")
			for _, target := range []string{"/api/v1/configmaps?resourceVersion=0", "/api/v1/namespaces/ns/secrets/a", "/version", "/metrics"} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+target, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header[http.CanonicalHeaderKey(header)] = []string{"admin"}
				response, err := f.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if response.StatusCode != http.StatusForbidden {
					t.Errorf("%s with %s: got %d, want 403", target, header, response.StatusCode)
				}
			}
			if source := f.events.last().Source; source != observe.FromFacade {
				t.Errorf("got a response from %s", source)
			}
		})
	}
}

// The credentials of a forwarded request depend on the caller, the request and the operator's choice (ADR 12).
func TestUpstreamCredentials(t *testing.T) {
	var (
		person, facade, anonymous = upstream.AsKubeconfig(), upstream.AsFacade(), upstream.Anonymously()
		token                     = upstream.WithToken("secret")
		refused                   *upstream.Credentials
	)
	asAlice, err := upstream.Impersonating(alice(0).Info)
	if err != nil {
		t.Fatal(err)
	}
	held := func(q *Request) { q.resource.Cacheable = true }
	document := func(q *Request) { q.subject = aboutDocument }
	secret := func(q *Request) { q.reason = observe.NotCached }
	other := func(q *Request) { q.subject, q.reason = aboutAnything, observe.NotARead }
	head := func(q *Request) { q.method = http.MethodHead; held(q); other(q) }
	for name, c := range map[string]struct {
		way  auth.Way
		as   PassThroughAs
		of   func(*Request)
		want *upstream.Credentials
	}{
		"kubeconfig, any read":                    {auth.ByKubeconfig, PassAsToken, secret, &person},
		"kubeconfig, no forwarding":               {auth.ByKubeconfig, PassNothing, secret, &person},
		"a token, cacheable":                      {auth.ByToken, PassAsToken, held, &token},
		"a token, a Secret":                       {auth.ByToken, PassAsToken, secret, &token},
		"a token with impersonation":              {auth.ByToken, PassAsImpersonation, secret, &token},
		"a token, no forwarding":                  {auth.ByToken, PassNothing, secret, refused},
		"a token, no forwarding except cacheable": {auth.ByToken, PassNothing, held, &facade},
		"a certificate, cacheable":                {auth.ByCertificate, PassAsToken, held, &facade},
		"a certificate, a document":               {auth.ByCertificate, PassAsToken, document, &facade},
		"a certificate, a Secret":                 {auth.ByCertificate, PassAsToken, secret, refused},
		"a certificate, HEAD":                     {auth.ByCertificate, PassAsToken, head, refused},
		"a certificate, any path":                 {auth.ByCertificate, PassAsToken, other, refused},
		"impersonated, a Secret":                  {auth.ByCertificate, PassAsImpersonation, secret, &asAlice},
		"impersonated, cacheable":                 {auth.ByCertificate, PassAsImpersonation, held, &facade},
		"a front proxy's user, a Secret":          {auth.ByFrontProxy, PassAsToken, secret, refused},
		"a front proxy's user, impersonated":      {auth.ByFrontProxy, PassAsImpersonation, secret, &asAlice},
		"anonymous, a Secret":                     {auth.Anonymously, PassAsToken, secret, &anonymous},
		"anonymous, impersonation":                {auth.Anonymously, PassAsImpersonation, other, &anonymous},
		"anonymous, no forwarding":                {auth.Anonymously, PassNothing, secret, refused},
	} {
		t.Run(name, func(t *testing.T) {
			q := &Request{Caller: alice(c.way), method: http.MethodGet, token: "secret", info: &request.RequestInfo{}, url: &url.URL{Path: "/x"}, Event: &observe.Event{}}
			c.of(q)
			s := &Server{resolver: resolver{passAs: c.as}}
			got, err := s.credentials(t.Context(), q)
			if (err != nil) != (c.want == nil) || c.want != nil && got.String() != c.want.String() {
				t.Errorf("got %+v, %v; want %+v", got, err, c.want)
			}
			// A request that is not forwarded under the caller's identity was authorized first.
			own := c.way == auth.ByKubeconfig || c.want != nil && c.want.String() != facade.String()
			if s.resolver.passedThrough(q) && !own {
				t.Error("got a request that the upstream authorizes, want it reviewed before")
			}
		})
	}
}

// A request that cannot be forwarded gets a 501, which names what the caller can do. It is not logged, because clients
// may send any number of them.
func TestRequestsThatCannotBeForwardedGet501(t *testing.T) {
	for name, c := range map[string]struct {
		as      PassThroughAs
		caller  *auth.Caller
		message string
	}{
		"a certificate": {PassAsToken, alice(auth.ByCertificate),
			"this request is not cached, and cannot be forwarded with the caller's credentials: use a bearer token, or send it to kube-apiserver; " +
				"with --passthrough=impersonate listfacade also forwards requests of other callers"},
		"one that cannot be impersonated": {PassAsImpersonation, auth.NewCaller(&user.DefaultInfo{Name: "two\nlines"}, auth.ByCertificate, time.Time{}),
			"this request is not cached, and cannot be forwarded with the caller's credentials: use a bearer token, or send it to kube-apiserver"},
		"no forwarding": {PassNothing, alice(auth.ByToken), "this request is not cached, and listfacade does not forward it (--passthrough=off): send it to kube-apiserver"},
	} {
		t.Run(name, func(t *testing.T) {
			q := &Request{Caller: c.caller, method: http.MethodPost, token: "secret", info: &request.RequestInfo{}, url: &url.URL{Path: "/x"}, Event: &observe.Event{}}
			_, err := (&Server{resolver: resolver{passAs: c.as}}).credentials(t.Context(), q)
			status := statusOf(err)
			if status.Code != http.StatusNotImplemented || status.Message != c.message || !isClients(err) {
				t.Errorf("got %d %q, the client's: %t, want 501 %q", status.Code, status.Message, isClients(err), c.message)
			}
		})
	}
}

// The forwarded token is the one that authenticated the caller, or none.
func TestBearerToken(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		want   string
	}{
		"none":                      {http.Header{}, ""},
		"a token":                   {http.Header{"Authorization": {"Bearer a.b.c"}}, "a.b.c"},
		"in small letters":          {http.Header{"Authorization": {"bearer a"}}, "a"},
		"spaces around it":          {http.Header{"Authorization": {"  Bearer a "}}, "a"},
		"two spaces":                {http.Header{"Authorization": {"Bearer  a"}}, ""},
		"a password":                {http.Header{"Authorization": {"Basic YTpi"}}, ""},
		"two":                       {http.Header{"Authorization": {"Bearer a", "Bearer b"}}, "a"},
		"another protocol":          {http.Header{"Authorization": {"Bearer a"}, "Sec-Websocket-Protocol": {"base64.binary.k8s.io"}}, "a"},
		"another one in a protocol": {http.Header{"Authorization": {"Bearer a"}, "Sec-Websocket-Protocol": {"x, base64url.bearer.authorization.k8s.io.Yg"}}, ""},
	} {
		if got := bearerToken(c.header); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
