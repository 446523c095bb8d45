package upstream

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// Credentials are the upstream credentials of one request. The zero value is not accepted. Only the closure in sign
// contains the token, so that no logger can print it.
type Credentials struct {
	kind credentialsKind
	name string // impersonated user
	sign func(http.Header)
}

type credentialsKind int

const (
	noCredentials credentialsKind = iota
	kubeconfigUser
	facadeUser
	bearer
	anonymous
	impersonator
)

// AsKubeconfig returns the kubeconfig user's credentials, for a facade that does not authenticate callers. Clients
// receive refusals of that user.
func AsKubeconfig() Credentials { return Credentials{kind: kubeconfigUser, sign: unsigned} }

// AsFacade returns the kubeconfig user's credentials for a request on behalf of an authenticated caller. A refusal of
// that user is a *RefusedError, because the caller is not at fault.
func AsFacade() Credentials { return Credentials{kind: facadeUser, sign: unsigned} }

func unsigned(http.Header) {}

func (s Credentials) String() string {
	return [...]string{"no credentials", "the kubeconfig user", "the facade's own user", "a token", "an anonymous caller",
		"impersonated "}[s.kind] + s.name
}

// Anonymously returns the credentials of an anonymous request.
func Anonymously() Credentials { return Credentials{kind: anonymous, sign: unsigned} }

// WithToken returns the credentials of a bearer token. Tokens and the facade's credentials share no connection.
// WithToken returns the zero value for an empty token.
func WithToken(token string) Credentials {
	if token == "" {
		return Credentials{}
	}
	return Credentials{kind: bearer, sign: func(h http.Header) { h.Set("Authorization", "Bearer "+token) }}
}

// Impersonating returns credentials that impersonate a user by constrained impersonation (KEP-5284). It returns an
// *ImpersonationError unless kube-apiserver would give the impersonated user the identity in info. A lost attribute may
// have limited the user's permissions. An additional attribute may extend them.
//
// For service accounts and nodes, the credentials contain only the name, as the KEP requires, because kube-apiserver
// adds the groups. The UID and harmlessExtra of these users are omitted. For other users, the credentials contain all
// groups except the group that kube-apiserver adds.
func Impersonating(info user.Info) (Credentials, error) {
	name := info.GetName()
	header := http.Header{authenticationv1.ImpersonateUserHeader: {name}}
	var why string
	if fixed := fixedGroups(name); fixed != nil {
		why = fixedReason(info, fixed)
	} else {
		why = addIdentity(header, info)
	}
	if why == "" {
		why = untransportable(header)
	}
	if why != "" {
		return Credentials{}, &ImpersonationError{User: name, Why: why}
	}
	return Credentials{kind: impersonator, name: name, sign: func(h http.Header) {
		for key, values := range header {
			h[key] = slices.Clone(values)
		}
	}}, nil
}

const nodePrefix = "system:node:"

// fixedGroups returns the groups that kube-apiserver gives to a service account or node, or nil for any other user.
func fixedGroups(name string) []string {
	if namespace, _, ok := serviceaccount.Split(name); ok {
		return append(serviceaccount.Groups(namespace), user.AllAuthenticated)
	}
	if node, ok := strings.CutPrefix(name, nodePrefix); ok && len(validation.NameIsDNSSubdomain(node, false)) == 0 {
		return []string{user.NodesGroup, user.AllAuthenticated}
	}
	return nil
}

// harmlessExtra are the extra keys of service accounts and nodes that impersonation may lose. They only identify the
// pod, node or credential, and do not limit which objects the user may read.
var harmlessExtra = []string{
	serviceaccount.PodName, serviceaccount.PodUID, serviceaccount.NodeName, serviceaccount.NodeUID, user.CredentialIDKey,
}

// fixedReason returns the reason why the name of a service account or node is not enough for impersonation, or "" if
// the name is enough.
func fixedReason(info user.Info, fixed []string) string {
	if !sameSet(info.GetGroups(), fixed) {
		return "its groups differ from the groups that its name implies"
	}
	for key := range info.GetExtra() {
		if !slices.Contains(harmlessExtra, key) {
			return "its extra would be lost"
		}
	}
	return ""
}

func sameSet(a, b []string) bool {
	within := func(a, b []string) bool {
		return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
	}
	return within(a, b) && within(b, a)
}

// addIdentity adds a user's UID, groups and extra to the header. It returns "", or the reason why kube-apiserver would
// not accept these attributes unchanged.
func addIdentity(header http.Header, info user.Info) string {
	if uid := info.GetUID(); uid != "" {
		header[http.CanonicalHeaderKey(authenticationv1.ImpersonateUIDHeader)] = []string{uid}
	}
	groups := info.GetGroups()
	added := addedGroup(info)
	switch {
	case added != "" && !slices.Contains(groups, added):
		return "kube-apiserver would add the group " + added
	case slices.Contains(groups, user.SystemPrivilegedGroup):
		return "its group " + user.SystemPrivilegedGroup + " cannot be impersonated"
	}
	for _, group := range groups {
		if group != added {
			header[authenticationv1.ImpersonateGroupHeader] = append(header[authenticationv1.ImpersonateGroupHeader], group)
		}
	}
	for key, values := range info.GetExtra() {
		if utilvalidation.IsDomainPrefixedPath(nil, key) != nil || key != strings.ToLower(key) || len(values) == 0 {
			return "its extra cannot be impersonated"
		}
		header[http.CanonicalHeaderKey(authenticationv1.ImpersonateUserExtraHeaderPrefix+escapedKey(key))] = values
	}
	return ""
}

// addedGroup returns the group that kube-apiserver adds to an impersonated user, or "".
func addedGroup(info user.Info) string {
	switch {
	case info.GetName() == user.Anonymous:
		return user.AllUnauthenticated
	case slices.Contains(info.GetGroups(), user.AllUnauthenticated):
		return ""
	}
	return user.AllAuthenticated
}

// escapedKey returns an extra key as it is written in a header name. Only characters that are valid in both a URL path
// and a header name stay unescaped.
func escapedKey(key string) string {
	return strings.NewReplacer(":", "%3a", "@", "%40", "=", "%3d").Replace(url.PathEscape(key))
}

// untransportable returns "", or the reason why HTTP would not transport a header unchanged.
func untransportable(header http.Header) string {
	for key, values := range header {
		if !httpguts.ValidHeaderFieldName(key) {
			return "an extra key cannot be written as a header name"
		}
		for _, value := range values {
			if value == "" || value != strings.TrimSpace(value) || !httpguts.ValidHeaderFieldValue(value) {
				return "a value cannot be written in a header"
			}
		}
	}
	return ""
}
