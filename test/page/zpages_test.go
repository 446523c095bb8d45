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

// Both servers are asked in each form for what they tell of themselves, and answer alike: codes, headers, errors, and
// the shape of what is told.
func TestZPagesAreAsKubernetes(t *testing.T) {
	cluster := suite.Cluster(t)
	f := suite.StartDelegating(t, cluster, func(c *facade.Config) {
		c.Version, c.Flags = "v1.2.3", map[string]string{"secure-port": "6443", "kubeconfig": ""}
	})
	who, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	both := f.As(t, who)
	for _, path := range []string{"/statusz", "/flagz"} {
		kind := map[string]string{"/statusz": "Statusz", "/flagz": "Flagz"}[path]
		for _, accept := range []string{
			"", "*/*", "text/plain", "text/html", "application/json", "application/yaml", "application/json, text/plain;q=0.5",
			"application/json;v=v1beta1;g=config.k8s.io;as=" + kind, "application/json;v=v1alpha1;g=config.k8s.io;as=" + kind, "application/yaml;v=v1beta1;g=config.k8s.io;as=" + kind,
			"application/json;v=v1;g=config.k8s.io;as=" + kind, "application/json;v=v1beta1;g=config.k8s.io;as=Other", "text/plain;v=v1beta1;g=config.k8s.io;as=" + kind,
		} {
			q := testkit.Question{Path: path, Header: http.Header{"Accept": {accept}}}
			theirs, ours := both.Upstream.MustAsk(t, q), both.Facade.MustAsk(t, q)
			if ours.Code != theirs.Code {
				t.Errorf("%s %q: %d, kube-apiserver %d: %s", path, accept, ours.Code, theirs.Code, ours.Body)
				continue
			}
			for _, name := range []string{"Content-Type", "Warning", "Cache-Control", "X-Content-Type-Options"} {
				if ours, theirs := ours.Header.Get(name), theirs.Header.Get(name); ours != theirs {
					t.Errorf("%s %q: %s: %q, kube-apiserver %q", path, accept, name, ours, theirs)
				}
			}
			if ours, theirs := shapeOf(ours), shapeOf(theirs); ours != theirs {
				t.Errorf("%s %q:\n%s\nkube-apiserver:\n%s", path, accept, ours, theirs)
			}
		}
	}
	alice, err := cluster.Config("alice")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/statusz", "/flagz", "/debug/status"} {
		if answer := f.As(t, alice).Facade.MustAsk(t, testkit.Question{Path: path}); answer.Code != http.StatusForbidden {
			t.Errorf("alice gets %s: %d", path, answer.Code)
		}
	}
}

// shapeOf is what does not depend on which server it is: names without their values, or the whole of an error.
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
