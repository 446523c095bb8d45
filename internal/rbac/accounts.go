package rbac

import (
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/metadata"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// PodExists reports whether a pod with that name and UID exists. It returns true if it cannot find out.
type PodExists func(namespace, name, uid string) bool

// Accounts watches service accounts.
type Accounts struct {
	*Objects
	pods PodExists
}

// NewAccounts returns Accounts for the service accounts of an upstream. It starts no goroutine. If pods is nil, all
// pods count as existing.
func NewAccounts(client metadata.Interface, pods PodExists, log *zap.Logger) (*Accounts, error) {
	all, err := NewObjects(client, "serviceaccounts", log)
	return accountsOf(all, pods), err
}

func newAccounts(from toolscache.ListerWatcher, pods PodExists, log *zap.Logger) (*Accounts, error) {
	all, err := newObjects(from, "serviceaccounts", log)
	return accountsOf(all, pods), err
}

func accountsOf(all *Objects, pods PodExists) *Accounts {
	if pods == nil {
		pods = func(_, _, _ string) bool { return true }
	}
	return &Accounts{Objects: all, pods: pods}
}

// Failure returns an error before the first list of service accounts, and while they cannot be watched.
func (a *Accounts) Failure() error { return a.all.state() }

// Exists reports whether a user exists. It checks only service accounts: their name and UID, and the pod of a token
// that is bound to a pod. While service accounts cannot be watched, every account counts as existing. Exists may return
// false for a moment after a service account was created.
func (a *Accounts) Exists(identity user.Info) bool {
	namespace, name, ok := serviceaccount.Split(identity.GetName())
	return !ok || a.hasAccount(namespace, name, identity.GetUID()) && a.hasPod(namespace, identity.GetExtra())
}

func (a *Accounts) hasAccount(namespace, name, uid string) bool {
	if !a.Current() { // new accounts may be unknown
		return true
	}
	account, ok := a.Find(namespace + "/" + name)
	return ok && (uid == "" || account.UID == uid)
}

func (a *Accounts) hasPod(namespace string, extra map[string][]string) bool {
	names, uids := extra[serviceaccount.PodName], extra[serviceaccount.PodUID]
	return len(names) != 1 || len(uids) != 1 || a.pods(namespace, names[0], uids[0])
}
