package auth

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// Way is the kind of credential that identified a caller.
type Way int

// Kinds of credentials, in the order in which kube-apiserver tries them.
const (
	ByKubeconfig  Way = iota // none: every caller acts as the user of the facade's kubeconfig
	ByFrontProxy             // headers of a front proxy with a trusted certificate
	ByCertificate            // client certificate
	ByToken                  // bearer token
	Anonymously              // none: accepted as the anonymous user
)

// Caller is the authenticated sender of a request. It is immutable and shared by requests.
type Caller struct {
	Info  user.Info // name, UID, groups and extra, as the upstream's authorizers see them
	Way   Way
	Until time.Time // expiry of the credential; zero if unknown

	key     string // equal for callers that authorizers cannot distinguish
	account string // equal for the tokens of a service account (accountKey); empty for other callers
	group   string // see Group; empty for a caller that is a group by itself
}

// NewCaller returns the caller for an authenticated user.
func NewCaller(info user.Info, way Way, until time.Time) *Caller {
	c := &Caller{Info: info, Way: way, Until: until, key: identityKey(info), account: accountKey(info)}
	if namespace, _, ok := serviceaccount.Split(info.GetName()); ok {
		c.group = serviceaccount.Username(namespace, "")
	}
	return c
}

// Kubeconfig returns the caller of all requests in a facade without authentication. This caller reads with the
// permissions of the kubeconfig user, whose name the facade cannot find out.
func Kubeconfig() *Caller {
	return NewCaller(&user.DefaultInfo{Name: "kubeconfig"}, ByKubeconfig, time.Time{})
}

// Anonymous returns the caller of a request without credentials.
func Anonymous() *Caller {
	return NewCaller(&user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}, Anonymously,
		time.Time{})
}

// Name returns the name of the user.
func (c *Caller) Name() string { return c.Info.GetName() }

// podUID is the extra key of a token that is bound to a pod (KEP-2799).
const podUID = "authentication.kubernetes.io/pod-uid"

// Share returns the key for limits per caller: the user, or the pod if the token is bound to one. The pods of a
// DaemonSet, for example, share one service account. A caller cannot choose the pod: the upstream signs the claim.
func (c *Caller) Share() string {
	if pods := c.Info.GetExtra()[podUID]; len(pods) == 1 {
		return c.Info.GetName() + "/" + pods[0]
	}
	return c.Info.GetName()
}

// Group returns the key for limits per group of callers. The service accounts of a namespace are one group, because a
// user who can create one can create many. Every other caller is a group by itself.
func (c *Caller) Group() string {
	if c.group != "" {
		return c.group
	}
	return c.Share()
}

// identityKey returns a hash of all attributes of the user. Parts are quoted, so no two users have the same text.
func identityKey(info user.Info) string {
	b := strconv.AppendQuote(nil, info.GetName())
	b = strconv.AppendQuote(b, info.GetUID())
	for _, group := range info.GetGroups() {
		b = strconv.AppendQuote(b, group)
	}
	extra := info.GetExtra()
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		b = strconv.AppendQuote(append(b, '|'), name)
		for _, value := range extra[name] {
			b = strconv.AppendQuote(b, value)
		}
	}
	hash := sha256.Sum256(b)
	return string(hash[:])
}
