package rbac

import (
	"time"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/metadata"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/lru"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// PodExists reports whether a pod with that name and UID exists. It returns true if it cannot find out.
type PodExists func(namespace, name, uid string) bool

// maxMissing is the maximum number of UIDs in each cache of Accounts. Each takes about 200 bytes.
const maxMissing = 8192

// Accounts watches service accounts.
type Accounts struct {
	*Objects
	pods    PodExists
	deleted *lru.Cache // UIDs of accounts that were found and later deleted
	unknown *lru.Cache // UIDs of accounts that were never found, to the time at which Exists first missed them
}

// NewAccounts returns Accounts for the service accounts of an upstream. It starts no goroutine. If pods is nil, all
// pods count as existing.
func NewAccounts(client metadata.Interface, pods PodExists, log *zap.Logger) (*Accounts, error) {
	return newAccounts(metadataOf(client, serviceAccounts), pods, log)
}

const serviceAccounts = "serviceaccounts"

func newAccounts(from toolscache.ListerWatcher, pods PodExists, log *zap.Logger) (a *Accounts, err error) {
	if pods == nil {
		pods = func(_, _, _ string) bool { return true }
	}
	a = &Accounts{pods: pods, deleted: lru.New(maxMissing), unknown: lru.New(maxMissing)}
	a.Objects, err = newObjects(from, serviceAccounts,
		handler{added: func(any) {}, changed: a.onChange, deleted: a.onDelete}, log)
	return a, err
}

func (a *Accounts) onDelete(object any) { a.deleted.Add(uidOf(object), nil) }

// onChange is also called for an account that was deleted and created again between two lists.
func (a *Accounts) onChange(before, after any) {
	if uidOf(before) != uidOf(after) {
		a.onDelete(before)
	}
}

func uidOf(object any) string { return string(object.(*metav1.PartialObjectMetadata).UID) }

// Failure returns an error before the first list of service accounts, and while they cannot be watched.
func (a *Accounts) Failure() error { return a.all.state() }

// Exists reports whether a user exists. It checks only service accounts: their name and UID, and the pod of a token
// that is bound to a pod.
//
// An account that was found before counts as existing until a list or an event shows its deletion, also while the
// upstream refuses the watch. An account that was never found may be new. It counts as existing until a watch that was
// opened after the first call for its UID does not show it. Without a UID, an account counts as existing if its name is
// found, or while service accounts cannot be watched.
func (a *Accounts) Exists(identity user.Info) bool {
	namespace, name, ok := serviceaccount.Split(identity.GetName())
	return !ok || a.hasAccount(namespace, name, identity.GetUID()) && a.hasPod(namespace, identity.GetExtra())
}

func (a *Accounts) hasAccount(namespace, name, uid string) bool {
	account, ok := a.Find(namespace + "/" + name)
	if uid == "" {
		return ok || !a.Current()
	}
	if ok && account.UID == uid {
		return true
	}
	if _, ok := a.deleted.Get(uid); ok {
		return false
	}
	return !a.all.currentSince(a.missedAt(uid))
}

func (a *Accounts) missedAt(uid string) time.Time {
	if at, ok := a.unknown.Get(uid); ok {
		return at.(time.Time)
	}
	now := time.Now()
	a.unknown.Add(uid, now)
	return now
}

func (a *Accounts) hasPod(namespace string, extra map[string][]string) bool {
	names, uids := extra[serviceaccount.PodName], extra[serviceaccount.PodUID]
	return len(names) != 1 || len(uids) != 1 || a.pods(namespace, names[0], uids[0])
}
