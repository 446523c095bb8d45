package upstream

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/transport"
)

// Speaker says in whose name the upstream is asked (docs/adr/0012-in-whose-name.md). The zero value stands for nobody.
type Speaker struct {
	way   way
	token string
	info  user.Info
}

type way int

const (
	nobody way = iota
	kubeconfig
	facade
	token
	impersonated
)

// AsKubeconfig asks with the facade's credentials, for callers who act as the kubeconfig's user: what the upstream
// refuses is the answer.
func AsKubeconfig() Speaker { return Speaker{way: kubeconfig} }

// AsFacade asks with the facade's credentials what a caller was granted: what the upstream refuses is a *RefusedError,
// since its answer is about the facade.
func AsFacade() Speaker { return Speaker{way: facade} }

// Anonymously asks without credentials.
func Anonymously() Speaker { return Speaker{} }

// WithToken asks with the caller's token, and no credentials of the facade.
func WithToken(bearer string) Speaker { return Speaker{way: token, token: bearer} }

// Impersonating asks with the facade's credentials as somebody else (KEP-5284). That the upstream does not let the
// facade do so is a *RefusedError.
func Impersonating(info user.Info) Speaker { return Speaker{way: impersonated, info: info} }

// transport returns what sends requests in the speaker's name.
func (p *PassThrough) transport(as Speaker) http.RoundTripper {
	switch as.way {
	case kubeconfig, facade:
		return p.client.http.Transport
	case token:
		return bearer{RoundTripper: p.client.nameless, token: as.token}
	case impersonated:
		return transport.NewImpersonatingRoundTripper(impersonation(as.info), p.client.http.Transport)
	default:
		return p.client.nameless
	}
}

// bearer sends requests with a token.
type bearer struct {
	http.RoundTripper
	token string
}

// WrappedRoundTripper lets idle connections be closed.
func (b bearer) WrappedRoundTripper() http.RoundTripper { return b.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = utilnet.CloneRequest(r)
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.RoundTripper.RoundTrip(r)
}

// serviceAccount and node begin the names of users whose groups the upstream knows: it impersonates them by their names
// alone.
const (
	serviceAccount = "system:serviceaccount:"
	node           = "system:node:"
)

// impersonation is what the upstream is told of a user. It adds the group of all who are authenticated itself.
func impersonation(info user.Info) transport.ImpersonationConfig {
	if name := info.GetName(); strings.HasPrefix(name, serviceAccount) || strings.HasPrefix(name, node) {
		return transport.ImpersonationConfig{UserName: name}
	}
	groups := sets.New(info.GetGroups()...).Delete(user.AllAuthenticated)
	return transport.ImpersonationConfig{
		UserName: info.GetName(), UID: info.GetUID(), Groups: sets.List(groups), Extra: info.GetExtra(),
	}
}

// refusal is a *RefusedError if an answer is about the facade, which asked in somebody's name, and not about that
// somebody. It may read the answer's body, which is put back.
func (as Speaker) refusal(response *http.Response) error {
	denied := response.StatusCode == http.StatusForbidden
	switch {
	case as.way == facade && (denied || response.StatusCode == http.StatusUnauthorized):
	case as.way == impersonated && response.StatusCode == http.StatusUnauthorized:
	case as.way == impersonated && denied && isAboutImpersonation(response):
	default:
		return nil
	}
	return &RefusedError{Code: response.StatusCode}
}

// impersonationWords are in every refusal of an impersonation.
const impersonationWords = "cannot impersonate"

// isAboutImpersonation reads the beginning of an answer. Whatever encoding it is in, its message stands in it as text;
// a compressed one would be of more than 128 KiB, which no refusal has.
func isAboutImpersonation(response *http.Response) bool {
	upstreams := response.Body
	beginning, err := io.ReadAll(io.LimitReader(upstreams, maxErrorBody))
	response.Body = &ownedBody{
		ReadCloser: io.NopCloser(io.MultiReader(bytes.NewReader(beginning), upstreams)), release: func() { _ = upstreams.Close() },
	}
	return err == nil && bytes.Contains(beginning, []byte(impersonationWords))
}
