package auth

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	certutil "k8s.io/client-go/util/cert"
)

const (
	// maxCertificates and maxForeign bound the cached results per bundle, for accepted and for refused chains. The caches
	// are separate, because anyone can create certificates that are refused.
	maxCertificates, maxForeign = 16384, 1024
	foreignTTL                  = 10 * time.Second // how long a refused chain is cached
)

// authority is a CA bundle with the cached results of verifying chains against it. Verification takes longer than the
// rest of a request. A changed bundle is a new authority.
type authority struct {
	pem       []byte
	options   x509.VerifyOptions
	verified  *cache.LRUExpireCache // chainKey to verification, for valid chains
	refusedBy *cache.LRUExpireCache // chainKey to error, for invalid chains
}

func newAuthority(pem []byte) (*authority, error) {
	roots, err := certutil.NewPoolFromBytes(pem)
	if err != nil {
		return nil, fmt.Errorf("parse CA bundle: %w", err)
	}
	options := x509request.DefaultVerifyOptions()
	options.Roots = roots
	return &authority{
		pem: pem, options: options,
		verified: cache.NewLRUExpireCache(maxCertificates), refusedBy: cache.NewLRUExpireCache(maxForeign),
	}, nil
}

// chainKey is a hash of all certificates that a client sent. Verification decides which of them form a chain.
type chainKey [sha256.Size]byte

func keyOf(chain []*x509.Certificate) chainKey {
	if len(chain) == 1 {
		return sha256.Sum256(chain[0].Raw)
	}
	hash := sha256.New()
	for _, certificate := range chain {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(certificate.Raw))))
		hash.Write(certificate.Raw)
	}
	return chainKey(hash.Sum(nil))
}

// remember returns the cached result for the request's certificates, or calls verify and caches its result. Without an
// error, verify returns the time until which the result is valid.
func (a *authority) remember(r *http.Request, verify func() (*Caller, time.Time, error)) (*Caller, error) {
	key := keyOf(r.TLS.PeerCertificates)
	if known, ok := a.verified.Get(key); ok {
		// The system clock may be set back or forward, so the expiry of the cache entry is not enough.
		if known := known.(verification); time.Now().Before(known.until) {
			return known.caller, nil
		}
	}
	if err, ok := a.refusedBy.Get(key); ok {
		return nil, err.(error)
	}
	caller, until, err := verify()
	if err != nil {
		err = notAuthenticated(err)
		a.refusedBy.Add(key, err, foreignTTL)
		return nil, err
	}
	a.verified.Add(key, verification{caller: caller, until: until}, time.Until(until))
	return caller, nil
}

type verification struct {
	caller *Caller
	until  time.Time
}

// byCertificate returns the caller of the client certificate of the request's connection; nil if the certificate has no
// common name.
func (a *authority) byCertificate(r *http.Request) (*Caller, error) {
	return a.remember(r, func() (caller *Caller, until time.Time, err error) {
		conversion := x509request.UserConversionFunc(func(chain []*x509.Certificate) (*authenticator.Response, bool, error) {
			until = endOf(chain)
			return x509request.CommonNameUserConversion(chain)
		})
		response, ok, err := x509request.New(a.options, conversion).AuthenticateRequest(r)
		if err != nil || !ok {
			return nil, until, err
		}
		caller, err = authenticated(response.User, ByCertificate, until)
		return caller, until, err
	})
}

func endOf(chain []*x509.Certificate) time.Time {
	end := chain[0].NotAfter
	for _, certificate := range chain[1:] {
		if certificate.NotAfter.Before(end) {
			end = certificate.NotAfter
		}
	}
	return end
}
