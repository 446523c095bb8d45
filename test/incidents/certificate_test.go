package incidents

import (
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// lifetime is the lifetime of certificates that expire in a test: long enough for the start and for an alert.
const lifetime = 40 * time.Second

// The facade's client certificate expires and is renewed in its file. In between no caller can be authenticated:
// neither clients, nor Prometheus, nor the operator.
func TestExpiredClientCertificate(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	cluster := suite.Cluster(t)
	s, path := newCrowd(t)
	config := suite.FacadeConfig(t, cluster)
	files := pairFiles{cert: filepath.Join(t.TempDir(), "client.crt"), key: filepath.Join(t.TempDir(), "client.key")}
	authority := cluster.Authority(t, testkit.ClientCA)
	renew := func(life time.Duration) {
		until := time.Now().Add(life)
		files.write(t, authority.Certify(t, testkit.Certificate{User: "listfacade", Until: until, From: time.Now().Add(-time.Hour)}))
	}
	renew(lifetime)
	config.TLSClientConfig = rest.TLSClientConfig{CAFile: cluster.CAFile, CertFile: files.cert, KeyFile: files.key}
	way := layWire(t, config)
	socket := filepath.Join(t.TempDir(), "debug.sock")
	run := suite.LaunchDelegating(t, way.kubeconfig, suite.Unpacked, func(c *facade.Config) {
		c.DebugSocket = socket
		c.Authentication.TokenTTL, c.Authorization.AllowedTTL = time.Second, time.Second
	})
	run.AwaitReady(t)
	admin := adminOf(t)
	o, m := operatorOf(run, admin), watch(t, admin, run)
	allow(t, s.Namespace, "reader", "configmaps")
	recent, _ := startReaders(t, run.ConfigOf(cluster.ConfigWithToken(cluster.Token(t, s.Namespace, "reader", tokenOptions))), path)
	recent.gets(t, http.StatusOK)
	m.passes(t, 12) // Prometheus scrapes the time of expiry
	if said := recent.gets(t, http.StatusServiceUnavailable); !strings.Contains(said, "authentication or authorization by kube-apiserver is unavailable") {
		t.Errorf("%s", said)
	}
	o.said(t, "Refused by the upstream with 401: review", "", "")
	o.said(t, "Request failed", "error", "401")
	operatorAt(run, socket).pageSays(t, "The upstream certificate expired ")
	m.passes(t, 8) // Prometheus cannot authenticate either
	m.firesBeside([]string{"ListfacadeErrorBudgetBurn", "ListfacadeLaneStale", "ListfacadeReplicaDown", "ListfacadeReviewsFail"}, "ListfacadeDown",
		`ListfacadeCertificateExpires{certificate="upstream",pod="a"}`)
	renew(30 * 24 * time.Hour)
	way.hangUp() // client-go does within five minutes of the file's change; handshakes read it
	recent.gets(t, http.StatusOK)
	m.passes(t, 16)
	m.firesBeside([]string{"ListfacadeErrorBudgetBurn", "ListfacadeRelistLoop"})
	m.verify(t)
}

// The facade's serving certificate expires and is renewed in its file.
func TestExpiredServingCertificate(t *testing.T) {
	settings.Long(t)
	t.Parallel()
	authority := testkit.NewAuthority(t, "incidents")
	files := pairFiles{cert: filepath.Join(t.TempDir(), "tls.crt"), key: filepath.Join(t.TempDir(), "tls.key")}
	renew := func(life time.Duration) {
		files.write(t, authority.Certify(t, testkit.Certificate{
			Hosts: []string{"localhost"}, Until: time.Now().Add(life), From: time.Now().Add(-time.Hour), Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}))
	}
	renew(lifetime)
	run := suite.StartFacade(t, suite.Cluster(t), suite.Unpacked, func(c *facade.Config) { c.CertFile, c.KeyFile = files.cert, files.key })
	run.Config.TLSClientConfig = rest.TLSClientConfig{CAData: authority.CertData(), ServerName: "localhost"}
	o, m := operatorOf(run, nil), watch(t, nil, run)
	m.passes(t, 14)
	m.fires(`ListfacadeCertificateExpires{certificate="serving",pod="a"}`)
	o.pageSays(t, "The serving certificate ")
	testkit.Eventually(t, "clients reject the expired certificate", func() error {
		_, err := fresh(t, run.Config)
		if err == nil || !strings.Contains(err.Error(), "expired") {
			return errNone
		}
		return nil
	})
	renew(30 * 24 * time.Hour)
	o.said(t, "Replaced serving certificate", "", "")
	if answer, err := fresh(t, run.Config); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", answer, err)
	}
	m.passes(t, 12)
	m.fires()
	m.verify(t)
}

// pairFiles are the files of a certificate and its key.
type pairFiles struct{ cert, key string }

func (f pairFiles) write(t *testing.T, pair testkit.KeyPair) {
	t.Helper()
	for path, content := range map[string][]byte{f.cert: pair.CertData, f.key: pair.KeyData} {
		if err := os.WriteFile(path+".new", content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

// fresh sends a request for /livez over a new connection.
func fresh(t *testing.T, config *rest.Config) (*http.Response, error) {
	t.Helper()
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: tls, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return response, err
}
