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
	// maxCertificates and maxForeign bound the chains of one bundle that are remembered. Those that were refused have
	// places of their own, because anybody can make them.
	maxCertificates, maxForeign = 16384, 1024
	foreignTTL                  = 10 * time.Second
)

// authority is a bundle of certificates that sign others, and which others it has been found to sign: finding that out
// takes longer than all else of a request. A new bundle is a new authority.
type authority struct {
	pem       []byte
	options   x509.VerifyOptions
	verified  *cache.LRUExpireCache // chainKey to *Caller; nil for chains that prove nobody and are good
	refusedBy *cache.LRUExpireCache // chainKey to error
}

// newAuthority reads a bundle in PEM; it is an error if there is no certificate in it.
func newAuthority(pem []byte) (*authority, error) {
	roots, err := certutil.NewPoolFromBytes(pem)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of an authority: %w", err)
	}
	options := x509request.DefaultVerifyOptions()
	options.Roots = roots
	return &authority{
		pem: pem, options: options,
		verified: cache.NewLRUExpireCache(maxCertificates), refusedBy: cache.NewLRUExpireCache(maxForeign),
	}, nil
}

// chainKey is the hash of all certificates that a client sent: which of them lead to the authority is found out by
// verifying.
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

// remember returns what verify said of the request's certificates, now or before. verify says until when that holds, if
// it is no error.
func (a *authority) remember(r *http.Request, verify func() (*Caller, time.Time, error)) (*Caller, error) {
	key := keyOf(r.TLS.PeerCertificates)
	if known, ok := a.verified.Get(key); ok {
		// Clocks may be set, so that it is not enough that the entry has not ended.
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

// byCertificate names the caller by the client certificate that the request's connection has; nobody if it has no
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

// endOf is when the first certificate of a chain ends.
func endOf(chain []*x509.Certificate) time.Time {
	end := chain[0].NotAfter
	for _, certificate := range chain[1:] {
		if certificate.NotAfter.Before(end) {
			end = certificate.NotAfter
		}
	}
	return end
}
