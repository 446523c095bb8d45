package auth

import (
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
)

// reverifyProxy is how long a proxy's certificate is accepted without verifying its chain again. It is short, because
// the libraries do not return the expiry of the chain.
const reverifyProxy = time.Minute

type proxies struct {
	*authority
	names    []string // common names that a proxy's certificate may have; empty allows any
	headers  ProxyHeaders
	verifier authenticator.Request
}

func newProxies(pem []byte, names []string, headers ProxyHeaders) (*proxies, error) {
	authority, err := newAuthority(pem)
	if err != nil {
		return nil, err
	}
	nothing := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{}}, true, nil
	})
	return &proxies{
		authority: authority, names: names, headers: headers,
		verifier: x509request.NewDynamicCAVerifier(x509request.StaticVerifierFn(authority.options), nothing,
			x509request.StaticStringSlice(names)),
	}, nil
}

// byHeaders returns the caller that the proxy's headers name, or nil if they name none. The certificate is verified
// first: even without headers, a certificate of another authority is an invalid credential, as in kube-apiserver.
func (p *proxies) byHeaders(r *http.Request) (*Caller, error) {
	if _, err := p.remember(r, func() (*Caller, time.Time, error) {
		_, _, err := p.verifier.AuthenticateRequest(r)
		return nil, p.until(r), err
	}); err != nil {
		return nil, err
	}
	info := p.headers.read(r.Header)
	if info == nil {
		return nil, nil
	}
	p.headers.clear(r.Header) // now, because Authenticator.clear may already use a newer configuration
	return authenticated(info, ByFrontProxy, time.Time{})
}

func (p *proxies) until(r *http.Request) time.Time {
	soon, end := time.Now().Add(reverifyProxy), endOf(r.TLS.PeerCertificates)
	if end.Before(soon) {
		return end
	}
	return soon
}
