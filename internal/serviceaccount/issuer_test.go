package serviceaccount

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"testing"
	"time"

	jose "gopkg.in/go-jose/go-jose.v2"
)

const testIssuer = "https://issuer.example"

// issuer signs tokens with one key.
type issuer struct {
	key crypto.Signer
	id  string
	alg jose.SignatureAlgorithm
}

func newIssuer(t testing.TB) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{key: key, id: "one", alg: jose.ES256}
}

func newRSAIssuer(t testing.TB) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{key: key, id: "one", alg: jose.RS256}
}

// keys returns the keys as the upstream publishes them.
func (i *issuer) keys(t testing.TB) *Keys {
	t.Helper()
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: i.id, Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ParseKeys([]byte(`{"issuer":"`+testIssuer+`"}`), set)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// sign returns a token with a payload.
func (i *issuer) sign(t testing.TB, payload any) string {
	t.Helper()
	body, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: i.alg, Key: jose.JSONWebKey{Key: i.key, KeyID: i.id}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(body)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// object is JSON.
type object = map[string]any

// usual returns the payload of a token that is bound to a pod, after changes.
func usual(changes ...func(public, private object)) object {
	private := object{
		"namespace": "ns", "serviceaccount": object{"name": "robot", "uid": "1"}, "pod": object{"name": "p", "uid": "2"},
		"node": object{"name": "n", "uid": "3"}, "warnafter": time.Now().Add(time.Hour).Unix(),
	}
	public := object{
		"iss": testIssuer, "sub": "system:serviceaccount:ns:robot", "aud": []string{"api"}, "jti": "id",
		"exp": time.Now().Add(time.Hour).Unix(), "nbf": time.Now().Unix(), "iat": time.Now().Unix(), "kubernetes.io": private,
	}
	for _, change := range changes {
		change(public, private)
	}
	return public
}
