package rbac

import (
	"context"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/metadata"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// PodExists reports whether a pod with that name and UID exists. It returns true if it cannot find out.
type PodExists func(namespace, name, uid string) bool

// Accounts watches service accounts.
type Accounts struct {
	accounts *followed
	pods     PodExists
}

// NewAccounts returns Accounts for the service accounts of an upstream. It starts no goroutine. If pods is nil, all
// pods count as existing.
func NewAccounts(client metadata.Interface, pods PodExists, log *zap.Logger) (*Accounts, error) {
	all := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"})
	return newAccounts(toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return all.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return all.Watch(ctx, options)
		},
	}, client), pods, log)
}

func newAccounts(from toolscache.ListerWatcher, pods PodExists, log *zap.Logger) (*Accounts, error) {
	if pods == nil {
		pods = func(_, _, _ string) bool { return true }
	}
	accounts, err := follow(kind{
		resource: "serviceaccounts", example: &metav1.PartialObjectMetadata{}, source: from, indexers: toolscache.Indexers{},
		trim: trim,
	}, log)
	return &Accounts{accounts: accounts, pods: pods}, err
}

// Run watches service accounts until the context ends.
func (a *Accounts) Run(ctx context.Context) { run(ctx, a.accounts) }

// Failure returns nil while service accounts are watched. Before the first list it returns an error.
func (a *Accounts) Failure() error { return a.accounts.state() }

// Exists reports whether a user exists. A service account exists if its name and UID exist in the cluster. If its token
// is bound to a pod, that pod must exist, too. All other users exist. The result may be false for a moment after a
// service account was created.
func (a *Accounts) Exists(identity user.Info) bool {
	namespace, name, ok := serviceaccount.Split(identity.GetName())
	return !ok || a.hasAccount(namespace, name, identity.GetUID()) && a.hasPod(namespace, identity.GetExtra())
}

func (a *Accounts) hasAccount(namespace, name, uid string) bool {
	if !a.accounts.informer.HasSynced() {
		return true
	}
	object, ok, err := a.accounts.informer.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !ok {
		return err != nil
	}
	return uid == "" || string(object.(*metav1.PartialObjectMetadata).UID) == uid
}

func (a *Accounts) hasPod(namespace string, extra map[string][]string) bool {
	names, uids := extra[serviceaccount.PodName], extra[serviceaccount.PodUID]
	return len(names) != 1 || len(uids) != 1 || a.pods(namespace, names[0], uids[0])
}
