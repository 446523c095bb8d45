package auth

import (
	"net/http"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
)

// ProxyHeaders are how a front proxy says whom a request is from, by the names of headers, whatever their case.
type ProxyHeaders struct {
	Username, UID, Group []string
	ExtraPrefix          []string // what begins the names of headers that are extra
}

// reverifyProxy is how long a proxy's certificate is believed without looking at the chain again, of which the
// libraries do not say when it ends.
const reverifyProxy = time.Minute

// proxies are the front proxies that are believed.
type proxies struct {
	*authority
	names    []string // the common names that their certificates may have; none: any
	headers  ProxyHeaders
	verifier authenticator.Request
	reader   authenticator.Request
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
		reader: headerrequest.NewDynamic(headerrequest.StaticStringSlice(headers.Username), headerrequest.StaticStringSlice(headers.UID),
			headerrequest.StaticStringSlice(headers.Group), headerrequest.StaticStringSlice(headers.ExtraPrefix)),
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
	response, ok, err := p.reader.AuthenticateRequest(r)
	if err != nil || !ok {
		return nil, err
	}
	return proven(response.User, ByFrontProxy, time.Time{})
}

func (p *proxies) until(r *http.Request) time.Time {
	soon, end := time.Now().Add(reverifyProxy), endOf(r.TLS.PeerCertificates)
	if end.Before(soon) {
		return end
	}
	return soon
}

func (h ProxyHeaders) equal(other ProxyHeaders) bool {
	return slices.Equal(h.Username, other.Username) && slices.Equal(h.UID, other.UID) &&
		slices.Equal(h.Group, other.Group) && slices.Equal(h.ExtraPrefix, other.ExtraPrefix)
}
