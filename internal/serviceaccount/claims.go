package serviceaccount

import (
	"errors"
	"time"

	"gopkg.in/go-jose/go-jose.v2/json"
	"gopkg.in/go-jose/go-jose.v2/jwt"
)

// Object is the current state of an object that a token may be bound to.
type Object struct {
	UID     string
	Deletes time.Time // metadata.deletionTimestamp; zero if the object is not being deleted
}

// Reference is an object that a token is bound to.
type Reference struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Claims are the claims of a bound token in their usual form. Immutable.
type Claims struct {
	Issuer, KeyID, ID  string // ID is empty if the token has none
	Audiences          []string
	Expiry             time.Time
	NotBefore          time.Time // zero if the token has no such claim
	IssuedAt           time.Time // zero if the token has no such claim
	Namespace          string
	Account, Pod, Node Reference // Pod and Node are zero if the token does not name them
}

// leeway is how long before NotBefore and IssuedAt a token is accepted. kube-apiserver also accepts tokens that expired
// at most leeway ago, and objects whose deletion was due at most leeway ago. This package leaves both cases to
// kube-apiserver.
const leeway = jwt.DefaultLeeway

// ValidAt reports whether a token with these claims is valid at a time.
func (c *Claims) ValidAt(now time.Time) bool {
	early := now.Add(leeway)
	return !now.After(c.Expiry) && !early.Before(c.NotBefore) && !early.Before(c.IssuedAt)
}

// Names reports whether the reference is to the given object, and the deletion of that object is not due.
func (r Reference) Names(o Object, now time.Time) bool {
	return r.UID == o.UID && (o.Deletes.IsZero() || !now.After(o.Deletes))
}

// ErrUnusual is returned for a token that only kube-apiserver can judge. The token may be valid.
var ErrUnusual = errors.New("token does not have the usual form of a bound service account token")

// payload is the JSON of a token that is bound to a service account, and perhaps to a pod or a node.
type payload struct {
	jwt.Claims
	Kubernetes struct {
		Namespace string     `json:"namespace"`
		Account   Reference  `json:"serviceaccount"`
		Pod       *Reference `json:"pod"`
		Node      *Reference `json:"node"`
	} `json:"kubernetes.io"`
}

// The names that claims of the usual form may have. A token that is bound to a secret, for example, has further names.
var (
	publicNames     = nameSet("iss", "sub", "aud", "exp", "nbf", "iat", "jti", "kubernetes.io")
	kubernetesNames = nameSet("namespace", "serviceaccount", "pod", "node", "warnafter")
	referenceNames  = nameSet("name", "uid")
)

func nameSet(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// latest is the largest accepted time, in Unix seconds. Conversions of larger numbers differ between processors.
const latest = 1 << 40

// parseClaims reads the payload of a token with kube-apiserver's JSON package. It returns ErrUnusual for claims that
// kube-apiserver refuses or reads in a special way.
func parseClaims(data []byte) (*Claims, error) {
	var p payload
	if !isUsual(data) || json.Unmarshal(data, &p) != nil {
		return nil, ErrUnusual
	}
	k := &p.Kubernetes
	c := &Claims{Issuer: p.Issuer, ID: p.ID, Audiences: p.Audience, Namespace: k.Namespace, Account: k.Account}
	for _, date := range []struct {
		from *jwt.NumericDate
		to   *time.Time
	}{{p.Expiry, &c.Expiry}, {p.NotBefore, &c.NotBefore}, {p.IssuedAt, &c.IssuedAt}} {
		if date.from != nil && (*date.from <= 0 || *date.from > latest) {
			return nil, ErrUnusual
		}
		*date.to = date.from.Time()
	}
	for _, bound := range []struct {
		from *Reference
		to   *Reference
	}{{k.Pod, &c.Pod}, {k.Node, &c.Node}} {
		if bound.from != nil {
			if bound.from.Name == "" || bound.from.UID == "" {
				return nil, ErrUnusual
			}
			*bound.to = *bound.from
		}
	}
	namespace, account, ok := Split(p.Subject)
	if !ok || namespace != c.Namespace || account != c.Account.Name || c.Account.UID == "" || c.Expiry.IsZero() ||
		!hasAudience(c.Audiences) {
		return nil, ErrUnusual
	}
	return c, nil
}

func hasAudience(audiences []string) bool {
	for _, audience := range audiences {
		if audience == "" {
			return false
		}
	}
	return len(audiences) > 0
}

func isUsual(data []byte) bool {
	claims, ok := members(data, publicNames)
	if !ok {
		return false
	}
	parts, ok := members(claims["kubernetes.io"], kubernetesNames)
	for _, name := range []string{"serviceaccount", "pod", "node"} {
		if part := parts[name]; part != nil {
			_, known := members(part, referenceNames)
			ok = ok && known
		}
	}
	return ok
}

// members returns the members of a JSON object. It returns false for other JSON, and for a name that is not in names.
func members(data []byte, names map[string]bool) (map[string]json.RawMessage, bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil || all == nil {
		return nil, false
	}
	for name := range all {
		if !names[name] {
			return nil, false
		}
	}
	return all, true
}

const idPrefix = "JTI="

// Extra returns the extra fields that kube-apiserver gives to the user of the token; nil if there are none.
func (c *Claims) Extra() map[string][]string {
	extra := map[string][]string{}
	for key, value := range map[string]string{
		PodName: c.Pod.Name, PodUID: c.Pod.UID, NodeName: c.Node.Name, NodeUID: c.Node.UID,
	} {
		if value != "" {
			extra[key] = []string{value}
		}
	}
	if c.ID != "" {
		extra[CredentialID] = []string{idPrefix + c.ID}
	}
	if len(extra) == 0 {
		return nil
	}
	return extra
}
