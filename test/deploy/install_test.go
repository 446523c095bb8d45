package deploy

import (
	"bytes"
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// A new user installs the release in an empty cluster, with the commands of the README. The facade is the image's
// program, run as the Deployment runs it: there is no kubelet. kubectl verifies its certificate, and gets the same
// answer as from kube-apiserver. Another installation changes nothing that clients trust. No controller runs, so the
// account has its rights without the aggregation of roles.
func TestInstallIntoEmptyCluster(t *testing.T) {
	settings.Long(t)
	own, err := testkit.StartCluster(t.Context(), suite.WithoutControllers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	dist := releaseOf(t, testkit.Program(t))
	install := func() {
		line := documented(t, `kubectl apply .*install\.yaml`)
		kubectl(t, own, nil, strings.Fields(strings.ReplaceAll(line, "install.yaml", filepath.Join(dist, "install.yaml")))[1:]...)
	}
	install()
	awaitRight(t, own, accountUser, true, listing("", "namespaces"))
	text, err := os.ReadFile(filepath.Join(dist, "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := testkit.WriteKubeconfig(t, own.ConfigWithToken(own.Token(t, namespace, account, testkit.TokenOptions{})))
	spec := podOf(t, parse(t, text), "--kubeconfig="+kubeconfig, "--bind-address=127.0.0.1", "--secure-port=0")
	spec.program = programIn(t, filepath.Join(dist, "listfacade-image.tar"))
	first, second := spec.start(t), spec.start(t)
	first.readiness(t, true)
	second.readiness(t, true)
	trusted := authorityOf(t, own)
	for _, p := range []*pod{first, second} {
		verifies(t, own, p, trusted)
	}
	comparesItself(t, spec.program, first, kubeconfig)
	install()
	if diff := cmp.Diff(trusted, authorityOf(t, own)); diff != "" {
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

// comparesItself runs the documented comparison with the account's rights. The flags stand for the pod's environment.
func comparesItself(t *testing.T, program string, p *pod, kubeconfig string) {
	t.Helper()
	_, line, _ := strings.Cut(documented(t, `kubectl .* exec .*`), "-- listfacade ")
	args := append(strings.Fields(line), "--against", kubeconfig, "--kubeconfig", kubeconfig,
		"--server", "https://"+p.address, "--insecure-skip-tls-verify")
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", args, err, out)
	}
}

// authorityOf returns the published certificate, by the documented command.
func authorityOf(t *testing.T, own *testkit.Cluster) []byte {
	t.Helper()
	line := documented(t, `kubectl .*get configmap listfacade-authority .*`)
	args, _, _ := strings.Cut(strings.ReplaceAll(line, "'", ""), ">")
	got := kubectl(t, own, nil, strings.Fields(args)[1:]...)
	if !x509.NewCertPool().AppendCertsFromPEM(got) {
		t.Fatalf("got %q, want a certificate", got)
	}
	return got
}

// documented returns the command of the README that matches a pattern.
func documented(t *testing.T, pattern string) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(pattern).FindString(strings.ReplaceAll(string(readme), "\\\n", " "))
	if line == "" {
		t.Fatalf("README.md has no command %s", pattern)
	}
	return line
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
