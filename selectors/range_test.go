package selectors_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/listfacade/listfacade/selectors"
)

// TestKeyRange checks to which key range a request can be narrowed, and that the predicate still decides (semantics
// 5.4, 5.5).
func TestKeyRange(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	role := selectors.ForBuiltin(roleKind, selectors.Cluster)
	tests := []struct {
		name          string
		kind          *selectors.Kind
		path          string
		fieldSelector string
		namespace     string
		pinned        string
		matches       bool // an object named a in namespace n, or cluster-scoped a
	}{
		{"all", pod, "", "", "", "", true},
		{"path", pod, "n", "", "n", "", true},
		{"other path", pod, "m", "", "m", "", false},
		{"selector narrows", pod, "", "metadata.namespace=n", "n", "", true},
		{"selector agrees", pod, "n", "metadata.namespace=n", "n", "", true},
		{"selector contradicts the path", pod, "n", "metadata.namespace=m", "n", "", false},
		{"two namespaces", pod, "", "metadata.namespace=m,metadata.namespace=n", "m", "", false},
		{"not equal does not narrow", pod, "", "metadata.namespace!=m", "", "", true},
		{"invalid namespace does not narrow", pod, "", "metadata.namespace=N_", "", "", false},
		{"empty namespace does not narrow", pod, "", "metadata.namespace=", "", "", false},
		{"name", pod, "n", "metadata.name=a", "n", "a", true},
		{"name over all namespaces", pod, "", "metadata.name=a", "", "a", true},
		{"name and namespace", pod, "", "metadata.name=a,metadata.namespace=n", "n", "a", true},
		{"two names", pod, "n", "metadata.name=a,metadata.name=b", "n", "a", false},
		{"empty name", pod, "n", "metadata.name=", "n", "", false},
		{"impossible name", pod, "n", "metadata.name=a/b", "n", "", false},
		{"impossible name ..", pod, "n", "metadata.name=..", "n", "", false},
		{"not that name", pod, "n", "metadata.name!=b", "n", "", true},
		{"cluster name", role, "", "metadata.name=a", "", "a", true},
		{"cluster kind has no namespace", role, "", "metadata.namespace=n", "", "", false},
		{"cluster kind has an empty namespace", role, "", "metadata.namespace=", "", "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := mustPredicate(t, test.kind, test.path, "", test.fieldSelector)
			if p.Namespace() != test.namespace || p.Name() != test.pinned {
				t.Errorf("got range %q/%q, want %q/%q", p.Namespace(), p.Name(), test.namespace, test.pinned)
			}
			object := fields.Set{"metadata.name": "a"}
			if test.kind == pod {
				object["metadata.namespace"] = "n"
			}
			if got := p.Matches(attributes(test.kind, nil, object)); got != test.matches {
				t.Errorf("Matches = %v, want %v", got, test.matches)
			}
			if got, want := p.Everything(), test.fieldSelector == ""; got != want {
				t.Errorf("Everything = %v, want %v", got, want)
			}
		})
	}
}

func TestExactHints(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	p := mustPredicate(t, pod, "", "app=web,tier in (a,b),role in (x),zone!=z,app!=db", "spec.host=n1,status.phase!=Failed")
	if got, ok := p.Exact("spec.nodeName"); !ok || got != "n1" {
		t.Errorf("Exact(spec.nodeName) = %q, %v; want n1", got, ok)
	}
	for _, field := range []string{"spec.host", "status.phase", "metadata.name", ""} {
		if got, ok := p.Exact(field); ok {
			t.Errorf("Exact(%s) = %q, want none", field, got)
		}
	}
}
