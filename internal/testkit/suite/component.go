package suite

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
)

// Components of the control plane that read from kube-apiserver.
const (
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// StopComponents stops the components of a cluster, so that a test can start its own.
func StopComponents(t testing.TB, own *testkit.Cluster) {
	t.Helper()
	for _, name := range []string{ControllerManager, Scheduler} {
		if err := own.Do(t.Context(), name, "stop"); err != nil {
			t.Fatal(err)
		}
	}
}

// StartComponent starts a component in place of the cluster's own component, and waits until it is healthy. The flags
// name its servers (--kubeconfig, --authentication-kubeconfig, --authorization-kubeconfig). It ends with the test.
func StartComponent(t testing.TB, own *testkit.Cluster, name string, flags ...string) {
	t.Helper()
	address := FreeAddress(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(own.Binaries[name], append([]string{
		"--bind-address=" + host, "--secure-port=" + port, "--cert-dir=" + t.TempDir(), "--leader-elect=false",
	}, flags...)...)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			t.Logf("%s said\n%s", name, said.Bytes()[max(said.Len()-8<<10, 0):])
		}
	})
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, // the test's own server
	}}
	testkit.Eventually(t, name+" is healthy", func() error {
		answer, err := client.Get("https://" + address + "/healthz")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("healthz: %s", answer.Status)
		}
		return nil
	})
}
