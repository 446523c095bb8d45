package auth

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// BoundTokens configures the verification of bound service account tokens.
type BoundTokens struct {
	// Keys reads the public keys from the upstream that reviews tokens. If nil, all tokens are reviewed.
	Keys Getter
	// Object returns an object of the upstream, as a current watch shows it. The result is false for an object that
	// does not exist, or that no current watch shows. Object must not block.
	Object func(resource, namespace, name string) (serviceaccount.Object, bool)
	// Own returns the facade's own token; empty if there is none. If Own is nil, there is none.
	Own func() string
}

// boundTokens verifies bound service account tokens as kube-apiserver does: by their signatures, and by the objects
// that they name. It refuses no token: a token that it does not accept is reviewed. A nil *boundTokens accepts no
// token. Safe for concurrent use.
type boundTokens struct {
	BoundTokens
	keys      *signingKeys
	audiences *audiences
	verified  *cache.LRUExpireCache // tokenKey to *boundToken
	log       *zap.Logger
}

type boundToken struct {
	*serviceaccount.Token
	caller  *Caller
	refused atomic.Bool // whether its last review refused it, or returned another user
}

func newBoundTokens(c BoundTokens, log *zap.Logger) *boundTokens {
	if c.Keys == nil {
		return nil
	}
	return &boundTokens{BoundTokens: c, keys: &signingKeys{from: c.Keys, log: log}, audiences: newAudiences(),
		verified: cache.NewLRUExpireCache(maxTokens), log: log}
}

func (b *boundTokens) ownToken() string {
	if b == nil || b.Own == nil {
		return ""
	}
	return b.Own()
}

// accepted returns a token that was verified before and is valid now, or nil. It costs no signature check.
func (b *boundTokens) accepted(key tokenKey) *boundToken {
	if b == nil {
		return nil
	}
	known, ok := b.verified.Get(key)
	if !ok || !b.accepts(known.(*boundToken)) {
		return nil
	}
	return known.(*boundToken)
}

// expects reports whether a token names a key of the upstream. While no current keys are known, it returns true for
// each service account token. It costs no signature check and does not wait.
func (b *boundTokens) expects(token string) bool {
	unverified, err := serviceaccount.Parse(token)
	if err != nil {
		return false
	}
	keys := b.keys.current()
	return keys == nil || keys.Publish(unverified)
}

// verify returns the token if its signature is valid, and nil otherwise. It may wait for the upstream's keys.
func (b *boundTokens) verify(ctx context.Context, key tokenKey, token string) *boundToken {
	if b == nil {
		return nil
	}
	unverified, err := serviceaccount.Parse(token)
	if err != nil {
		return nil
	}
	keys := b.keys.find(ctx, unverified)
	if keys == nil {
		return nil
	}
	if known, ok := b.verified.Get(key); ok && keys.Trusts(known.(*boundToken).Token) {
		return known.(*boundToken)
	}
	verified, err := keys.Verify(unverified)
	if err != nil {
		return nil
	}
	caller, err := authenticated(&user.DefaultInfo{
		Name: serviceaccount.Username(verified.Namespace, verified.Account.Name), UID: verified.Account.UID,
		Groups: serviceaccount.Groups(verified.Namespace), Extra: verified.Extra(),
	}, ByToken, verified.Expiry)
	if err != nil {
		return nil
	}
	v := &boundToken{Token: verified, caller: caller}
	b.verified.Add(key, v, time.Until(verified.Expiry))
	return v
}

type standing int

const (
	doubtful        standing = iota // the token must be reviewed
	unknownAudience                 // the token is valid if the upstream accepts its audiences, which is unknown
	valid
)

func (b *boundTokens) accepts(v *boundToken) bool { return v != nil && b.judge(v) == valid }

func (b *boundTokens) judge(v *boundToken) standing {
	now, keys := time.Now(), b.keys.current()
	switch {
	case keys == nil || !keys.Trusts(v.Token) || !v.ValidAt(now) || v.refused.Load() || !b.alive(&v.Claims, now):
		return doubtful
	case !b.audiences.accept(v.Audiences):
		return unknownAudience
	default:
		return valid
	}
}

// alive reports whether watches show the objects that a token is bound to. kube-apiserver does not look up the node of
// a token that is bound to a pod.
func (b *boundTokens) alive(c *serviceaccount.Claims, now time.Time) bool {
	exists := func(resource, namespace string, reference serviceaccount.Reference) bool {
		object, ok := b.Object(resource, namespace, reference.Name)
		return ok && reference.Names(object, now)
	}
	switch {
	case !exists("serviceaccounts", c.Namespace, c.Account):
		return false
	case c.Pod.Name != "":
		return exists("pods", c.Namespace, c.Pod)
	case c.Node.Name != "":
		return exists("nodes", "", c.Node)
	default:
		return true
	}
}

// await must be called before a review of a token. If only the token's audiences are unknown, and another review may
// show them, await waits for that review. The caller must call end after its own review.
func (b *boundTokens) await(v *boundToken) (end func()) {
	if v == nil || b.judge(v) != unknownAudience {
		return func() {}
	}
	other, end := b.audiences.beginReview(v.Audiences)
	if end == nil {
		<-other // closed at the end of the other review, which has a timeout
		return func() {}
	}
	return end
}

// compare evaluates the review of a token; v is nil if the facade could not verify it. If the review names the same
// user, compare learns which of the token's audiences the upstream accepts. If the review refuses the token or names
// another user, compare marks the token as refused: the upstream may have rules that the facade does not know.
func (b *boundTokens) compare(v *boundToken, answer reviewed, err error) {
	switch {
	case v == nil || err != nil && !errors.Is(err, ErrUnauthenticated):
	case err == nil && answer.caller.key == v.caller.key:
		v.refused.Store(false)
		b.audiences.learn(v.Audiences, answer.audiences)
	default:
		if err == nil {
			b.log.Warn("TokenReview returned a different user from the one in the service account token; tokens with the same audiences are now sent to TokenReview",
				zap.String("user", v.caller.Name()))
		}
		if err == nil || b.judge(v) == valid {
			b.audiences.forget(v.Audiences)
		}
		v.refused.Store(true)
	}
}
