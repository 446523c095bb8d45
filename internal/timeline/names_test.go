package timeline

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/journal"
)

const (
	coreDocument = `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","resources":[
		{"resource":"configmaps","responseKind":{"kind":"ConfigMap"},"scope":"Namespaced","singularResource":"configmap","shortNames":["cm"]},
		{"resource":"nodes","responseKind":{"kind":"Node"},"scope":"Cluster","singularResource":"node","shortNames":["no"]}]}]}]}`
	groupsDocument = `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[
		{"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced","singularResource":"deployment","shortNames":["deploy"]}
		]}]},{"metadata":{"name":"ex.io"},"versions":[{"version":"v2","resources":[
		{"resource":"deployments","responseKind":{"kind":"Deployment"},"scope":"Namespaced","singularResource":"deployment"}]}]}]}`
)

// namedJournal writes a journal with lanes of four resources and discovery documents.
func namedJournal(t *testing.T, documents ...journal.Document) string {
	j, dir := tempJournal(t)
	for _, resource := range []string{configMaps, "/v1, Resource=nodes", "apps/v1, Resource=deployments", "ex.io/v2, Resource=deployments"} {
		l := newLane(t, j, strings.NewReplacer("/", ".", ", Resource=", "-").Replace("x"+resource), resource, "List")
		l.begin(100, journal.Position{})
		l.upsert(strings.Replace(configMap("", "n", "1", 101, ``), `"namespace":"",`, "", 1))
		l.progress(195)
	}
	all := j.Documents("cluster")
	for _, d := range documents {
		d.Time = start.Add(-time.Minute)
		if err := all.Put(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := all.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// chosen returns the resource that a name means, or the error.
func chosen(t *testing.T, dir, name string) string {
	o := table(dir, "100", "now")
	p, v, err := o.open(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := p.spans()
	if err != nil {
		t.Fatal(err)
	}
	s, err := v.choose(name, spans)
	if err != nil {
		return err.Error()
	}
	return s.resource.String()
}

func TestResourcesAreNamedAsInKubectl(t *testing.T) {
	dir := namedJournal(t, journal.Document{Path: "/api", Accept: "a", MediaType: "application/json", Body: []byte(coreDocument)},
		journal.Document{Path: "/apis", Accept: "a", MediaType: "application/json", Body: []byte(groupsDocument)})
	for name, want := range map[string]string{
		"configmaps": "configmaps", "cm": "configmaps", "ConfigMap": "configmaps", "configmaps.v1.": "configmaps", "no": "nodes",
		"deploy": "deployments.apps", "deployments": "deployments.apps", "deployments.apps": "deployments.apps",
		"deploy.v1.apps": "deployments.apps", "deployments.ex.io": "deployments.ex.io", "Deployment.v2.ex.io": "deployments.ex.io",
	} {
		if got := chosen(t, dir, name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if got, want := chosen(t, dir, "pods"), "recorded resources: configmaps, deployments.apps, deployments.ex.io, nodes"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	o := table(dir, "", "now")
	o.namespace = "shop" // nodes have no namespace
	want := []string{"2026-11-26T03:47:01.000Z 101 created writer-101 <none>"}
	if diff := cmp.Diff(want, rows(logged(t, o, "no/n"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestResourcesWithoutDiscoveryHaveTheirPlural(t *testing.T) {
	dir := namedJournal(t)
	for name, want := range map[string]string{
		"configmaps": "configmaps", "nodes": "nodes", "deployments.ex.io": "deployments.ex.io", "deployments": "deployments.apps",
	} {
		if got := chosen(t, dir, name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestTargets(t *testing.T) {
	for text, want := range map[string]target{
		"":             {},
		"pods":         {resources: []string{"pods"}},
		"pods,svc":     {resources: []string{"pods", "svc"}},
		"pods/web-1":   {resources: []string{"pods"}, name: "web-1"},
		"pods web-1":   {resources: []string{"pods"}, name: "web-1"},
		"pods/web/1":   {},
		"pods,svc/web": {},
		"pods/a b":     {},
		"pods,":        {},
		"/web":         {},
	} {
		got, err := parseTarget(strings.Fields(text))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{})); diff != "" || (err != nil) != (text != "" && want.resources == nil) {
			t.Errorf("%q: got error %v (-want +got):\n%s", text, err, diff)
		}
	}
}
