package questions

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	certutil "k8s.io/client-go/util/cert"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
	"github.com/listfacade/listfacade/internal/upstream"
)

// identity is the user that a server authenticates, or the refusal.
type identity struct {
	Code int // 201 for a user, 403 for the anonymous user, 401 for invalid credentials
	User authenticationv1.UserInfo
}

// An authenticator that delegates to kube-apiserver identifies the same users as kube-apiserver for each kind of
// credential, and refuses the same requests.
func TestWhoAmI(t *testing.T) {
	cluster := suite.Cluster(t)
	here := whoAmI(t, cluster)
	there := cluster.Server + "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	admin := certificate(t, cluster, "admin")
	proxy := pairAt(t, filepath.Join(filepath.Dir(cluster.CAFile), "front-proxy-client"))
	foreign := foreignPair(t)
	token := serviceAccountToken(t, cluster)
	byProxy := []string{"X-Remote-User", "carol", "X-Remote-Group", "a", "X-Remote-Group", "b", "X-Remote-Extra-Example.com%2fKey", "v"}
	for name, c := range map[string]struct {
		pair    *tls.Certificate
		headers []string
	}{
		"nothing":                         {nil, nil},
		"admin":                           {admin, nil},
		"alice":                           {certificate(t, cluster, "alice"), nil},
		"a node":                          {certificate(t, cluster, "node-0"), nil},
		"a foreign certificate":           {foreign, nil},
		"a token":                         {nil, []string{"Authorization", "Bearer " + token}},
		"a bad token":                     {nil, []string{"Authorization", "Bearer x" + token}},
		"two spaces":                      {nil, []string{"Authorization", "Bearer  " + token}},
		"an empty token":                  {nil, []string{"Authorization", "Bearer "}},
		"basic":                           {nil, []string{"Authorization", "Basic YWRtaW46YWRtaW4="}},
		"two tokens, the first bad":       {nil, []string{"Authorization", "Bearer x", "Authorization", "Bearer " + token}},
		"two tokens, the first good":      {nil, []string{"Authorization", "Bearer " + token, "Authorization", "Bearer x"}},
		"a certificate and a token":       {admin, []string{"Authorization", "Bearer " + token}},
		"a certificate and a bad token":   {admin, []string{"Authorization", "Bearer x"}},
		"a foreign one and a token":       {foreign, []string{"Authorization", "Bearer " + token}},
		"a proxy":                         {proxy, byProxy},
		"a proxy without a user":          {proxy, nil},
		"a proxy without a user, a token": {proxy, []string{"Authorization", "Bearer " + token}},
		"headers alone":                   {nil, byProxy},
		"headers and a certificate":       {certificate(t, cluster, "alice"), byProxy},
		"headers and a foreign one":       {foreign, byProxy},
		"headers and a token":             {nil, append([]string{"Authorization", "Bearer " + token}, byProxy...)},
	} {
		want, got := review(t, there, c.pair, c.headers), review(t, here, c.pair, c.headers)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: kube-apiserver (-) and the authenticator (+) differ:\n%s", name, diff)
		}
		t.Logf("%s: %d %s", name, got.Code, got.User.Username)
	}
}

// whoAmI serves SelfSubjectReviews for callers that kube-apiserver authenticates.
func whoAmI(t *testing.T, cluster *testkit.Cluster) (address string) {
	t.Helper()
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	reviews, err := upstream.NewReviewer(config, upstream.Hop{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reviews.CloseIdle)
	trust, err := auth.NewTrust(auth.TrustConfig{Upstream: reviews})
	if err != nil {
		t.Fatal(err)
	}
	authenticator := auth.NewAuthenticator(auth.AuthenticatorConfig{
		Trust: trust, Tokens: reviews, Anonymous: auth.AnonymousAsUpstream, Probe: reviews.Anonymous(),
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { authenticator.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	testkit.Eventually(t, "the authorities and the acceptance of anonymous requests are known", func() error {
		if trust.Hints() == nil {
			return errors.New("no authority is known")
		}
		_, err := authenticator.Authenticate(httptest.NewRequest(http.MethodGet, "/", nil))
		return err
	})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := authenticator.Authenticate(r)
		switch {
		case errors.Is(err, auth.ErrUnauthenticated):
			w.WriteHeader(http.StatusUnauthorized)
		case err != nil:
			t.Errorf("%q: %v", r.Header, err)
		case caller.Way == auth.Anonymously:
			w.WriteHeader(http.StatusForbidden)
		default:
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(authenticationv1.SelfSubjectReview{
				Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: userInfo(caller)},
			})
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, ClientCAs: trust.Hints(), MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

func userInfo(caller *auth.Caller) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: caller.Name(), UID: caller.Info.GetUID(), Groups: caller.Info.GetGroups()}
	for key, values := range caller.Info.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	return info
}

// review sends a SelfSubjectReview to a server.
func review(t *testing.T, address string, pair *tls.Certificate, headers []string) (answered identity) {
	t.Helper()
	if pair == nil {
		pair = &tls.Certificate{}
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // the test's own servers
		// The certificate is sent even if the server does not list its authority.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil },
	}}
	body := []byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answered.Code = response.StatusCode; answered.Code != http.StatusCreated {
		return answered
	}
	var said authenticationv1.SelfSubjectReview
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	answered.User = said.Status.UserInfo
	return answered
}

func certificate(t *testing.T, cluster *testkit.Cluster, user string) *tls.Certificate {
	t.Helper()
	config, err := cluster.Config(user)
	if err != nil {
		t.Fatal(err)
	}
	var pair tls.Certificate
	if config.CertFile != "" {
		pair, err = tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
	} else {
		pair, err = tls.X509KeyPair(config.CertData, config.KeyData)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &pair
}

func pairAt(t *testing.T, path string) *tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(path+".crt", path+".key")
	if err != nil {
		t.Fatal(err)
	}
	return &pair
}

func foreignPair(t *testing.T) *tls.Certificate {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey("admin", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return &pair
}

// serviceAccountToken returns a token of a new service account.
func serviceAccountToken(t *testing.T, cluster *testkit.Cluster) string {
	t.Helper()
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	f := suite.NewFixture(t, cluster)
	accounts := client.CoreV1().ServiceAccounts(f.Namespace)
	const name = "whoami"
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	made, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.Status.Token
}
