package testkit

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/util/keyutil"
)

// Resign returns a copy of a service account token with another header and other claims, signed with kube-apiserver's
// key. kube-apiserver itself never issues such tokens.
func (c *Cluster) Resign(t testing.TB, token string, change func(header, claims map[string]any)) string {
	t.Helper()
	parts := strings.Split(token, ".")
	header, claims := decodePart(t, parts[0]), decodePart(t, parts[1])
	change(header, claims)
	return c.SignToken(t, encodePart(t, header), encodePart(t, claims))
}

// SignToken returns a token with a header and a payload, both encoded, and kube-apiserver's signature.
func (c *Cluster) SignToken(t testing.TB, header, payload string) string {
	t.Helper()
	signed := header + "." + payload
	hash := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, c.tokenKey(t), hash[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...) // ES256
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (c *Cluster) tokenKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	pem, err := os.ReadFile(filepath.Join(c.Dir, "pki", "service-account.key"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(pem)
	if err != nil {
		t.Fatal(err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		t.Fatalf("tokens are signed with a %T", parsed)
	}
	return key
}

func decodePart(t testing.TB, part string) (object map[string]any) {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func encodePart(t testing.TB, object map[string]any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
