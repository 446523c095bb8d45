package page

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/facade"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// Both servers respond alike to requests for statusz and flagz in each format: codes, headers, errors, and the names of
// the fields.
func TestZPagesMatchKubernetes(t *testing.T) {
	cluster := suite.Cluster(t)
	f := suite.StartDelegating(t, cluster, func(c *facade.Config) {
		c.Version, c.Flags = "v1.2.3", map[string]string{"secure-port": "6443", "kubeconfig": ""}
	})
	admin, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	both := f.As(t, admin)
	for _, path := range []string{"/statusz", "/flagz"} {
		kind := map[string]string{"/statusz": "Statusz", "/flagz": "Flagz"}[path]
		for _, accept := range []string{
			"", "*/*", "text/plain", "text/html", "application/json", "application/yaml", "application/json, text/plain;q=0.5",
			"application/json;v=v1beta1;g=config.k8s.io;as=" + kind, "application/json;v=v1alpha1;g=config.k8s.io;as=" + kind, "application/yaml;v=v1beta1;g=config.k8s.io;as=" + kind,
			"application/json;v=v1;g=config.k8s.io;as=" + kind, "application/json;v=v1beta1;g=config.k8s.io;as=Other", "text/plain;v=v1beta1;g=config.k8s.io;as=" + kind,
		} {
			q := testkit.Question{Path: path, Header: http.Header{"Accept": {accept}}}
			want, got := both.Upstream.MustAsk(t, q), both.Facade.MustAsk(t, q)
			if got.Code != want.Code {
				t.Errorf("%s %q: got %d, want %d: %s", path, accept, got.Code, want.Code, got.Body)
				continue
			}
			for _, name := range []string{"Content-Type", "Warning", "Cache-Control", "X-Content-Type-Options"} {
				if got, want := got.Header.Get(name), want.Header.Get(name); got != want {
					t.Errorf("%s %q: %s: got %q, want %q", path, accept, name, got, want)
				}
			}
			if got, want := shapeOf(got), shapeOf(want); got != want {
				t.Errorf("%s %q: got\n%s\nwant\n%s", path, accept, got, want)
			}
		}
	}
	alice, err := cluster.Config("alice")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/statusz", "/flagz", "/debug/status"} {
		if answer := f.As(t, alice).Facade.MustAsk(t, testkit.Question{Path: path}); answer.Code != http.StatusForbidden {
			t.Errorf("%s: got %d for alice, want 403", path, answer.Code)
		}
	}
}

// shapeOf returns the part of a response that is equal for both servers: names without values, or the complete error.
func shapeOf(a *testkit.Answer) string {
	body := string(a.Body)
	if a.Code != http.StatusOK {
		return body
	}
	var object map[string]any
	if json.Unmarshal(a.Body, &object) == nil {
		var names []string
		for name := range object {
			if name != "emulationVersion" { // the facade emulates none
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return strings.Join(names, " ") + " " + object["kind"].(string) + " " + object["apiVersion"].(string)
	}
	var names []string
	for _, line := range strings.Split(body, "\n") {
		switch {
		case strings.HasPrefix(line, "Warning:"):
			names = append(names, line)
		case strings.HasSuffix(line, "statusz"), strings.HasSuffix(line, "flagz"):
			names = append(names, regexp.MustCompile(`^\w+`).ReplaceAllString(line, "component"))
		case strings.Contains(body, "flagz\n") || strings.HasPrefix(line, "Emulation version"), strings.HasPrefix(line, "emulationVersion"):
		case strings.HasPrefix(line, "- /"), strings.HasPrefix(line, "  "):
		default:
			names = append(names, regexp.MustCompile(`^((?:Go |Binary )?\w*).*$`).ReplaceAllString(line, "$1"))
		}
	}
	return strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" || strings.HasPrefix(s, "flags") }), "\n")
}
