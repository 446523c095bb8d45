package moved

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// accountFiles is where client-go reads the files of a service account.
const accountFiles = "/var/run/secrets/kubernetes.io/serviceaccount"

// The environment of the program in a pod, which is this test binary.
const (
	filesVariable  = "LISTFACADE_POD_FILES"  // a directory with the files
	dialVariable   = "LISTFACADE_POD_DIAL"   // the address of the splitting proxy, because there are no Services
	serverVariable = "LISTFACADE_POD_SERVER" // the URL of kube-apiserver
)

// podResult is what the program in a pod reports.
type podResult struct {
	Host, User, Version, Namespace string
	Pods                           []string
}

// A client of client-go finds the splitting proxy and trusts it, with nothing but the environment and the files that
// its pod has. It also trusts kube-apiserver.
func TestInClusterConfigUsesSplit(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		suite.MayMiss(t, "only root can mount the files of a service account")
		t.Skip("only root can mount the files of a service account")
	}
	p := newPoliced(t, "")
	proxy := newSplit(t, p)
	p.awaitPolicy(t, newPod())
	pod, err := p.clients.CoreV1().Pods(p.Namespace).Create(t.Context(), newPod(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if moved, err := isMoved(pod); err != nil || !moved {
		t.Fatalf("got moved %t, %v, want true", moved, err)
	}
	p.allowReading(t)
	got := p.runInPod(t, pod, proxy.address)
	version, err := p.clients.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	want := podResult{
		Host: "https://" + splitHost + ":443", User: "system:serviceaccount:" + p.Namespace + ":default",
		Version: version.GitVersion, Namespace: p.Namespace, Pods: []string{pod.Name},
	}
	if got.Host != want.Host || got.User != want.User || got.Version != want.Version || got.Namespace != want.Namespace ||
		!slices.Equal(got.Pods, want.Pods) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if lines := proxy.lines(); len(lines) != 2 {
		t.Errorf("the splitting proxy got %q, want a read and a write", lines)
	}
}

// allowReading lets the namespace's default account read.
func (p *policed) allowReading(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), p.cluster.Binaries["kubectl"], "--kubeconfig", p.cluster.Kubeconfigs["admin"],
		"-n", p.Namespace, "create", "rolebinding", "reads", "--clusterrole=view", "--serviceaccount="+p.Namespace+":default").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	config := p.cluster.ConfigWithToken(p.cluster.Token(t, p.Namespace, "default", testkit.TokenOptions{}))
	clients := suite.NewClients(t, config).Typed
	testkit.Eventually(t, "the account may read", func() error {
		_, err := clients.CoreV1().Pods(p.Namespace).List(t.Context(), metav1.ListOptions{})
		return err
	})
}

// split stands for the splitting proxy: a server with its name and an authority of its own.
type split struct {
	address string
	mu      sync.Mutex
	seen    []string
}

// newSplit starts it, and creates the ConfigMap with both authorities in the namespace.
func newSplit(t *testing.T, p *policed) *split {
	t.Helper()
	authority := testkit.NewAuthority(t, "split")
	pair := authority.Certify(t, testkit.Certificate{
		User: splitHost, Hosts: []string{splitHost}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	certificate, err := tls.X509KeyPair(pair.CertData, pair.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	s := &split{}
	forward := suite.Forward(t, &rest.Config{Host: p.cluster.Server, TLSClientConfig: rest.TLSClientConfig{CAFile: p.cluster.CAFile}})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		forward.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	t.Cleanup(server.Close)
	s.address = server.Listener.Addr().String()
	p.follow(t, authority.CertData())
	return s
}

// follow runs the commands of docs/clients.md, with the test's namespace.
func (p *policed) follow(t *testing.T, ca []byte) {
	t.Helper()
	dir := t.TempDir()
	deploy, err := filepath.Abs(filepath.Join("..", "..", "deploy"))
	if err == nil {
		err = os.Symlink(deploy, filepath.Join(dir, "deploy"))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "split-ca.crt"), ca, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	commands := strings.ReplaceAll(block(t, "Pods without a change", 0), "monitoring", p.Namespace)
	shell(t, p.cluster, p.cluster.Kubeconfigs["admin"], dir, commands)
}

func (s *split) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

// runInPod runs the program with the environment and the files of a pod, in a mount namespace of its own.
func (p *policed) runInPod(t *testing.T, pod *corev1.Pod, address string) (result podResult) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProgramInPod$", "-test.v")
	command.Env = []string{
		filesVariable + "=" + p.project(t, pod), dialVariable + "=" + address, serverVariable + "=" + p.cluster.Server,
	}
	for name, value := range environment(pod.Spec.Containers[0]) {
		command.Env = append(command.Env, name+"="+value)
	}
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := command.CombinedOutput()
	if os.IsPermission(err) {
		suite.MayMiss(t, "mount namespaces are not permitted here")
		t.Skip("mount namespaces are not permitted here")
	}
	if err != nil {
		t.Fatalf("the program in the pod: %v\n%s", err, out)
	}
	line, _, _ := strings.Cut(string(out[strings.IndexByte(string(out), '{'):]), "\n")
	if err := json.Unmarshal([]byte(line), &result); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return result
}

// project writes the files of the pod's volume at accountFiles, as a kubelet does, and returns the directory.
func (p *policed) project(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	dir, name := t.TempDir(), ""
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		if mount.MountPath == accountFiles {
			name = mount.Name
		}
	}
	at := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if at < 0 {
		t.Fatalf("no volume is mounted at %s", accountFiles)
	}
	for _, source := range pod.Spec.Volumes[at].Projected.Sources {
		file, data := "namespace", p.Namespace
		switch {
		case source.ServiceAccountToken != nil:
			file, data = source.ServiceAccountToken.Path, p.cluster.Token(t, p.Namespace, pod.Spec.ServiceAccountName, testkit.TokenOptions{Pod: pod.Name})
		case source.ConfigMap != nil:
			m, err := p.clients.CoreV1().ConfigMaps(p.Namespace).Get(t.Context(), source.ConfigMap.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			file, data = source.ConfigMap.Items[0].Path, m.Data[source.ConfigMap.Items[0].Key]
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestProgramInPod is the program. TestInClusterConfigUsesSplit starts it, and it is skipped elsewhere.
func TestProgramInPod(t *testing.T) {
	files := os.Getenv(filesVariable)
	if files == "" {
		t.Skip("only TestInClusterConfigUsesSplit starts it")
	}
	mountFiles(t, files)
	config, err := rest.InClusterConfig()
	if err != nil {
		t.Fatal(err)
	}
	result := podResult{Host: config.Host}
	direct := rest.CopyConfig(config)
	direct.Host = os.Getenv(serverVariable)
	config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, os.Getenv(dialVariable))
	}
	namespace, err := os.ReadFile(filepath.Join(accountFiles, "namespace"))
	if err != nil {
		t.Fatal(err)
	}
	result.Namespace = string(namespace)
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := clients.CoreV1().Pods(result.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		result.Pods = append(result.Pods, pod.Name)
	}
	user, err := testkit.WhoAmI(t, config)
	if err != nil {
		t.Fatal(err)
	}
	version, err := suite.NewClients(t, direct).Typed.Discovery().ServerVersion()
	if err != nil {
		t.Fatalf("kube-apiserver itself: %v", err)
	}
	result.User, result.Version = user.Username, version.GitVersion
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		t.Fatal(err)
	}
}

// mountFiles makes a directory visible at accountFiles, only in this process. An empty file system hides the machine's
// /run, so that nothing is created there.
func mountFiles(t *testing.T, files string) {
	t.Helper()
	run, err := filepath.EvalSymlinks("/var/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") },
		func() error { return syscall.Mount("tmpfs", run, "tmpfs", 0, "") },
		func() error { return os.MkdirAll(accountFiles, 0o755) },
		func() error { return syscall.Mount(files, accountFiles, "", syscall.MS_BIND, "") },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}
