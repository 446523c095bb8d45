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

// Way is how a caller was proven to be who it says.
type Way int

// The ways, in the order in which kube-apiserver tries them; the first that knows the caller counts.
const (
	ByKubeconfig  Way = iota // not at all: everybody acts as the user of the facade's kubeconfig
	ByFrontProxy             // by the headers of a proxy that a certificate vouches for
	ByCertificate            // by a client certificate
	ByToken                  // by a bearer token
	Anonymously              // not at all, where the upstream lets that pass
)

// Caller is who asks. Immutable, and shared by requests.
type Caller struct {
	Info  user.Info // name, UID, groups and extra, as the upstream's authorizers see them
	Way   Way
	Until time.Time // when the credential ends; zero when that is not known

	key   string // equal for callers that authorizers cannot tell apart
	group string // see Group; empty where the caller is one by itself
}

// NewCaller makes a caller of what was proven.
func NewCaller(info user.Info, way Way, until time.Time) *Caller {
	c := &Caller{Info: info, Way: way, Until: until, key: identityKey(info)}
	if namespace, _, ok := serviceaccount.Split(info.GetName()); ok {
		c.group = serviceaccount.Username(namespace, "")
	}
	return c
}

// Kubeconfig is everybody, where callers are not told apart: each of them reads with the rights of the user of the
// facade's own kubeconfig, whose name the facade does not know.
func Kubeconfig() *Caller {
	return NewCaller(&user.DefaultInfo{Name: "kubeconfig"}, ByKubeconfig, time.Time{})
}

// Anonymous is who has shown no credentials.
func Anonymous() *Caller {
	return NewCaller(&user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}, Anonymously, time.Time{})
}

// Name is the user's name.
func (c *Caller) Name() string { return c.Info.GetName() }

// podUID is the key of extra that a token bound to a pod has (KEP-2799).
const podUID = "authentication.kubernetes.io/pod-uid"

// Share names whose share of the facade the caller uses: the user's, and of a user that many pods act as, such as a
// DaemonSet's service account, the pod's. A pod is named by a claim of its token that only the upstream can sign.
func (c *Caller) Share() string {
	if pods := c.Info.GetExtra()[podUID]; len(pods) == 1 {
		return c.Info.GetName() + "/" + pods[0]
	}
	return c.Info.GetName()
}

// Group names who share with the caller what they can make more of: the service accounts of a namespace, since whoever
// may create one may create many. Everybody else is a group by itself.
func (c *Caller) Group() string {
	if c.group != "" {
		return c.group
	}
	return c.Share()
}

// identityKey is short however many groups there are. Every part is quoted, so that no part can be taken for two.
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
