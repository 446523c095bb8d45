package auth

import (
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
)

// reverifyProxy is how long a proxy's certificate is believed without looking at the chain again, of which the
// libraries do not say when it ends.
const reverifyProxy = time.Minute

// proxies are the front proxies that are believed.
type proxies struct {
	*authority
	names    []string // the common names that their certificates may have; none: any
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
		verifier: x509request.NewDynamicCAVerifier(x509request.StaticVerifierFn(authority.options), nothing, x509request.StaticStringSlice(names)),
	}, nil
}

// byHeaders names the caller as the proxy does. Its certificate is verified first, also where there are no headers, so
// that one that is no proxy's counts as a bad credential, as with kube-apiserver.
func (p *proxies) byHeaders(r *http.Request) (*Caller, error) {
	if _, err := p.remember(r, func() (*Caller, time.Time, error) {
		_, _, err := p.verifier.AuthenticateRequest(r)
		return nil, p.until(r), err
	}); err != nil {
		return nil, err
	}
	who := p.headers.read(r.Header)
	if who == nil {
		return nil, nil
	}
	p.headers.clear(r.Header) // by these names, whatever those of the trust that follows are
	return authenticated(who, ByFrontProxy, time.Time{})
}

func (p *proxies) until(r *http.Request) time.Time {
	soon, end := time.Now().Add(reverifyProxy), endOf(r.TLS.PeerCertificates)
	if end.Before(soon) {
		return end
	}
	return soon
}
