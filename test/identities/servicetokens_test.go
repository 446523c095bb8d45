package identities

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap/zaptest"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/rbac"
	"github.com/listfacade/listfacade/internal/serviceaccount"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
	"github.com/listfacade/listfacade/internal/upstream"
)

// tokenRig authenticates tokens as a facade does, with the real upstream, and remembers no result of a review.
type tokenRig struct {
	*auth.Authenticator
	*suite.Fixture
	cluster      *testkit.Cluster
	clients      kubernetes.Interface
	verification atomic.Int64
}

// Attempted implements auth.Outcomes.
func (*tokenRig) Attempted(auth.Result) {}

// Reviewed implements auth.Outcomes.
func (*tokenRig) Reviewed(auth.Result, time.Duration) {}

// TokenAccepted implements auth.Outcomes.
func (r *tokenRig) TokenAccepted(by auth.Means) {
	if by == auth.ByVerification {
		r.verification.Add(1)
	}
}

func newTokenRig(t *testing.T) *tokenRig {
	t.Helper()
	cluster := suite.Cluster(t)
	r := &tokenRig{Fixture: suite.NewFixture(t, cluster), cluster: cluster}
	config := suite.FacadeConfig(t, cluster)
	reviewer, err := upstream.NewReviewer(r.Config, upstream.Hop{})
	must(t, err)
	t.Cleanup(reviewer.CloseIdle)
	r.clients, err = kubernetes.NewForConfig(r.Config)
	must(t, err)
	objects, err := metadata.NewForConfig(config)
	must(t, err)
	of := map[string]*rbac.Objects{}
	for _, resource := range []string{"serviceaccounts", "pods"} {
		of[resource], err = rbac.NewObjects(objects, resource, zaptest.NewLogger(t))
		must(t, err)
	}
	r.Authenticator = auth.NewAuthenticator(auth.AuthenticatorConfig{
		Tokens: reviewer, Outcomes: r, Log: zaptest.NewLogger(t), SuccessTTL: 1, FailureTTL: 1, Anonymous: auth.AnonymousOff,
		Failures: auth.FailureLimits{Source: 1 << 20, SourceBurst: 1 << 20},
		Bound: auth.BoundTokens{Keys: reviewer.Issuer(), Object: func(resource, namespace, name string) (serviceaccount.Object, bool) {
			watched := of[resource]
			if watched == nil || !watched.Current() {
				return serviceaccount.Object{}, false
			}
			return watched.Find(namespace + "/" + name)
		}},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	for _, run := range []func(context.Context){r.Run, of["serviceaccounts"].Run, of["pods"].Run} {
		wait.Go(func() { run(ctx) })
	}
	t.Cleanup(wait.Wait)
	t.Cleanup(cancel)
	testkit.Eventually(t, "service accounts and pods are watched", func() error {
		if !of["serviceaccounts"].Current() || !of["pods"].Current() {
			return errors.New("they are not")
		}
		return nil
	})
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pod creates a pod of the account robot, which a finalizer keeps if it is deleted.
func (r *tokenRig) pod(t *testing.T, name string, finalizers ...any) {
	t.Helper()
	r.Create(t, suite.Pods, map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": name, "finalizers": finalizers},
		"spec": map[string]any{"serviceAccountName": "robot", "containers": []any{map[string]any{"name": "c", "image": "none"}}},
	})
}

func (r *tokenRig) token(t *testing.T, account string, o testkit.TokenOptions) string {
	t.Helper()
	return r.cluster.Token(t, r.Namespace, account, o)
}

// compare fails unless the facade and a TokenReview say the same about a token. It returns whether the token is valid,
// and whether the facade accepted it without a review.
func (r *tokenRig) compare(t *testing.T, token string) (accepted, verified bool, err error) {
	t.Helper()
	review, err := r.clients.AuthenticationV1().TokenReviews().Create(t.Context(),
		&authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil {
		return false, false, err
	}
	before := r.verification.Load()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://facade/", nil)
	must(t, err)
	request.RemoteAddr = "192.0.2.1:1"
	request.Header.Set("Authorization", "Bearer "+token)
	caller, err := r.Authenticate(request)
	switch {
	case err != nil && !errors.Is(err, auth.ErrUnauthenticated):
		return false, false, err
	case review.Status.Authenticated != (err == nil):
		return false, false, fmt.Errorf("got error %w, want authenticated %t (%s)", err, review.Status.Authenticated, review.Status.Error)
	case err != nil:
		return false, false, nil
	}
	info := caller.Info
	got := authenticationv1.UserInfo{Username: info.GetName(), UID: info.GetUID(), Groups: info.GetGroups()}
	for key, values := range info.GetExtra() {
		if got.Extra == nil {
			got.Extra = map[string]authenticationv1.ExtraValue{}
		}
		got.Extra[key] = values
	}
	if !reflect.DeepEqual(got, review.Status.User) {
		return false, false, fmt.Errorf("got user %+v, want %+v", got, review.Status.User)
	}
	return true, r.verification.Load() > before, nil
}

// expects compares until the facade says the same as a TokenReview, and accepts the token without a review or not.
// kube-apiserver and the facade may notice a change at different times. The facade also reviews one token each ten
// seconds that it could verify.
func (r *tokenRig) expects(t *testing.T, token string, accepted, verified bool) {
	t.Helper()
	testkit.Eventually(t, "the facade and a TokenReview agree", func() error {
		gotAccepted, gotVerified, err := r.compare(t, token)
		if err == nil && (gotAccepted != accepted || gotVerified != verified) {
			err = fmt.Errorf("got accepted %t, verified %t, want %t, %t", gotAccepted, gotVerified, accepted, verified)
		}
		return err
	})
}

type claims = map[string]any

// tokenStates are changes of a token that is bound to a pod. Each says whether kube-apiserver accepts the result, and
// whether the facade does so without a review.
var tokenStates = map[string]struct {
	change             func(header, claims claims)
	accepted, verified bool
}{
	"unchanged":                  {func(_, _ claims) {}, true, true},
	"no ID":                      {func(_, c claims) { delete(c, "jti") }, true, true},
	"no start":                   {func(_, c claims) { delete(c, "nbf") }, true, true},
	"no time of issue":           {func(_, c claims) { delete(c, "iat") }, true, true},
	"one audience as text":       {func(_, c claims) { c["aud"] = c["aud"].([]any)[0] }, true, true},
	"two audiences":              {func(_, c claims) { c["aud"] = append([]any{"vault"}, c["aud"].([]any)...) }, true, true},
	"an expiry with a fraction":  {func(_, c claims) { c["exp"] = c["exp"].(float64) + 0.5 }, true, true},
	"a warning":                  {func(_, c claims) { private(c)["warnafter"] = 1 }, true, true},
	"a node":                     {func(_, c claims) { private(c)["node"] = claims{"name": "n", "uid": "u"} }, true, true},
	"starts within leeway":       {func(_, c claims) { c["nbf"] = in(30 * time.Second) }, true, true},
	"issued within leeway":       {func(_, c claims) { c["iat"] = in(30 * time.Second) }, true, true},
	"not bound to a pod":         {func(_, c claims) { delete(private(c), "pod") }, true, true},
	"expired within leeway":      {func(_, c claims) { c["exp"] = in(-20 * time.Second) }, true, false},
	"no expiry":                  {func(_, c claims) { delete(c, "exp") }, true, false},
	"no audience":                {func(_, c claims) { delete(c, "aud") }, true, false},
	"an empty audience, too":     {func(_, c claims) { c["aud"] = append([]any{""}, c["aud"].([]any)...) }, true, false},
	"an unknown claim":           {func(_, c claims) { c["groups"] = []string{"system:masters"} }, true, false},
	"another subject":            {func(_, c claims) { c["sub"] = "system:serviceaccount:x:y" }, true, false},
	"no key ID":                  {func(h, _ claims) { delete(h, "kid") }, true, false},
	"a node without UID":         {func(_, c claims) { private(c)["node"] = claims{"name": "n"} }, true, false},
	"an empty pod":               {func(_, c claims) { private(c)["pod"] = claims{} }, false, false},
	"expired":                    {func(_, c claims) { c["exp"] = in(-2 * time.Minute) }, false, false},
	"an expiry before 1970":      {func(_, c claims) { c["exp"] = -1 }, false, false},
	"an expiry as text":          {func(_, c claims) { c["exp"] = "tomorrow" }, false, false},
	"starts later":               {func(_, c claims) { c["nbf"] = in(2 * time.Minute) }, false, false},
	"issued later":               {func(_, c claims) { c["iat"] = in(2 * time.Minute) }, false, false},
	"another audience":           {func(_, c claims) { c["aud"] = []string{"vault"} }, false, false},
	"another issuer":             {func(_, c claims) { c["iss"] = "https://other" }, false, false},
	"another UID of the account": {func(_, c claims) { private(c)["serviceaccount"].(claims)["uid"] = "x" }, false, false},
	"another account":            {func(_, c claims) { private(c)["serviceaccount"].(claims)["name"] = "x" }, false, false},
	"another namespace":          {func(_, c claims) { private(c)["namespace"] = "kube-system" }, false, false},
	"another UID of the pod":     {func(_, c claims) { private(c)["pod"].(claims)["uid"] = "x" }, false, false},
	"another pod":                {func(_, c claims) { private(c)["pod"].(claims)["name"] = "x" }, false, false},
	"an unknown node":            {func(_, c claims) { delete(private(c), "pod"); private(c)["node"] = claims{"name": "n", "uid": "u"} }, false, false},
	"an unknown secret":          {func(_, c claims) { private(c)["secret"] = claims{"name": "n", "uid": "u"} }, false, false},
	"an unknown key":             {func(h, _ claims) { h["kid"] = "other" }, false, false},
	"no algorithm":               {func(h, _ claims) { h["alg"] = "none" }, false, false},
	"a symmetric algorithm":      {func(h, _ claims) { h["alg"] = "HS256" }, false, false},
	"another algorithm":          {func(h, _ claims) { h["alg"] = "RS256" }, false, false},
	"a critical header":          {func(h, _ claims) { h["crit"], h["x"] = []string{"x"}, 1 }, false, false},
}

func private(c claims) claims { return c["kubernetes.io"].(claims) }

func in(d time.Duration) int64 { return time.Now().Add(d).Unix() }

// The facade accepts a token only if a TokenReview does, and gives it the same user. It accepts usual tokens without a
// review.
func TestTokensAreAcceptedAsByTokenReview(t *testing.T) {
	r := newTokenRig(t)
	r.token(t, "robot", testkit.TokenOptions{}) // which creates the account
	r.pod(t, "bound")
	bound := r.token(t, "robot", testkit.TokenOptions{Pod: "bound"})
	r.expects(t, bound, true, true)
	for name, state := range tokenStates {
		t.Run(name, func(t *testing.T) {
			token := r.cluster.Resign(t, bound, state.change)
			r.expects(t, token, state.accepted, state.verified)
		})
	}
	parts, other := strings.Split(bound, "."), strings.Split(r.token(t, "robot", testkit.TokenOptions{}), ".")
	duplicate := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"x","iss":"https://kubernetes.default.svc.cluster.local"}`))
	for name, token := range map[string]string{
		"another signature": parts[0] + "." + parts[1] + "." + other[2], "another payload": parts[0] + "." + other[1] + "." + parts[2],
		"no signature": parts[0] + "." + parts[1] + ".", "two parts": parts[0] + "." + parts[1], "cut": bound[:len(bound)-4],
		"four parts": bound + ".x", "a claim twice": r.cluster.SignToken(t, parts[0], duplicate), "no payload": r.cluster.SignToken(t, parts[0], ""),
		"JSON": `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
	} {
		t.Run(name, func(t *testing.T) { r.expects(t, token, false, false) })
	}
}

// A token ends with the objects that it is bound to, and not with objects of the same name.
func TestTokensEndWithTheirObjects(t *testing.T) {
	r := newTokenRig(t)
	r.token(t, "robot", testkit.TokenOptions{}) // which creates the account
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	r.Create(t, secrets, map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "bound"}})
	ofSecret := r.token(t, "robot", testkit.TokenOptions{Secret: "bound"})
	r.expects(t, ofSecret, true, false)
	r.Remove(t, secrets, "bound")
	r.expects(t, ofSecret, false, false)

	r.pod(t, "bound")
	ofPod := r.token(t, "robot", testkit.TokenOptions{Pod: "bound"})
	r.expects(t, ofPod, true, true)
	r.Remove(t, suite.Pods, "bound")
	r.expects(t, ofPod, false, false)
	r.pod(t, "bound")
	r.expects(t, ofPod, false, false)
	r.expects(t, r.token(t, "robot", testkit.TokenOptions{Pod: "bound"}), true, true)

	r.pod(t, "leaving", "example.com/keep")
	leaving := r.token(t, "robot", testkit.TokenOptions{Pod: "leaving"})
	r.expects(t, leaving, true, true)
	r.Remove(t, suite.Pods, "leaving")
	r.expects(t, leaving, true, false) // kube-apiserver accepts it for one more minute
	r.Patch(t, suite.Pods, "leaving", `{"metadata":{"finalizers":null}}`)
	r.expects(t, leaving, false, false)

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: r.Namespace}}
	node, err := r.clients.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	must(t, err)
	ofNode := r.cluster.Resign(t, r.token(t, "robot", testkit.TokenOptions{}), func(_, c claims) {
		private(c)["node"] = claims{"name": node.Name, "uid": string(node.UID)}
	})
	r.expects(t, ofNode, true, false)
	must(t, r.clients.CoreV1().Nodes().Delete(t.Context(), node.Name, metav1.DeleteOptions{}))
	r.expects(t, ofNode, false, false)

	alone := r.token(t, "robot", testkit.TokenOptions{})
	r.expects(t, alone, true, true)
	r.Remove(t, suite.Accounts, "robot")
	r.expects(t, alone, false, false)
	r.token(t, "robot", testkit.TokenOptions{}) // which creates the account again
	r.expects(t, alone, false, false)
	r.expects(t, r.token(t, "robot", testkit.TokenOptions{}), true, true)
}
