package moved

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

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
	result.Written = writeAndRead(t, clients.CoreV1().ConfigMaps(result.Namespace))
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

// writeAndRead creates an object, and returns its UID as the next list contains it. A facade may forward a GET, but not
// a list without a limit.
func writeAndRead(t *testing.T, maps typed.ConfigMapInterface) string {
	t.Helper()
	_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: writtenName}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := maps.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all.Items {
		if one.Name == writtenName {
			return string(one.UID)
		}
	}
	return ""
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
