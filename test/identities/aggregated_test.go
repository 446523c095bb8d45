package identities

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

const (
	projectsGroup = "filtered.example.com"
	projects      = "/apis/" + projectsGroup + "/v1/projects"
)

// newAggregated adds an API server that shows each caller only its own objects, as OpenShift does with projects. A list
// has one project, named after the caller. The handler more serves other paths of the group.
func newAggregated(t *testing.T, w *world, more http.HandlerFunc) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		answer.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/apis/" + projectsGroup + "/v1":
			writeJSON(t, answer, metav1.APIResourceList{
				TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: projectsGroup + "/v1",
				APIResources: []metav1.APIResource{{Name: "projects", SingularName: "project", Kind: "Project", Verbs: metav1.Verbs{"get", "list", "watch"}}},
			})
		case projects:
			name := strings.ReplaceAll(r.Header.Get("X-Remote-User"), ":", "-")
			writeJSON(t, answer, map[string]any{
				"kind": "ProjectList", "apiVersion": projectsGroup + "/v1", "metadata": map[string]any{"resourceVersion": "1"},
				"items": []any{map[string]any{"metadata": map[string]any{"name": "of-" + name, "resourceVersion": "1"}}},
			})
		default:
			if strings.HasPrefix(r.URL.Path, projects+"/") && more != nil {
				more(answer, r)
				return
			}
			http.NotFound(answer, r)
		}
	}))
	proxies := x509.NewCertPool()
	proxies.AppendCertsFromPEM(w.Authority(t, testkit.FrontProxyCA).CertData())
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: proxies, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections() // Close waits for requests
		server.Close()
	})
	w.aggregate(t, server.Listener.Addr())
}

func writeJSON(t *testing.T, w io.Writer, what any) {
	if err := json.NewEncoder(w).Encode(what); err != nil {
		t.Error(err)
	}
}

// aggregate registers the server at an address of this machine, until the test ends.
func (w *world) aggregate(t *testing.T, address net.Addr) {
	t.Helper()
	config, err := w.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := net.SplitHostPort(address.String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{GenerateName: "aggregated-"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeExternalName, ExternalName: "localhost",
	}}
	if service, err = clients.CoreV1().Services(suite.FirstNamespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	services := objects.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	registration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1." + projectsGroup},
		"spec": map[string]any{
			"group": projectsGroup, "version": "v1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(10), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": suite.FirstNamespace, "name": service.Name, "port": port},
		},
	}}
	if _, err := services.Create(t.Context(), registration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	admin := w.upstream(t, "admin")
	t.Cleanup(func() {
		if err := services.Delete(context.Background(), "v1."+projectsGroup, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	for _, path := range []string{projects, "/apis/" + projectsGroup} {
		testkit.Eventually(t, "the aggregated API is served", func() error {
			return expect(admin.MustAsk(t, testkit.Question{Path: path}), http.StatusOK)
		})
	}
}

// The facade forwards each request for a filtered API with the caller's credentials, and caches no answer.
func TestFilteredAggregatedAPIIsNotCached(t *testing.T) {
	w := newWorld(t)
	newAggregated(t, w, nil)
	f := suite.StartDelegating(t, w.Cluster)
	const account = "of-system-serviceaccount-oracle-"
	second := w.ConfigWithToken(w.Token(t, suite.FirstNamespace, "second", testkit.TokenOptions{}))
	for range 2 {
		for own, who := range map[string]*rest.Config{account + "robot": w.identities["robot"].config, account + "second": second} {
			o := f.As(t, who)
			for _, query := range []string{"", "?resourceVersion=0", "?limit=500"} {
				answer := get(t, o, http.StatusOK, projects+query)
				if !strings.Contains(string(answer.Body), own) {
					t.Errorf("the caller that owns %s receives %s", own, head(answer.Body))
				}
			}
		}
	}
	admin := w.as(t, f, "admin")
	if answer := admin.Facade.MustAsk(t, testkit.Question{Path: projects}); answer.Code != http.StatusNotImplemented {
		t.Errorf("admin, without a token: %d %s", answer.Code, head(answer.Body))
	}
	get(t, w.as(t, f, "anonymous"), http.StatusForbidden, projects)
	for _, lane := range f.Lanes() {
		if lane.Group == projectsGroup {
			t.Errorf("the facade caches it: %+v", lane)
		}
	}
}

// One aggregated path redirects the caller to another address, and one has a large and slow body.
func TestAggregatedAnswersAreStreamedWithoutRedirects(t *testing.T) {
	w := newWorld(t)
	goOn, left := make(chan struct{}, 1), make(chan struct{}, 10)
	newAggregated(t, w, func(answer http.ResponseWriter, r *http.Request) {
		switch strings.TrimPrefix(r.URL.Path, projects+"/") {
		case "moved":
			http.Redirect(answer, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		case "large":
			piece := make([]byte, 1<<20)
			for i := range 64 {
				if _, err := answer.Write(piece); err != nil {
					left <- struct{}{}
					return
				}
				if i == 7 { // the facade reads the first 4 MiB before its client takes them
					_ = http.NewResponseController(answer).Flush()
					select {
					case <-goOn:
					case <-r.Context().Done():
						left <- struct{}{}
						return
					}
				}
			}
		}
	})
	f := suite.StartDelegating(t, w.Cluster)
	o := w.as(t, f, "robot")
	answer := o.Facade.MustAsk(t, testkit.Question{Path: projects + "/moved"})
	if answer.Code < http.StatusBadRequest || answer.Header.Get("Location") != "" {
		t.Errorf("moved: %d %v", answer.Code, answer.Header)
	}
	o.Compare(t, testkit.Question{Path: projects + "/moved"})

	// The beginning arrives before the server sends the rest: the facade does not buffer the body.
	response, err := o.Facade.Open(t.Context(), testkit.Question{Path: projects + "/large"})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.ReadFull(response.Body, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	goOn <- struct{}{}
	n, err := io.Copy(io.Discard, response.Body)
	if err != nil || n != 63<<20 {
		t.Errorf("%d bytes more, %v", n, err)
	}
	// When the client closes the connection, the facade closes its own.
	if response, err = o.Facade.Open(t.Context(), testkit.Question{Path: projects + "/large"}); err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadFull(response.Body, make([]byte, 1<<10))
	_ = response.Body.Close()
	testkit.Eventually(t, "the facade ends its request to the aggregated server", func() error {
		select {
		case <-left:
			return nil
		default:
			return fmt.Errorf("the server still writes")
		}
	})
}
