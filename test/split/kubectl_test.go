package split

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// kubectl is the real kubectl in one namespace.
type kubectl struct {
	*testkit.Kubectl
	namespace string
}

// run runs a command, which must succeed and print a text. It returns stdout.
func (k *kubectl) run(t *testing.T, want string, args ...string) string {
	t.Helper()
	out := k.Run(t, append([]string{"-n", k.namespace}, args...)...)
	if !strings.HasSuffix(out, "--- exit code 0\n") || !strings.Contains(out, want) {
		t.Errorf("kubectl %s: got %s, want %q", strings.Join(args, " "), out, want)
	}
	stdout, _, _ := strings.Cut(out, "--- stderr\n")
	return stdout
}

// objects are a Deployment with a Service and an Ingress, and a ConfigMap.
const objects = `apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: registry.example/c}]
---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec: {selector: {app: %[1]s}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: %[1]s}
spec:
  rules:
  - host: %[1]s.example
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: %[1]s, port: {number: 80}}}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: %[1]s}
data: {key: old}
`

// deploy applies objects with a name, and waits until the pods run. It returns the file of the objects.
func (k *kubectl) deploy(t *testing.T, name string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, objects, name), 0o600); err != nil {
		t.Fatal(err)
	}
	k.run(t, "deployment.apps/"+name+" created", "apply", "-f", file)
	k.run(t, "successfully rolled out", "rollout", "status", "deployment/"+name)
	return file
}

// useAllVerbs uses every kind of request that kubectl sends.
func (k *kubectl) useAllVerbs(t *testing.T) {
	told := k.Follow(t, "-n", k.namespace, "get", "configmaps", "--watch", "-o", "name")
	file := k.deploy(t, "web")
	awaitLine(t, told, "configmap/web")
	k.run(t, "deployment.apps/web unchanged", "apply", "-f", file)
	k.run(t, "serverside-applied", "apply", "--server-side", "--force-conflicts", "-f", file)
	k.run(t, "condition met", "wait", "--for=condition=Available", "deployment/web")
	k.run(t, "scaled", "scale", "deployment/web", "--replicas=1")
	k.run(t, "condition met", "wait", "--for=jsonpath={.status.replicas}=1", "deployment/web")
	k.run(t, "patched", "patch", "configmap", "web", "-p", `{"data":{"other":"value"}}`)
	t.Setenv("KUBE_EDITOR", "sed -i s/old/new/")
	k.run(t, "configmap/web edited", "edit", "configmap", "web")
	k.run(t, "new", "get", "configmap", "web", "-o", "jsonpath={.data.key}")
	k.run(t, "labeled", "label", "configmap", "web", "a=b")
	k.run(t, "restarted", "rollout", "restart", "deployment/web")
	k.run(t, "successfully rolled out", "rollout", "status", "deployment/web")
	k.run(t, "deployment.apps/web", "rollout", "history", "deployment/web")
	k.run(t, "created", "create", "secret", "generic", "web", "--from-literal=a=b")
	k.run(t, "web", "get", "secrets,leases,configmaps")
	k.run(t, "system:serviceaccount:kube-system:kubectl", "auth", "whoami")
	k.run(t, "yes", "auth", "can-i", "delete", "nodes")
	k.run(t, "KIND", "explain", "pods")
	k.run(t, "deployments", "api-resources")
	k.run(t, "cordoned", "cordon", "only")
	k.run(t, "uncordoned", "uncordon", "only")
	k.connect(t)
	k.run(t, "deleted", "delete", "-f", file)
	k.run(t, "deleted", "delete", "secret", "web")
}

// connect uses the connections to a pod.
func (k *kubectl) connect(t *testing.T) {
	pod := k.run(t, "", "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].metadata.name}")
	k.run(t, "log of "+pod, "logs", pod)
	k.run(t, "log of "+pod, "logs", "--follow", "deployment/web")
	k.run(t, "ran ls -l", "exec", pod, "--", "ls", "-l")
	k.run(t, "ran", "attach", pod)
	lines := k.Follow(t, "-n", k.namespace, "port-forward", pod, ":80")
	line := awaitLine(t, lines, "Forwarding from 127.0.0.1:")
	address, _, _ := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ")
	answer, err := http.Get("http://" + address + "/path") //nolint:noctx // ends with kubectl
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || string(body) != "/path on port 80" {
		t.Errorf("got %q, %v", body, err)
	}
}

// awaitLine waits for a line that begins with a text, and returns it.
func awaitLine(t *testing.T, lines <-chan string, begin string) string {
	t.Helper()
	deadline := time.After(suite.Patience)
	for {
		select {
		case line, open := <-lines:
			if !open {
				t.Fatalf("kubectl ended before %q", begin)
			}
			if strings.HasPrefix(line, begin) {
				return line
			}
		case <-deadline:
			t.Fatalf("there is no line %q", begin)
		}
	}
}
