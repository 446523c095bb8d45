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

// PodExists tells whether a pod is there, and is the one of that UID. What is not known exists.
type PodExists func(namespace, name, uid string) bool

// Accounts follows service accounts.
type Accounts struct {
	accounts *followed
	pods     PodExists
}

// NewAccounts makes what follows the service accounts of an upstream; it starts nothing. pods may be nil: then all do
// exist.
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
		resource: "serviceaccounts", example: &metav1.PartialObjectMetadata{}, source: from, indexers: toolscache.Indexers{}, trim: trim,
	}, log)
	return &Accounts{accounts: accounts, pods: pods}, err
}

// Run follows them until the context ends.
func (a *Accounts) Run(ctx context.Context) { run(ctx, a.accounts) }

// Failure is nil while service accounts are followed. It begins with their not being read yet.
func (a *Accounts) Failure() error { return a.accounts.state() }

// Exists tells whether somebody is still there who is a service account: it, by its UID, and the pod that its token is
// bound to. All others exist. It may be wrong for a moment about one that was just made.
func (a *Accounts) Exists(who user.Info) bool {
	namespace, name, ok := serviceaccount.Split(who.GetName())
	return !ok || a.hasAccount(namespace, name, who.GetUID()) && a.hasPod(namespace, who.GetExtra())
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
