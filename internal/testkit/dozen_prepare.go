package testkit

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// DozenServer is the server of a Dozen, with the credentials of each client.
type DozenServer struct{ configs []*rest.Config }

// At returns the same credentials for another server of the cluster.
func (s *DozenServer) At(host, caFile string) *DozenServer {
	other := &DozenServer{}
	for _, config := range s.configs {
		config = rest.CopyConfig(config)
		config.Host, config.CAFile, config.CAData = host, caFile, nil
		other.configs = append(other.configs, config)
	}
	return other
}

// Prepare creates the namespace, the objects and the rights of the clients. It returns kube-apiserver as their server.
func (d Dozen) Prepare(ctx context.Context, cluster *Cluster) (*DozenServer, error) {
	admin, err := cluster.Config("admin")
	if err != nil {
		return nil, err
	}
	admin.QPS = -1
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return nil, err
	}
	if err := d.create(ctx, clients); err != nil {
		return nil, fmt.Errorf("create the objects of the clients: %w", err)
	}
	server := &DozenServer{}
	for i, client := range d.Clients() {
		config := rest.CopyConfig(admin)
		if !client.Certificate {
			if config, err = d.config(ctx, clients, cluster, i); err != nil {
				return nil, fmt.Errorf("create the account of %s: %w", client.Program, err)
			}
		}
		config.UserAgent = client.Program + "/v1.2.3 (linux/amd64)"
		server.configs = append(server.configs, config)
	}
	return server, nil
}

func (d Dozen) config(ctx context.Context, clients kubernetes.Interface, cluster *Cluster,
	i int) (*rest.Config, error) {
	accounts := clients.CoreV1().ServiceAccounts(d.Namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: d.account(i)}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(time.Hour / time.Second))},
	}
	request, err := accounts.CreateToken(ctx, account.Name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return cluster.ConfigWithToken(request.Status.Token), nil
}

// create creates the objects, and makes all service accounts of the namespace administrators.
func (d Dozen) create(ctx context.Context, clients kubernetes.Interface) error {
	named := metav1.ObjectMeta{Name: "dozen"}
	_, err := clients.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.Namespace}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = clients.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{
			APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:" + d.Namespace,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = clients.CoreV1().ConfigMaps(d.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: named},
		metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = clients.CoreV1().Secrets(d.Namespace).Create(ctx, &corev1.Secret{ObjectMeta: named}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = clients.CoordinationV1().Leases(d.Namespace).Create(ctx, &coordinationv1.Lease{ObjectMeta: named},
		metav1.CreateOptions{})
	return err
}
