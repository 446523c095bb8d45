package devcluster

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/listfacade/listfacade/devcluster/internal/manifest"
	"github.com/listfacade/listfacade/devcluster/manifests"
)

// User is somebody who has a kubeconfig.
type User struct {
	Name     string // of the kubeconfig
	UserName string // as the server sees it
	Groups   []string
}

// Names of the users that people and tests act as.
const (
	Admin      = "admin"      // may do everything
	Alice      = "alice"      // reads namespace team-a, no Secrets
	Node       = "node-0"     // the kubelet of node-0
	Reader     = "reader"     // reads everything but Secrets
	Listfacade = "listfacade" // reads everything but Secrets, asks who callers are and what they may do
)

// Users lists everybody, the identities of the cluster's own controllers included.
func Users() []User {
	const masters = "system:masters"
	return []User{
		{Name: Admin, UserName: "admin", Groups: []string{masters}},
		{Name: Alice, UserName: "alice"},
		{Name: Node, UserName: "system:node:node-0", Groups: []string{"system:nodes"}},
		{Name: Reader, UserName: "reader"},
		{Name: Listfacade, UserName: "listfacade"},
		{Name: string(ControllerManager), UserName: "system:kube-controller-manager"},
		{Name: string(Scheduler), UserName: "system:kube-scheduler"},
		{Name: string(Kwok), UserName: "kwok", Groups: []string{masters}},
	}
}

// GrantRights gives the users their rights and waits until the server acts on them. kubeconfigs are the paths by the
// name of the user.
func GrantRights(ctx context.Context, kubeconfigs map[string]string) error {
	applier, err := manifest.NewApplier(kubeconfigs[Admin])
	if err != nil {
		return err
	}
	if err := applier.Files(ctx, manifests.Files, manifests.Users); err != nil {
		return fmt.Errorf("grant rights: %w", err)
	}
	list := func(namespace, group, resource string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Verb: "list", Namespace: namespace, Group: group, Resource: resource}
	}
	rights := map[string]authorizationv1.ResourceAttributes{
		Alice:      list("team-a", "", "pods"),
		Reader:     list("", "", "pods"),
		Listfacade: {Verb: "create", Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
	}
	for user, right := range rights {
		if err := manifest.WaitUntilMay(ctx, kubeconfigs[user], right); err != nil {
			return fmt.Errorf("grant rights of %s: %w", user, err)
		}
	}
	return nil
}

// CreateDemo creates the objects of the demonstration.
func CreateDemo(ctx context.Context, adminKubeconfig string) error {
	applier, err := manifest.NewApplier(adminKubeconfig)
	if err != nil {
		return err
	}
	if err := applier.Files(ctx, manifests.Files, manifests.Demo); err != nil {
		return fmt.Errorf("create the objects of the demonstration: %w", err)
	}
	return nil
}
