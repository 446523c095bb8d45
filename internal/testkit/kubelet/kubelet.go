package kubelet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Process is a command in a container. If Command is empty, it is the container's own process, to which a client
// attaches.
type Process struct {
	Namespace, Pod, Container string
	Command                   []string
	Stdin                     io.Reader // nil without stdin
	Stdout, Stderr            io.Writer
}

// Run runs a Process until it ends. An *exec.ExitError contains the exit code of the Process. Run must be safe for
// concurrent use.
type Run func(ctx context.Context, p Process) error

// Start starts a kubelet until the test ends, and returns its address. It serves any container.
func Start(t testing.TB, run Run) (address string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "log of %s\n", r.PathValue("pod"))
	})
	mux.Handle("/exec/{namespace}/{pod}/{container}", run)
	mux.Handle("/attach/{namespace}/{pod}/{container}", run)
	mux.HandleFunc("/portForward/{namespace}/{pod}", forwards)
	server := httptest.NewTLSServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String()
}

// AddNode creates a ready node whose kubelet is at an address. kwok renews its lease and starts its pods.
func AddNode(t testing.TB, clients kubernetes.Interface, name, address string) {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
		Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()},
		},
		Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("64Gi"),
			corev1.ResourcePods: resource.MustParse("110"),
		},
	}}
	node.Status.Capacity = node.Status.Allocatable
	if _, err := clients.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
