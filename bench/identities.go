package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
)

// readers is the group whose members may read everything. replicasAccount, in the namespace default, is the service
// account of all replicas of an application, with the same permissions.
const (
	readers         = "bench:readers"
	replicasAccount = "bench-replica"
	readersRole     = "bench-readers" // name of the role and of its binding
)

// admit creates the permissions of readers and replicasAccount. It may be called again.
func admit(ctx context.Context, client kubernetes.Interface) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: replicasAccount}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: readersRole}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		{NonResourceURLs: []string{"*"}, Verbs: []string{"get"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: readersRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: readersRole},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: readers},
			{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: replicasAccount},
		},
	}
	var errs [3]error
	_, errs[0] = client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(ctx, account, metav1.CreateOptions{})
	_, errs[1] = client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	_, errs[2] = client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	for _, err := range errs {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the readers' permissions: %w", err)
		}
	}
	return nil
}

// token returns a new token of replicasAccount, valid for one hour.
func token(ctx context.Context, client kubernetes.Interface) (string, error) {
	hour := int64(time.Hour / time.Second)
	request, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).CreateToken(ctx, replicasAccount,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}},
		metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("create a token: %w", err)
	}
	return request.Status.Token, nil
}

// certificate returns a new client certificate, signed by the cluster's authority of clients.
func certificate(cluster *testkit.Cluster, user string, groups ...string) (rest.TLSClientConfig, error) {
	files := cluster.Authorities[testkit.ClientCA]
	pair, err := tls.LoadX509KeyPair(files.CertFile, files.KeyFile)
	if err != nil {
		return rest.TLSClientConfig{}, fmt.Errorf("read the cluster's authority: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return rest.TLSClientConfig{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: user, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, pair.Leaf, key.Public(), pair.PrivateKey.(crypto.Signer))
	if err != nil {
		return rest.TLSClientConfig{}, fmt.Errorf("sign a certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return rest.TLSClientConfig{}, err
	}
	return rest.TLSClientConfig{
		CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		KeyData:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}, nil
}

// as returns the same server with other credentials: a certificate or a token.
func (s *server) as(credentials rest.Config) (*server, error) {
	config := rest.CopyConfig(&credentials)
	config.Host, config.QPS = s.config.Host, -1
	config.CAFile, config.CAData = s.config.CAFile, s.config.CAData
	return newServer(s.name, s.process, config)
}

func administrator(cluster *testkit.Cluster) (kubernetes.Interface, error) {
	config, err := cluster.Config("admin")
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	return kubernetes.NewForConfig(config)
}
