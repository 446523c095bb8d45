package devcluster_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/listfacade/listfacade/devcluster"
)

// TestAuthorizationWebhook runs kube-apiserver with a webhook authorizer after Node and RBAC.
func TestAuthorizationWebhook(t *testing.T) {
	long(t)
	webhook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SubjectAccessReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		asked := review.Spec.ResourceAttributes
		review.Status.Allowed = asked != nil && review.Spec.User == "alice" && asked.Resource == "nodes" && asked.Verb == "list"
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(webhook.Close)
	cluster := start(t, devcluster.Options{APIServer: []string{
		"--authorization-mode=Node,RBAC,Webhook",
		"--authorization-webhook-config-file=" + webhookKubeconfig(t, webhook.URL),
		"--authorization-webhook-version=v1",
		"--authorization-webhook-cache-authorized-ttl=0s",
		"--authorization-webhook-cache-unauthorized-ttl=0s",
	}})
	must(t, cluster, devcluster.Alice, "get", "pods", "-n", "team-a") // by RBAC
	must(t, cluster, devcluster.Alice, "get", "nodes")                // by the webhook
	if _, err := kubectl(t, cluster, devcluster.Alice, "get", "pods", "-A"); err == nil || !strings.Contains(err.Error(), "forbidden") {
		t.Errorf("got %v, want Forbidden: no authorizer allows it", err)
	}
}

func webhookKubeconfig(t *testing.T, server string) string {
	t.Helper()
	file := api.NewConfig()
	file.Clusters["webhook"] = &api.Cluster{Server: server}
	file.Contexts["webhook"] = &api.Context{Cluster: "webhook"}
	file.CurrentContext = "webhook"
	path := filepath.Join(t.TempDir(), "webhook.kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAuthorizationConfig takes the place of the flags that kube-apiserver refuses beside it.
func TestAuthorizationConfig(t *testing.T) {
	long(t)
	path := filepath.Join(t.TempDir(), "authorization.yaml")
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\n" +
		"authorizers: [{type: RBAC, name: rbac}]\n"
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster := start(t, devcluster.Options{APIServer: []string{"--authorization-config=" + path}})
	must(t, cluster, devcluster.Alice, "get", "pods", "-n", "team-a")
	if _, err := kubectl(t, cluster, devcluster.Node, "get", "services", "-A"); err == nil {
		t.Error("the Node authorizer still allows requests")
	}
}
