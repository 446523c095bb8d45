package devcluster

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/listfacade/listfacade/devcluster/internal/manifest"
	"github.com/listfacade/listfacade/devcluster/manifests"
)

// User is a user of the cluster with a kubeconfig.
type User struct {
	Name     string // of the kubeconfig
	UserName string // name in the certificate, for authorization
	Groups   []string
}

// Names of the users for developers and tests.
const (
	Admin      = "admin"      // may do everything
	Alice      = "alice"      // reads usual resources in namespace team-a, no Secrets
	Node       = "node-0"     // the kubelet of node-0
	Reader     = "reader"     // reads all built-in resources except Secrets
	Listfacade = "listfacade" // has the rights of Reader, and those that a facade needs for its callers
)

// Users returns all users, including the identities of the cluster's own controllers.
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

// GrantRights creates the users' permissions and waits until the server's authorizer applies them. kubeconfigs contains
// the path of each user's kubeconfig, by the name of the user.
func GrantRights(ctx context.Context, kubeconfigs map[string]string) error {
	applier, err := manifest.NewApplier(kubeconfigs[Admin])
	if err != nil {
		return err
	}
	if err := applier.Files(ctx, manifests.Files, manifests.Users); err != nil {
		return fmt.Errorf("create permissions: %w", err)
	}
	list := func(namespace, group, resource string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Verb: "list", Namespace: namespace, Group: group, Resource: resource}
	}
	permissions := map[string]authorizationv1.ResourceAttributes{
		Alice:      list("team-a", "", "pods"),
		Reader:     list("", "", "pods"),
		Listfacade: {Verb: "create", Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
	}
	for user, permission := range permissions {
		if err := manifest.WaitUntilMay(ctx, kubeconfigs[user], permission); err != nil {
			return fmt.Errorf("create permissions of %s: %w", user, err)
		}
	}
	return nil
}

// CreateDemo creates the demo objects.
func CreateDemo(ctx context.Context, adminKubeconfig string) error {
	applier, err := manifest.NewApplier(adminKubeconfig)
	if err != nil {
		return err
	}
	if err := applier.Files(ctx, manifests.Files, manifests.Demo); err != nil {
		return fmt.Errorf("create demo objects: %w", err)
	}
	return nil
}
