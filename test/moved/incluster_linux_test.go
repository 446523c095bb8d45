package moved

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/split"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/document"
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

// podResult is what the program in a pod reports. Written is the UID of the ConfigMap that it has written and read.
type podResult struct {
	Host, User, Version, Namespace, Written string
	Pods                                    []string
}

// A client of client-go finds the splitting proxy and trusts it, with nothing but the environment and the files that
// its pod has. It reads from the facade and writes to kube-apiserver. It also trusts kube-apiserver.
func TestInClusterConfigUsesSplit(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		suite.MayMiss(t, "only root can mount the files of a service account")
		t.Skip("only root can mount the files of a service account")
	}
	p := newPoliced(t, "")
	proxy := newProxied(t, p)
	p.awaitPolicy(t, newPod())
	pod, err := p.clients.CoreV1().Pods(p.Namespace).Create(t.Context(), newPod(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if moved, err := isMoved(pod); err != nil || !moved {
		t.Fatalf("got moved %t, %v, want true", moved, err)
	}
	p.allowEditing(t)
	got := p.runInPod(t, pod, proxy.address)
	version, err := p.clients.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	written, err := p.clients.CoreV1().ConfigMaps(p.Namespace).Get(t.Context(), writtenName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := podResult{
		Host: "https://" + splitHost + ":443", User: "system:serviceaccount:" + p.Namespace + ":default",
		Version: version.GitVersion, Namespace: p.Namespace, Pods: []string{pod.Name}, Written: string(written.UID),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if cached, forwarded := proxy.facade.Answered(t, "cache"), proxy.facade.Answered(t, "upstream"); cached != 2 || forwarded != 0 {
		t.Errorf("the facade answered %d reads and forwarded %d requests, want two lists only", cached, forwarded)
	}
}

// writtenName is the name of the ConfigMap that the program in a pod writes.
const writtenName = "written"

// allowEditing lets the namespace's default account read and write.
func (p *policed) allowEditing(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), p.cluster.Binaries["kubectl"], "--kubeconfig", p.cluster.Kubeconfigs["admin"],
		"-n", p.Namespace, "create", "rolebinding", "edits", "--clusterrole=edit", "--serviceaccount="+p.Namespace+":default").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	config := p.cluster.ConfigWithToken(p.cluster.Token(t, p.Namespace, "default", testkit.TokenOptions{}))
	clients := suite.NewClients(t, config).Typed
	testkit.Eventually(t, "the account has its rights", func() error {
		_, err := clients.CoreV1().Pods(p.Namespace).List(t.Context(), metav1.ListOptions{})
		return err
	})
}

// proxied is a splitting proxy, with a facade and kube-apiserver behind it, and the certificate that it has in a
// cluster. The proxy of a cluster is at splitHost.
type proxied struct {
	address string
	facade  *testkit.Oracle // counts the reads of the facade
}

// newProxied starts a proxy until the test ends, and creates the ConfigMap with both authorities in the namespace.
func newProxied(t *testing.T, p *policed) *proxied {
	t.Helper()
	run, dir := suite.StartDelegating(t, p.cluster), t.TempDir()
	cert, key, err := facade.NewAuthority("listfacade-system")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := split.DefaultOptions()
	o.KubeAPIServer, o.KubeAPIServerCAFile = p.cluster.Server, p.cluster.CAFile
	o.Facades, o.FacadeCAFile, o.MetricsAddress = []string{run.URL}, run.Config.CAFile, ""
	log := zaptest.NewLogger(t, zaptest.Level(zap.InfoLevel))
	if o.Serving.Authority, err = facade.ReadAuthority(t.Context(), dir, log); err != nil {
		t.Fatal(err)
	}
	o.Serving.ShutdownDelay, o.Serving.WatchTermination, o.Serving.ShutdownGrace = 0, 0, 0
	proxy, err := split.New(o, log)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- proxy.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	p.follow(t, cert)
	return &proxied{address: listener.Addr().String(), facade: suite.OracleOf(t, run)}
}

// follow publishes an authority as a facade does, and runs the commands of docs/clients.md with the test's namespace.
func (p *policed) follow(t *testing.T, ca []byte) {
	t.Helper()
	const system = "listfacade-system"
	_, err := p.clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	_, err = p.clients.CoreV1().ConfigMaps(system).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "listfacade-authority"}, Data: map[string]string{"ca.crt": string(ca)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	commands := shell(t, p.cluster, p.cluster.Kubeconfigs["admin"])
	if err := os.Symlink(filepath.Join(document.Root(t), "deploy"), filepath.Join(commands.Dir, "deploy")); err != nil {
		t.Fatal(err)
	}
	commands.Names = map[string]string{"monitoring": p.Namespace}
	commands.Run(t, block(t, "Pods without a change", 0))
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
