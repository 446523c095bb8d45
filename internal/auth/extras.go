package auth

import (
	"maps"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// ExtrasMode decides whether the tokens of one service account share decisions. The extra of a bound token names the
// token, its pod and its node. Of kube-apiserver's authorizers, only webhooks receive the extra.
type ExtrasMode string

// Values of ExtrasMode.
const (
	ConsiderExtras ExtrasMode = "consider" // decisions are not shared; the zero value does the same
	IgnoreExtras   ExtrasMode = "ignore"   // decisions are shared
	DetectExtras   ExtrasMode = "auto"     // decisions are shared while all authorizers ignore the extra (sharing)
)

// tokenExtras are the extra keys in which the tokens of one service account differ. Callers that differ in another
// extra, such as scopes, never share a decision.
var tokenExtras = []string{
	user.CredentialIDKey, serviceaccount.PodName, serviceaccount.PodUID, serviceaccount.NodeName, serviceaccount.NodeUID,
}

// accountKey returns a key that is equal for all tokens of a service account which differ only in tokenExtras. It
// returns "" for other users.
func accountKey(info user.Info) string {
	if _, _, ok := serviceaccount.Split(info.GetName()); !ok {
		return ""
	}
	others := maps.Clone(info.GetExtra())
	maps.DeleteFunc(others, func(key string, _ []string) bool { return slices.Contains(tokenExtras, key) })
	return identityKey(&user.DefaultInfo{
		Name: info.GetName(), UID: info.GetUID(), Groups: info.GetGroups(), Extra: others,
	})
}

// subjectIn returns the key of the subject whose permissions decide for the caller in the period p of sharing; p is 0
// without sharing. Keys of different periods differ, so no decision of an ended period is found.
func (c *Caller) subjectIn(p period) string {
	if p == 0 || c.account == "" {
		return c.key
	}
	return p.String() + c.account
}
