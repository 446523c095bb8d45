package selectors_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/listfacade/listfacade/selectors"
)

// benchCases are selectors that are common in real clusters, and one that makes apimachinery allocate.
var benchCases = []struct{ name, labels, fields string }{
	{"everything", "", ""},
	{"node", "", "spec.nodeName=node-0042"},
	{"not finished", "", "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!="},
	{"app", "app.kubernetes.io/name=web", ""},
	{"set", "app.kubernetes.io/name in (web,api,db),tier notin (edge),!canary", ""},
	{"no number", "app.kubernetes.io/name>5", ""},
	{"30,000 values", "team notin (" + numbered("v%d", 30_000) + ")", ""},
	{"30,000 requirements", numbered("!k%d", 30_000), ""},
	{"10,000 of one label", numbered("team!=v%d", 10_000), ""},
	{"5,000 of one field", "", numbered("status.phase!=v%d", 5_000)},
}

func benchObject(k *selectors.Kind) (*selectors.Attributes, labels.Set, fields.Set) {
	labelsOf := labels.Set{
		"app.kubernetes.io/name": "web", "app.kubernetes.io/instance": "web-1", "pod-template-hash": "5d9c7b6f4",
		"tier": "front", "team": "storefront", "version": "v42",
	}
	fieldsOf := fields.Set{
		"metadata.name": "web-5d9c7b6f4-x2k4p", "metadata.namespace": "shop", "spec.nodeName": "node-0042",
		"spec.restartPolicy": "Always", "spec.schedulerName": "default-scheduler", "spec.serviceAccountName": "web",
		"spec.hostNetwork": "false", "status.phase": "Running", "status.podIP": "10.1.2.3",
	}
	return attributes(k, labelsOf, fieldsOf), labelsOf, fieldsOf
}

func TestMatchesDoesNotAllocate(t *testing.T) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	object, _, _ := benchObject(pod)
	for _, c := range benchCases {
		p := mustPredicate(t, pod, "shop", c.labels, c.fields)
		if n := testing.AllocsPerRun(100, func() { p.Matches(object) }); n != 0 {
			t.Errorf("%s: got %v allocations, want 0", c.name, n)
		}
	}
}

func BenchmarkMatches(b *testing.B) {
	pod := selectors.ForBuiltin(podKind, selectors.Namespaced)
	object, labelsOf, fieldsOf := benchObject(pod)
	for _, c := range benchCases {
		b.Run(c.name, func(b *testing.B) {
			p := mustPredicate(b, pod, "", c.labels, c.fields)
			b.ReportAllocs()
			for b.Loop() {
				p.Matches(object)
			}
		})
		// The same match with apimachinery's selectors, without the cost of building their maps.
		b.Run(c.name+"/apimachinery", func(b *testing.B) {
			l, err := selectors.ParseLabels(c.labels)
			if err != nil {
				b.Fatal(err)
			}
			f, err := parseFields(pod, c.fields)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				_ = f.Matches(fieldsOf) && l.Matches(labelsOf)
			}
		})
	}
}
