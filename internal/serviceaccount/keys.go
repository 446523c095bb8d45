package serviceaccount

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jose "gopkg.in/go-jose/go-jose.v2"
	"gopkg.in/go-jose/go-jose.v2/jwt"
)

// Paths at which kube-apiserver publishes the issuer of tokens and the public keys that verify them.
const (
	DiscoveryPath = "/.well-known/openid-configuration"
	KeysPath      = "/openid/v1/jwks"
)

// Keys are the published issuer of tokens and its public keys. Immutable; safe for concurrent use.
type Keys struct {
	issuer string
	byID   map[string]PublicKey
}

// PublicKey is a public key that can be compared.
type PublicKey interface {
	Equal(other crypto.PublicKey) bool
}

var (
	errNoIssuer = errors.New("OIDC discovery document has no issuer")
	errNoKeys   = errors.New("key set has no public RSA or ECDSA key with an ID")
	errKeyTwice = errors.New("key set has two keys with the same ID")
)

// ParseKeys reads the bodies of DiscoveryPath and KeysPath. It uses only RSA and ECDSA keys that have an ID.
func ParseKeys(discovery, keys []byte) (*Keys, error) {
	var document struct {
		Issuer string `json:"issuer"`
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(discovery, &document); err != nil {
		return nil, fmt.Errorf("decode OIDC discovery document: %w", err)
	}
	if err := json.Unmarshal(keys, &set); err != nil {
		return nil, fmt.Errorf("decode key set: %w", err)
	}
	k := &Keys{issuer: document.Issuer, byID: map[string]PublicKey{}}
	for _, one := range set.Keys {
		public, ok := publicKey(one.Key)
		if !ok || one.KeyID == "" {
			continue
		}
		if k.byID[one.KeyID] != nil {
			return nil, errKeyTwice
		}
		k.byID[one.KeyID] = public
	}
	switch {
	case k.issuer == "":
		return nil, errNoIssuer
	case len(k.byID) == 0:
		return nil, errNoKeys
	}
	return k, nil
}

func publicKey(key any) (PublicKey, bool) {
	switch public := key.(type) {
	case *rsa.PublicKey:
		return public, true
	case *ecdsa.PublicKey:
		return public, true
	default: // a private key, or another algorithm
		return nil, false
	}
}

// Token is a token whose signature was verified. Immutable.
type Token struct {
	Claims
	key PublicKey
}

// ErrUnknownKey is returned for a token whose key is not in Keys. Newer Keys may contain the key.
var ErrUnknownKey = errors.New("token was signed with an unknown key")

var errSignature = errors.New("token has a wrong signature")

// Unverified is a parsed token whose signature is not verified.
type Unverified struct {
	token *jwt.JSONWebToken
	*Claims
}

// Parse reads a token without verifying its signature. It returns ErrUnusual for a string that is not a bound token.
func Parse(token string) (*Unverified, error) {
	if strings.Count(token, ".") != 2 || strings.Trim(token, compact) != "" {
		return nil, ErrUnusual
	}
	parsed, err := jwt.ParseSigned(token)
	if err != nil || len(parsed.Headers) != 1 || !isUsualHeader(parsed.Headers[0]) {
		return nil, ErrUnusual
	}
	var data rawPayload
	if parsed.UnsafeClaimsWithoutVerification(&data) != nil {
		return nil, ErrUnusual
	}
	claims, err := parseClaims(data)
	if err != nil {
		return nil, err
	}
	claims.KeyID = parsed.Headers[0].KeyID
	return &Unverified{token: parsed, Claims: claims}, nil
}

// compact are the characters of a token in compact form. The library also accepts white space and the JSON form.
const compact = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

// isUsualHeader reports whether a header is like the headers of tokens that kube-apiserver signs.
func isUsualHeader(header jose.Header) bool {
	if header.KeyID == "" || header.JSONWebKey != nil || header.Nonce != "" {
		return false
	}
	switch jose.SignatureAlgorithm(header.Algorithm) {
	case jose.RS256, jose.ES256, jose.ES384, jose.ES512:
		return true
	default:
		return false
	}
}

type rawPayload []byte

func (p *rawPayload) UnmarshalJSON(data []byte) error {
	*p = append((*p)[:0], data...)
	return nil
}

// Verify checks the issuer and the signature of a token. It returns ErrUnusual for another issuer, and ErrUnknownKey
// for an unknown key.
func (k *Keys) Verify(u *Unverified) (*Token, error) {
	if u.Issuer != k.issuer {
		return nil, ErrUnusual
	}
	key := k.byID[u.KeyID]
	if key == nil {
		return nil, ErrUnknownKey
	}
	if u.token.Claims(key) != nil {
		return nil, errSignature
	}
	return &Token{Claims: *u.Claims, key: key}, nil
}

// Trusts reports whether the keys have the token's issuer, and still contain the key that verified the token.
func (k *Keys) Trusts(t *Token) bool {
	key := k.byID[t.KeyID]
	return key != nil && k.issuer == t.Issuer && key.Equal(t.key)
}

// Publish reports whether the keys have the token's issuer, and contain the key that the token names.
func (k *Keys) Publish(u *Unverified) bool { return k.issuer == u.Issuer && k.byID[u.KeyID] != nil }

// Knows reports whether the keys contain the key that the token names. For a token of another issuer it returns true,
// because newer keys would not help.
func (k *Keys) Knows(u *Unverified) bool { return k.issuer != u.Issuer || k.byID[u.KeyID] != nil }
