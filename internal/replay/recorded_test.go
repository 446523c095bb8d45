package replay

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/upstream"
)

// Requests for data that the journal lacks are refused, and the refusal names the missing data.
func TestRefusals(t *testing.T) {
	w := shop(t)
	w.close()
	s := serve(t, w.dir, "120")
	for _, test := range []struct {
		path, want string
		code       int
	}{
		{"/api/v1/secrets", "the journal does not have secrets", http.StatusNotFound},
		{"/api/v1/namespaces/shop/secrets/x", "the journal does not have secrets", http.StatusNotFound},
		{"/apis/ex.io/v1/widgets", "the journal does not have widgets.ex.io", http.StatusNotFound},
		{"/apis/other.io/v1/things", "the journal does not have things.other.io", http.StatusNotFound},
		{"/api/v1/namespaces/shop/configmaps/a/status", "the journal does not have the subresource status of configmaps", http.StatusNotFound},
		{"/api/v1/namespaces/shop/configmaps/missing", `configmaps \"missing\" not found`, http.StatusNotFound},
		{"/openapi/v2", "the journal does not have /openapi/v2", http.StatusNotFound},
		{"/logs", "the journal does not have /logs", http.StatusNotFound},
	} {
		if response, body := s.get(t, test.path); response.StatusCode != test.code || !strings.Contains(body, test.want) {
			t.Errorf("%s: got %d %s, want %d with %q", test.path, response.StatusCode, body, test.code, test.want)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if response, body := s.do(t, method, "/api/v1/namespaces/shop/configmaps/a", "{}"); response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: got %d %s, want 405", method, response.StatusCode, body)
		}
	}
}

// A client may send any User-Agent, also that of the facade's own requests.
func TestUserAgentDoesNotMatter(t *testing.T) {
	w := shop(t)
	w.close()
	s := serve(t, w.dir, "120")
	for _, path := range []string{"/api/v1/secrets", servicesPath} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("User-Agent", upstream.UserAgent)
		response, err := s.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close() != nil || response.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %d, want 404", path, response.StatusCode)
		}
	}
}

// A web page whose name resolves to a loopback address reads nothing.
func TestOtherHostNamesAreRefused(t *testing.T) {
	w := shop(t)
	w.close()
	s := serve(t, w.dir, "120")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://page.example/api/v1/configmaps", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode < 400 {
		t.Errorf("got %d, want a refusal", response.StatusCode)
	}
}

// Discovery is that of the journal, in the form that the client accepts.
func TestDiscovery(t *testing.T) {
	w := shop(t)
	w.close()
	s := serve(t, w.dir, "120")
	for _, test := range []struct {
		path, accept, media string
		want                []string
	}{
		{"/version", "", "application/json", []string{`"gitVersion":"v1.34.0"`}},
		{"/api", aggregatedMedia + ",application/json", aggregatedMedia, []string{`"APIGroupDiscoveryList"`, `"configmaps"`}},
		{"/api", "", "application/json", []string{`"APIVersions"`, `"versions":["v1"]`}},
		{"/apis", "application/json", "application/json", []string{`"APIGroupList"`, `"name":"ex.io"`, `"groupVersion":"ex.io/v1"`}},
		{"/apis/ex.io", "", "application/json", []string{`"APIGroup"`, `"preferredVersion":{"groupVersion":"ex.io/v1"`}},
		{"/apis/ex.io/v1", "", "application/json", []string{`"APIResourceList"`, `"name":"widgets"`, `"name":"widgets/status"`, `"shortNames":["wd"]`}},
		{"/api/v1", "", "application/json", []string{`"name":"configmaps","singularName":"configmap","namespaced":true,"kind":"ConfigMap"`}},
	} {
		response, body := s.get(t, test.path, test.accept)
		if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != test.media {
			t.Errorf("%s: got %d %s %s, want %s", test.path, response.StatusCode, got, body, test.media)
		}
		for _, want := range test.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s: got %s, want %s", test.path, body, want)
			}
		}
	}
	if response, _ := s.get(t, "/apis/ex.io/v2"); response.StatusCode != http.StatusNotFound {
		t.Errorf("unknown version: got %d, want 404", response.StatusCode)
	}
}

// Interactive clients review their own permissions before they read.
func TestReviewsAllowReads(t *testing.T) {
	w := shop(t)
	w.close()
	s := serve(t, w.dir, "120")
	const group = "/apis/authorization.k8s.io/v1/"
	for _, test := range []struct{ path, body, want string }{
		{group + "selfsubjectaccessreviews", `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":{"verb":"list","resource":"pods"}}}`, `"allowed":true`},
		{group + "selfsubjectaccessreviews", `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":{"verb":"delete","resource":"pods"}}}`, `"allowed":false`},
		{group + "selfsubjectrulesreviews", `{"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","spec":{"namespace":"shop"}}`, `"verbs":["get","list","watch"]`},
		{"/apis/authentication.k8s.io/v1/selfsubjectreviews", `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`, `"username":"listfacade-replay"`},
	} {
		if response, body := s.do(t, http.MethodPost, test.path, test.body); response.StatusCode != http.StatusCreated || !strings.Contains(body, test.want) {
			t.Errorf("%s: got %d %s, want %s", test.body, response.StatusCode, body, test.want)
		}
	}
	for _, body := range []string{"no review", `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1"}`} {
		if response, text := s.do(t, http.MethodPost, group+"selfsubjectaccessreviews", body); response.StatusCode < 400 {
			t.Errorf("%s: got %d %s, want a refusal", body, response.StatusCode, text)
		}
	}
}

// A client that prefers a representation that the journal lacks, but accepts plain JSON, receives plain JSON.
func TestPlainObjectsReplaceWhatIsMissing(t *testing.T) {
	w := shop(t)
	w.close()
	s := serve(t, w.dir, "120")
	const table, protobuf = "application/json;as=Table;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf"
	for _, accept := range []string{table + ",application/json", protobuf + ",application/json", protobuf + ", */*"} {
		if response, body := s.get(t, "/api/v1/configmaps", accept); response.StatusCode != http.StatusOK || !strings.Contains(body, `"kind":"ConfigMapList"`) {
			t.Errorf("%s: got %d %s, want a ConfigMapList", accept, response.StatusCode, body)
		}
	}
	for _, accept := range []string{table, protobuf} {
		if response, body := s.get(t, "/api/v1/configmaps", accept); response.StatusCode != http.StatusNotAcceptable {
			t.Errorf("%s: got %d %s, want 406", accept, response.StatusCode, body)
		}
	}
}

// The fields of a custom resource come from its definition at the moment.
func TestSelectableFieldsOfCustomResources(t *testing.T) {
	widgets := kindOf("ex.io", "v1", "widgets", "Widget")
	widgets.Custom = true
	w := shop(t)
	w.put(definitionsPath+"widgets.ex.io", upstream.MediaJSON, `{"metadata":{"name":"widgets.ex.io","uid":"definition-uid"},"status":{"acceptedNames":{"listKind":"WidgetSet"}},"spec":{"versions":[{"name":"v1","selectableFields":[{"jsonPath":".data.v"}]}]}}`)
	w.begin(widgets, 100, journal.Position{}, widgets.record(t, journal.Object, "x", 91), widgets.record(t, journal.Object, "y", 92))
	w.close()
	s := serve(t, w.dir, "120")
	if response, body := s.get(t, "/apis/ex.io/v1/widgets?fieldSelector=data.v%3D92"); response.StatusCode != http.StatusOK ||
		!strings.Contains(body, `"kind":"WidgetSet"`) || strings.Contains(body, `"name":"x"`) || !strings.Contains(body, `"name":"y"`) {
		t.Errorf("got %d %s, want a WidgetSet with y", response.StatusCode, body)
	}
}

// A resource that is defined after the moment is served from the time of its definition on.
func TestLaterResourcesAreReplayed(t *testing.T) {
	things := kindOf("ex.io", "v1", "things", "Thing")
	things.Custom = true
	w := shop(t)
	w.putAt(at(150), "/apis", aggregatedMedia, discoveryOf("ex.io", "widgets:Widget:wd", "things:Thing:th"))
	w.putAt(at(150), definitionsPath+"things.ex.io", upstream.MediaJSON, `{"metadata":{"name":"things.ex.io","uid":"definition-uid"},"spec":{"versions":[{"name":"v1","selectableFields":[{"jsonPath":".data.v"}]}]}}`)
	w.begin(things, 152, journal.Position{}, things.record(t, journal.Object, "x", 151), things.record(t, journal.Object, "y", 152))
	w.close()
	s := serve(t, w.dir, at(120).Format(time.RFC3339))
	const path = "/apis/ex.io/v1/things?fieldSelector=data.v%3D152"
	if response, body := s.get(t, path); response.StatusCode != http.StatusNotFound {
		t.Errorf("before: got %d %s, want 404", response.StatusCode, body)
	}
	s.player.advance(at(153))
	if err := s.documents.read(t.Context(), at(153)); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the new resource", func() error { // discovery is read once a second at most
		if response, body := s.get(t, path); response.StatusCode != http.StatusOK || strings.Contains(body, `"name":"x"`) ||
			!strings.Contains(body, `"name":"y"`) {
			return fmt.Errorf("got %d %s, want y", response.StatusCode, body)
		}
		return nil
	})
}

// Records after damage are not served. The lane has a warning from there. If the first event is damaged, the lane has
// the objects of the checkpoint.
func TestDamageEndsALane(t *testing.T) {
	for damaged, last := range map[string]string{"145": "140", "105": "100"} {
		w := shop(t)
		w.add(configMaps, configMaps.record(t, journal.Upsert, "a", 145))
		w.add(configMaps, configMaps.record(t, journal.Upsert, "a", 150))
		w.close()
		segments, err := filepath.Glob(filepath.Join(w.dir, "lanes", "*", "*.segment"))
		if err != nil || len(segments) != 1 {
			t.Fatalf("got %v and error %v, want one segment", segments, err)
		}
		content, err := os.ReadFile(segments[0])
		if err != nil {
			t.Fatal(err)
		}
		i := strings.Index(string(content), fmt.Sprintf(`"resourceVersion":"%s"`, damaged))
		content[i]++
		if err := os.WriteFile(segments[0], content, 0o600); err != nil {
			t.Fatal(err)
		}
		response, body := serve(t, w.dir, "150").get(t, "/api/v1/configmaps")
		if !strings.Contains(response.Header.Get("Warning"), "after resourceVersion "+last) ||
			!strings.Contains(body, `{"resourceVersion":"`+last+`"}`) || !strings.Contains(body, `"name":"a"`) {
			t.Errorf("got %s with warning %q, want the content at %s with a warning", body, response.Header.Get("Warning"), last)
		}
	}
}

func TestOptions(t *testing.T) {
	good := Options{Dir: "d", At: "10m", Speed: 1, Listen: defaultListen}
	if err := good.validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Options){
		"--journal-dir is required": func(o *Options) { o.Dir = "" },
		"--at is required":          func(o *Options) { o.At = "" },
		"--speed 0":                 func(o *Options) { o.Speed = 0 },
		"--speed -1":                func(o *Options) { o.Speed = -1 },
		"loopback":                  func(o *Options) { o.Listen = "0.0.0.0:1" },
		"--listen":                  func(o *Options) { o.Listen = "127.0.0.1" },
	} {
		bad := good
		change(&bad)
		if err := bad.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
