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

// Credentials is in whose name the upstream is asked. The zero value is nobody, who is not let speak. What proves a
// speaker is in a closure, where no logger finds it.
type Credentials struct {
	kind credentialsKind
	name string // of the user that is impersonated
	sign func(http.Header)
}

type credentialsKind int

const (
	nobody credentialsKind = iota
	everybody
	facade
	bearer
	anonymous
	impersonator
)

// AsKubeconfig speaks as the user of the facade's own kubeconfig, for whom everybody is taken where callers are not
// told apart: what that user is refused, the client is.
func AsKubeconfig() Credentials { return Credentials{kind: everybody, sign: unsigned} }

// AsFacade speaks as the same user, on behalf of a caller who is another: what that user is refused says nothing about
// the caller, and is a *RefusedError.
func AsFacade() Credentials { return Credentials{kind: facade, sign: unsigned} }

func unsigned(http.Header) {}

// String names the speaker, and nothing that proves him.
func (s Credentials) String() string {
	return [...]string{"nobody", "the kubeconfig's user", "the facade", "a token", "an anonymous caller", "impersonated "}[s.kind] + s.name
}

// Anonymously speaks as somebody without credentials.
func Anonymously() Credentials { return Credentials{kind: anonymous, sign: unsigned} }

// WithToken speaks as whom a bearer token proves. No credential of the facade's goes over the same connections. No
// token is nobody's.
func WithToken(token string) Credentials {
	if token == "" {
		return Credentials{}
	}
	return Credentials{kind: bearer, sign: func(h http.Header) { h.Set("Authorization", "Bearer "+token) }}
}

// Impersonating speaks as a user whom the facade vouches for, by constrained impersonation (KEP-5284). It fails with an
// *ImpersonationError when the user that kube-apiserver would make of it has not exactly the same rights: what is lost
// may have been a limit, and what is added a right.
//
// Of service accounts and nodes only the name is told, as the KEP wants it; kube-apiserver knows their groups. It is
// told all groups of other users but the one that it adds itself.
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

// fixedGroups are the groups that kube-apiserver gives service accounts and nodes; nil for all others.
func fixedGroups(name string) []string {
	if namespace, _, ok := serviceaccount.Split(name); ok {
		return append(serviceaccount.Groups(namespace), user.AllAuthenticated)
	}
	if node, ok := strings.CutPrefix(name, nodePrefix); ok && len(validation.NameIsDNSSubdomain(node, false)) == 0 {
		return []string{user.NodesGroup, user.AllAuthenticated}
	}
	return nil
}

// harmlessExtra is what kube-apiserver itself tells of a service account's or a node's credential. It names things, and
// limits nothing that can be read.
var harmlessExtra = []string{
	serviceaccount.PodName, serviceaccount.PodUID, serviceaccount.NodeName, serviceaccount.NodeUID, user.CredentialIDKey,
}

// fixedReason says why a user with one of kube-apiserver's own names is not what that name makes of it; empty if it is.
func fixedReason(info user.Info, fixed []string) string {
	if !sameSet(info.GetGroups(), fixed) {
		return "its groups are not those of its name"
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

// addIdentity adds all that there is of a user but its name, or says why kube-apiserver would not take it.
func addIdentity(header http.Header, info user.Info) string {
	if uid := info.GetUID(); uid != "" {
		header[http.CanonicalHeaderKey(authenticationv1.ImpersonateUIDHeader)] = []string{uid}
	}
	groups := info.GetGroups()
	added := addedGroup(info)
	switch {
	case added != "" && !slices.Contains(groups, added):
		return "it would be given the group " + added
	case slices.Contains(groups, user.SystemPrivilegedGroup):
		return "its groups may not be impersonated"
	}
	for _, group := range groups {
		if group != added {
			header[authenticationv1.ImpersonateGroupHeader] = append(header[authenticationv1.ImpersonateGroupHeader], group)
		}
	}
	for key, values := range info.GetExtra() {
		if utilvalidation.IsDomainPrefixedPath(nil, key) != nil || key != strings.ToLower(key) || len(values) == 0 {
			return "its extra may not be impersonated"
		}
		header[http.CanonicalHeaderKey(authenticationv1.ImpersonateUserExtraHeaderPrefix+escapedKey(key))] = values
	}
	return ""
}

// addedGroup is the group that kube-apiserver gives whom it has impersonated; empty when it gives none.
func addedGroup(info user.Info) string {
	switch {
	case info.GetName() == user.Anonymous:
		return user.AllUnauthenticated
	case slices.Contains(info.GetGroups(), user.AllUnauthenticated):
		return ""
	}
	return user.AllAuthenticated
}

// escapedKey is a key of extra as a header's name holds it: all but what is legal in both a URL's path and a header.
func escapedKey(key string) string {
	return strings.NewReplacer(":", "%3a", "@", "%40", "=", "%3d").Replace(url.PathEscape(key))
}

// untransportable says which part of an identity another would arrive as; empty when there is none.
func untransportable(header http.Header) string {
	for key, values := range header {
		if !httpguts.ValidHeaderFieldName(key) {
			return "its extra cannot be written in a header"
		}
		for _, value := range values {
			if value == "" || value != strings.TrimSpace(value) || !httpguts.ValidHeaderFieldValue(value) {
				return "a part of it cannot be written in a header"
			}
		}
	}
	return ""
}
