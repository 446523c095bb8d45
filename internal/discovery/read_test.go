package discovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// documents is a server that responds with a document for each path, and with 404 for all other paths.
type documents map[string]document

type document struct {
	contentType string // of aggregated discovery; empty means plain JSON
	code        int    // 0 means 200
	body        string
}

func (d documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, ok := d[r.URL.Path]
	switch {
	case !ok:
		found = document{code: http.StatusNotFound, body: `{"kind":"Status","apiVersion":"v1","code":404,"reason":"NotFound"}`}
	case found.contentType != "" && !strings.Contains(r.Header.Get("Accept"), found.contentType):
		http.Error(w, "not requested", http.StatusNotAcceptable)
		return
	}
	w.Header().Set("Content-Type", strings.TrimSuffix("application/json;"+found.contentType, ";"))
	if found.code != 0 {
		w.WriteHeader(found.code)
	}
	_, _ = io.WriteString(w, found.body)
}

// serve starts a server, and returns an Ask and a client of client-go for it.
func serve(t *testing.T, d documents) (Ask, *clientgo.DiscoveryClient) {
	t.Helper()
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	client, err := clientgo.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return asking(server.URL), client
}

func asking(base string) Ask {
	return func(ctx context.Context, path, accept string) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Accept", accept)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		switch response.StatusCode {
		case http.StatusOK:
			return io.ReadAll(response.Body)
		case http.StatusNotFound:
			return nil, fmt.Errorf("%s: %w", path, ErrNotFound)
		default:
			return nil, fmt.Errorf("%s: got %d", path, response.StatusCode)
		}
	}
}

const (
	v2      = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	v2beta1 = "g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

	aggregatedCore = `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","freshness":"Current","resources":[` +
		`{"resource":"pods","responseKind":{"group":"","version":"v1","kind":"Pod"},"scope":"Namespaced","singularResource":"pod","shortNames":["po"],"verbs":["get","list","watch"],` +
		`"subresources":[{"subresource":"status","responseKind":{"group":"","version":"v1","kind":"Pod"},"verbs":["get"]},` +
		`{"subresource":"exec","responseKind":{"group":"","version":"","kind":""},"verbs":["create"]},{"subresource":"log","verbs":["get"]}]},` +
		`{"resource":"nameless","scope":"Cluster","verbs":["get"],"subresources":[{"subresource":"named","responseKind":{"kind":"N"},"verbs":["get"]}]},` +
		`{"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","verbs":["list"]}]}]}]}`
	aggregatedGroups = `{"kind":"APIGroupDiscoveryList","items":[` +
		`{"metadata":{"name":"ex.io"},"versions":[` +
		`{"version":"v2","freshness":"Stale","resources":[{"resource":"things","responseKind":{"kind":"Thing"},"scope":"Namespaced","verbs":["list"]}]},` +
		`{"version":"v1","resources":[{"resource":"things","responseKind":{"kind":"Thing"},"scope":"Namespaced","verbs":["list"]}]},` +
		`{"version":"v1beta1","resources":[{"resource":"things","responseKind":{"kind":"Thing"},"scope":"Cluster","verbs":["get"]},` +
		`{"resource":"others","responseKind":{"kind":"Other"},"scope":"Cluster","verbs":["list"]}]}]},` +
		`{"metadata":{"name":"empty.io"},"versions":[]}]}`
)

// each returns the documents of a server without aggregated discovery. The version of broken.io responds with a code.
func each(code int) documents {
	return documents{
		"/api":    {body: `{"kind":"APIVersions","versions":["v1"]}`},
		"/api/v1": {body: `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod","shortNames":["po"],"namespaced":true,"kind":"Pod","verbs":["list","watch"]},{"name":"pods/status","namespaced":true,"kind":"Pod","verbs":["get"]}]}`},
		"/apis": {body: `{"kind":"APIGroupList","groups":[{"name":"ex.io","versions":[{"groupVersion":"ex.io/v1beta1","version":"v1beta1"},{"groupVersion":"ex.io/v1","version":"v1"}],` +
			`"preferredVersion":{"groupVersion":"ex.io/v1","version":"v1"}},{"name":"broken.io","versions":[{"groupVersion":"broken.io/v1","version":"v1"}],` +
			`"preferredVersion":{"groupVersion":"broken.io/v1","version":"v1"}}]}`},
		"/apis/ex.io/v1":      {body: `{"kind":"APIResourceList","groupVersion":"ex.io/v1","resources":[{"name":"things","namespaced":true,"kind":"Thing","verbs":["list"]}]}`},
		"/apis/ex.io/v1beta1": {body: `{"kind":"APIResourceList","groupVersion":"ex.io/v1beta1","resources":[{"name":"things","kind":"Thing","verbs":["get"]},{"name":"others","kind":"Other","verbs":["list"]}]}`},
		"/apis/broken.io/v1":  {code: code, body: `{"kind":"APIResourceList","groupVersion":"broken.io/v1","resources":[]}`},
	}
}

// TestReadMatchesClientGo: Read returns the same groups, versions and resources as client-go.
func TestReadMatchesClientGo(t *testing.T) {
	for name, d := range map[string]documents{
		"aggregated":          {"/api": {contentType: v2, body: aggregatedCore}, "/apis": {contentType: v2, body: aggregatedGroups}},
		"without a core":      {"/apis": {contentType: v2, body: aggregatedGroups}},
		"each":                each(http.StatusOK),
		"each, one broken":    each(http.StatusServiceUnavailable),
		"each, one not found": each(http.StatusNotFound),
	} {
		t.Run(name, func(t *testing.T) {
			ask, client := serve(t, d)
			served, err := Read(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			_, lists, err := client.ServerGroupsAndResources()
			failed, incomplete := clientgo.GroupDiscoveryFailedErrorGroups(err)
			if err != nil && !incomplete {
				t.Fatal(err)
			}
			same(t, "served", versionsOf(served, func(g *Group) []Version { return g.Versions }), lists)
			if len(served.Failed) != len(failed) || (served.Incomplete() == nil) != (len(failed) == 0) {
				t.Errorf("got failed versions %v, want %v", served.Failed, failed)
			}
			preferred, err := clientgo.ServerPreferredResources(client)
			if err != nil && !clientgo.IsGroupDiscoveryFailedError(err) {
				t.Fatal(err)
			}
			same(t, "preferred", versionsOf(served, (*Group).Preferred), preferred)
		})
	}
}

// Before 1.30 aggregated discovery was in beta, which client-go no longer requests.
func TestReadBeta(t *testing.T) {
	final, _ := serve(t, documents{"/api": {contentType: v2, body: aggregatedCore}, "/apis": {contentType: v2, body: aggregatedGroups}})
	beta, _ := serve(t, documents{"/api": {contentType: v2beta1, body: aggregatedCore}, "/apis": {contentType: v2beta1, body: aggregatedGroups}})
	want, err := Read(t.Context(), final)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(t.Context(), beta)
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestReadFails(t *testing.T) {
	core := document{body: `{"kind":"APIVersions","versions":["v1"]}`}
	for name, d := range map[string]documents{
		"no groups":     {"/api": core},
		"refused":       {"/api": core, "/apis": {code: http.StatusForbidden, body: "{}"}},
		"no JSON":       {"/api": core, "/apis": {body: "<html>"}},
		"another kind":  {"/api": core, "/apis": {body: `{"kind":"Status"}`}},
		"a broken list": {"/api": core, "/apis": {body: `{"kind":"APIGroupDiscoveryList","items":7}`}},
		"no core":       {"/api": {code: http.StatusInternalServerError}, "/apis": {body: `{"kind":"APIGroupList"}`}},
	} {
		ask, _ := serve(t, d)
		if served, err := Read(t.Context(), ask); err == nil {
			t.Errorf("%s: got %v, want an error", name, served)
		}
	}
	ask, _ := serve(t, each(http.StatusOK))
	ctx, cancel := context.WithCancel(t.Context())
	ended := func(ctx context.Context, path, accept string) ([]byte, error) {
		if strings.HasPrefix(path, "/apis/") {
			cancel()
		}
		return ask(ctx, path, accept)
	}
	if _, err := Read(ctx, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the context was canceled, want context.Canceled", err)
	}
}

func versionsOf(s *Served, choose func(*Group) []Version) []string {
	var all []string
	for _, g := range s.Groups {
		for _, v := range choose(&g) {
			for _, r := range v.Resources {
				all = append(all, fmt.Sprintln(v.GroupVersion, r.Name, r.SingularName, r.ShortNames, r.Kind, r.Namespaced, r.Verbs))
			}
		}
	}
	slices.Sort(all)
	return all
}

func same(t *testing.T, what string, got []string, lists []*metav1.APIResourceList) {
	t.Helper()
	var want []string
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.APIResources {
			want = append(want, fmt.Sprintln(gv, r.Name, r.SingularName, r.ShortNames, r.Kind, r.Namespaced, r.Verbs))
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: got:\n%s\nwant:\n%s", what, strings.Join(got, ""), strings.Join(want, ""))
	}
}
