package testkit

import (
	"errors"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TokenOptions are options of a service account token. The zero value requests a token for kube-apiserver that is valid
// for an hour.
type TokenOptions struct {
	Audiences []string
	// Lifetime is at least ten minutes, kube-apiserver's minimum.
	Lifetime time.Duration
	// Pod or Secret, in the account's namespace, is the object that the token is bound to. The token is rejected after
	// the object's deletion. At most one may be set. The pod must run as the account.
	Pod, Secret string
}

// Token returns a token of a service account. It creates the account if it does not exist.
func (c *Cluster) Token(t testing.TB, namespace, account string, o TokenOptions) string {
	t.Helper()
	clients := c.admin(t)
	accounts := clients.CoreV1().ServiceAccounts(namespace)
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}},
		metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	request, err := accounts.CreateToken(t.Context(), account, o.request(), metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create token of %s/%s: %v", namespace, account, err)
	}
	return request.Status.Token
}

// ConfigWithToken returns a client configuration with a token, for kube-apiserver.
func (c *Cluster) ConfigWithToken(token string) *rest.Config {
	return &rest.Config{Host: c.Server, BearerToken: token, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: c.CAFile}}
}

// WhoAmI returns the user to whom the configuration's credentials belong, according to the server.
func WhoAmI(t testing.TB, config *rest.Config) (authenticationv1.UserInfo, error) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	review, err := clients.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	if review.Status.UserInfo.Username == "" {
		return authenticationv1.UserInfo{}, errors.New("the SelfSubjectReview names no user")
	}
	return review.Status.UserInfo, nil
}

func (o TokenOptions) request() *authenticationv1.TokenRequest {
	lifetime := o.Lifetime
	if lifetime == 0 {
		lifetime = time.Hour
	}
	spec := authenticationv1.TokenRequestSpec{Audiences: o.Audiences, ExpirationSeconds: new(int64(lifetime.Seconds()))}
	switch {
	case o.Pod != "":
		spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: o.Pod}
	case o.Secret != "":
		spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret", Name: o.Secret}
	}
	return &authenticationv1.TokenRequest{Spec: spec}
}

func (c *Cluster) admin(t testing.TB) kubernetes.Interface {
	t.Helper()
	config, err := c.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}
