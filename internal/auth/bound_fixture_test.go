package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	jose "gopkg.in/go-jose/go-jose.v2"
	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/listfacade/listfacade/internal/serviceaccount"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

const (
	apiAudience = "https://kubernetes.default.svc"
	robotUID    = "1"
)

// issuer is an upstream that issues bound tokens, publishes its keys and shows objects. It reviews the tokens that it
// issued, while they are not revoked.
type issuer struct {
	*reviewer
	pages
	t testing.TB

	mu      sync.Mutex
	key     *ecdsa.PrivateKey
	id      string
	objects map[string]serviceaccount.Object // by resource/namespace/name
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{reviewer: knows(nil), t: t, objects: map[string]serviceaccount.Object{}}
	i.show("serviceaccounts/ns/robot", robotUID)
	i.rotate("one")
	i.publish()
	return i
}

// rotate makes the issuer sign with a new key.
func (i *issuer) rotate(id string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	i.key, i.id = key, id
}

// publish publishes the key that the issuer signs with, and no other.
func (i *issuer) publish() {
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &i.key.PublicKey, KeyID: i.id}}})
	if err != nil {
		i.t.Fatal(err)
	}
	i.set(serviceaccount.DiscoveryPath, 200, `{"issuer":"https://issuer"}`)
	i.set(serviceaccount.KeysPath, 200, string(set))
}

func (i *issuer) show(key, uid string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.objects[key] = serviceaccount.Object{UID: uid}
}

func (i *issuer) remove(key string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.objects, key)
}

func (i *issuer) object(resource, namespace, name string) (serviceaccount.Object, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	object, ok := i.objects[resource+"/"+namespace+"/"+name]
	return object, ok
}

// revoke makes reviews refuse a token.
func (i *issuer) revoke(token string) {
	i.reviewer.mu.Lock()
	defer i.reviewer.mu.Unlock()
	delete(i.users, token)
}

// token issues a token of the account robot in a pod, for the API audience and an hour.
func (i *issuer) token(pod string, changes map[string]any) string {
	claims := map[string]any{
		"iss": "https://issuer", "sub": "system:serviceaccount:ns:robot", "aud": []string{apiAudience}, "jti": "id-" + pod,
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "nbf": time.Now().Unix(),
		"kubernetes.io": map[string]any{
			"namespace": "ns", "serviceaccount": map[string]any{"name": "robot", "uid": robotUID},
			"pod": map[string]any{"name": pod, "uid": "uid-" + pod},
		},
	}
	maps.Copy(claims, changes)
	body, err := json.Marshal(claims)
	if err != nil {
		i.t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: i.id}}, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	signed, err := signer.Sign(body)
	if err != nil {
		i.t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		i.t.Fatal(err)
	}
	i.show("pods/ns/"+pod, "uid-"+pod)
	i.reviewer.mu.Lock()
	defer i.reviewer.mu.Unlock()
	i.users[token] = authenticationv1.UserInfo{
		Username: "system:serviceaccount:ns:robot", UID: robotUID,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"},
		Extra: map[string]authenticationv1.ExtraValue{
			"authentication.kubernetes.io/pod-name": {pod}, "authentication.kubernetes.io/pod-uid": {"uid-" + pod},
			"authentication.kubernetes.io/credential-id": {"JTI=id-" + pod},
		},
	}
	return token
}

// verifying is a running Authenticator that verifies the tokens of an issuer, and counts what it accepts.
type verifying struct {
	*Authenticator
	*issuer
	counts *counted
}

// verify runs a test in a bubble with an issuer and a running authenticator.
func verify(t *testing.T, test func(t *testing.T, v verifying), changes ...func(*AuthenticatorConfig)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		i, counts := newIssuer(t), newCounted()
		a := tokensOnly(i.reviewer, func(c *AuthenticatorConfig) {
			c.Bound, c.Outcomes = BoundTokens{Keys: i, Object: i.object}, counts
			for _, change := range changes {
				change(c)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		defer wait.Wait()
		defer cancel()
		wait.Go(func() { a.Run(ctx) })
		test(t, verifying{a, i, counts})
	})
}

// sends expects the result of a request with a token and the number of reviews that it costs.
func (v verifying) sends(t *testing.T, token, want string, reviews int64) {
	t.Helper()
	before := v.reviewer.asked.Load()
	caller, err := v.Authenticate(withToken(request(), token))
	expect(t, "the token", want, caller, err)
	if got := v.reviewer.asked.Load() - before; got != reviews {
		t.Errorf("got %d reviews, want %d", got, reviews)
	}
}

const robot = "token:system:serviceaccount:ns:robot"

// learnsAudience has the first token reviewed, and waits until the result of that review is no longer cached.
func (v verifying) learnsAudience(t *testing.T) {
	t.Helper()
	v.sends(t, v.token("first", nil), robot, 1)
	if got := v.counts.tokens; got[ByReview] != 1 || got[ByVerification] != 0 {
		t.Errorf("got %v, want one token accepted by a review", fmt.Sprint(got))
	}
}
