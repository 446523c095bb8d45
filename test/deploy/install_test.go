package deploy

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/document"
	"github.com/listfacade/listfacade/internal/testkit/kubelet"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// A new user installs the release in an empty cluster, with the commands of the README. The facade is the image's
// program, run as the Deployment runs it. The kubelet only runs the command of `kubectl exec`. kubectl verifies the
// facade's certificate, and gets the same answer as from kube-apiserver. Another installation changes nothing that
// clients trust.
func TestInstallIntoEmptyCluster(t *testing.T) {
	settings.Long(t)
	own, err := testkit.StartCluster(t.Context(), "--nodes=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	shell := document.NewShell(t, own.Kubeconfigs["admin"], filepath.Dir(own.Binaries["kubectl"]))
	shell.Dir = releaseOf(t, testkit.Program(t))
	commands := document.Commands(document.Text(t, document.Readme, "Install it", 1))
	if len(commands) != 2 {
		t.Fatalf("got the commands %q, want one that installs and one that compares", commands)
	}
	shell.Run(t, commands[0])
	awaitRight(t, own, accountUser, true, listing("", "namespaces"))
	text, err := os.ReadFile(filepath.Join(shell.Dir, "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := testkit.WriteKubeconfig(t, own.ConfigWithToken(own.Token(t, namespace, account, testkit.TokenOptions{})))
	spec := podOf(t, parse(t, text), "--kubeconfig="+kubeconfig, "--bind-address=127.0.0.1", "--secure-port=0")
	spec.program = programIn(t, filepath.Join(shell.Dir, "listfacade-image.tar"))
	first, second := spec.start(t), spec.start(t)
	first.readiness(t, true)
	second.readiness(t, true)
	trusted := authorityOf(t, shell)
	for _, p := range []*pod{first, second} {
		verifies(t, own, p, trusted)
	}
	// The flags stand for the environment in the pod.
	runPods(t, own, func(arguments []string) *exec.Cmd {
		return exec.CommandContext(t.Context(), spec.program, append(arguments, "--against", kubeconfig, "--kubeconfig", kubeconfig,
			"--server", "https://"+first.address, "--insecure-skip-tls-verify")...) //nolint:gosec // a test's own
	})
	shell.Run(t, commands[1])
	shell.Run(t, commands[0])
	if diff := cmp.Diff(trusted, authorityOf(t, shell)); diff != "" {
		t.Errorf("another installation changes the authority: %s", diff)
	}
}

// verifies reads through the facade with kubectl, which trusts the authority only.
func verifies(t *testing.T, own *testkit.Cluster, p *pod, authority []byte) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "listfacade-ca.crt")
	if err := os.WriteFile(file, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	read := []string{"get", "namespaces", "-o", "json"}
	want := kubectl(t, own, nil, read...)
	got := kubectl(t, own, nil, append(read, "--server", "https://"+p.address, "--certificate-authority", file)...)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-kube-apiserver +facade) %s", diff)
	}
}

// runPods starts the pods of the Deployment. Their kubelet runs the program with the arguments of a client. The program
// has the account's rights, and the facade of a pod.
func runPods(t *testing.T, own *testkit.Cluster, program func(arguments []string) *exec.Cmd) {
	t.Helper()
	clients := administrator(t, own)
	kubelet.AddNode(t, clients, "only", kubelet.Start(t, func(_ context.Context, inside kubelet.Process) error {
		if inside.Namespace != namespace || inside.Container != "listfacade" || inside.Command[0] != "listfacade" {
			return fmt.Errorf("the image has no %q in %s/%s", inside.Command, inside.Namespace, inside.Container)
		}
		command := program(inside.Command[1:])
		command.Stdout, command.Stderr = inside.Stdout, inside.Stderr
		return command.Run()
	}))
	testkit.Eventually(t, "the Deployment is available", func() error {
		is, err := clients.AppsV1().Deployments(namespace).Get(t.Context(), "listfacade", metav1.GetOptions{})
		if err == nil && is.Status.AvailableReplicas == 0 {
			err = fmt.Errorf("got the status %+v", is.Status)
		}
		return err
	})
}

// authorityOf returns the published certificate, by the documented command.
func authorityOf(t *testing.T, shell *document.Shell) []byte {
	t.Helper()
	shell.Run(t, document.Text(t, document.Readme, "Point clients at it", 1))
	got, err := os.ReadFile(filepath.Join(shell.Dir, "listfacade-ca.crt"))
	if err != nil || !x509.NewCertPool().AppendCertsFromPEM(got) {
		t.Fatalf("got %q, %v, want a certificate", got, err)
	}
	return got
}

// releaseOf writes the files of a release with a program for each platform, and returns their directory. The image of
// the other platform has the same program.
func releaseOf(t *testing.T, program string) (dist string) {
	t.Helper()
	dist = t.TempDir()
	binary, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, architecture := range []string{"amd64", "arm64"} {
		name := filepath.Join(dist, "listfacade-linux-"+architecture)
		for file, content := range map[string][]byte{name: binary, name + ".cdx.json": []byte("{}\n")} {
			if err := os.WriteFile(file, content, 0o700); err != nil { //nolint:gosec // a program
				t.Fatal(err)
			}
		}
	}
	root := filepath.Join("..", "..")
	module := filepath.Join(root, "deploy", "release")
	tool := filepath.Join(t.TempDir(), "release")
	if err := testkit.Compile(t.Context(), module, tool, ".", testkit.Quickly()...); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), tool, "-root", root, "-dist", dist, "-version", "devel")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dist
}

// programIn returns the program of this platform in the image, which tar unpacks without any library of images: the
// layers of the layout are the only gzip files in it.
func programIn(t *testing.T, image string) string {
	t.Helper()
	layout, root := t.TempDir(), t.TempDir()
	unpack := func(args ...string) {
		if out, err := exec.CommandContext(t.Context(), "tar", args...).CombinedOutput(); err != nil {
			t.Fatalf("tar %v: %v\n%s", args, err, out)
		}
	}
	unpack("-xf", image, "-C", layout)
	blobs, err := filepath.Glob(filepath.Join(layout, "blobs", "sha256", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, blob := range blobs {
		if content, err := os.ReadFile(blob); err == nil && bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
			unpack("-xzf", blob, "-C", root)
		}
	}
	return filepath.Join(root, "usr", "local", "bin", "listfacade")
}
