package deploy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/listfacade/listfacade/internal/facade"
	splitting "github.com/listfacade/listfacade/internal/split"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// splitDeployment returns the Deployment of the splitting proxy.
func splitDeployment(t *testing.T, m manifests) *appsv1.Deployment {
	t.Helper()
	deployments := of[appsv1.Deployment](t, m, "Deployment")
	if len(deployments) != 1 || len(deployments[0].Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("got %d Deployments, want one with one container", len(deployments))
	}
	return &deployments[0]
}

// The splitting proxy has no rights and no token, and its grace period is long enough for a complete shutdown.
func TestSplitHasNoRights(t *testing.T) {
	m := build(t, suite.Cluster(t), splitOverlay)
	for _, object := range m.objects {
		if strings.Contains(object.GetKind(), "Role") {
			t.Errorf("got a %s, want no rights", object.GetKind())
		}
	}
	pod := splitDeployment(t, m).Spec.Template.Spec
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Error("a token is mounted")
	}
	for _, volume := range pod.Volumes {
		if volume.Projected == nil {
			continue
		}
		for _, source := range volume.Projected.Sources {
			if source.ServiceAccountToken != nil {
				t.Errorf("the volume %s contains a token", volume.Name)
			}
		}
	}
	c := splitting.DefaultOptions().Serving
	total := c.ShutdownDelay + c.WatchTermination + c.ShutdownGrace
	if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace <= total {
		t.Errorf("got terminationGracePeriodSeconds %s, want more than %s", grace, total)
	}
}

// The proxy starts with the arguments and files of the Deployment, and becomes ready. Only its addresses differ.
func TestSplitStartsAsDeployed(t *testing.T) {
	cluster := suite.Cluster(t)
	m := build(t, cluster, splitOverlay)
	container := splitDeployment(t, m).Spec.Template.Spec.Containers[0]
	dir := t.TempDir()
	ca := read(t, cluster.CAFile)
	cert, key, err := facade.NewAuthority("listfacade-system")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"rules/rules.yaml":               []byte(of[corev1.ConfigMap](t, m, "ConfigMap")[0].Data["rules.yaml"]),
		"authorities/kube-apiserver.crt": ca, "authorities/facade.crt": ca,
		"authority/tls.crt": cert, "authority/tls.key": key,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, mount := range container.VolumeMounts {
		if _, err := os.Stat(strings.Replace(mount.MountPath, "/etc/listfacade-split", dir, 1)); err != nil {
			t.Errorf("the volume %s: %v", mount.Name, err)
		}
	}
	if rules, err := splitting.ReadRules(filepath.Join(dir, "rules", "rules.yaml")); err != nil ||
		fmt.Sprint(rules) != fmt.Sprint(splitting.DefaultRules()) {
		t.Errorf("got rules %v, %v, want the defaults", rules, err)
	}
	address := suite.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, arg := range container.Args[1:] {
		args = append(args, strings.ReplaceAll(arg, "/etc/listfacade-split", dir))
	}
	runSplit(t, slices.Concat(args, []string{
		"--kube-apiserver=" + cluster.Server, "--bind-address=127.0.0.1", "--secure-port=" + port, "--metrics-bind-address=",
		"--shutdown-delay-duration=0", "--log-level=error",
	}), address, cert)
}

// runSplit runs the command with arguments until the test ends, and waits until it is ready at an address, with a
// certificate of an authority for the name of its Service.
func runSplit(t *testing.T, args []string, address string, authority []byte) {
	t.Helper()
	command := splitting.Command()
	command.SetArgs(args)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: "listfacade-split.listfacade-system.svc", MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true,
	}}
	testkit.Eventually(t, "the proxy is ready", func() error {
		answer, err := client.Get("https://" + address + "/readyz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("readyz: %s", answer.Status)
		}
		return nil
	})
}
