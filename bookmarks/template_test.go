package bookmarks_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/bookmarks"
)

// Every learned object was sent by kube-apiserver 1.37, or is in the style of an older one.
func TestLearnedTemplateRendersBothKinds(t *testing.T) {
	tests := []struct {
		name, learned, plain, end string
	}{
		{
			name:    "built-in, from the annotated bookmark",
			learned: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"263","annotations":{"k8s.io/initial-events-end":"true"}}}`,
			plain:   `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1042"}}`,
			end:     `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1042","annotations":{"k8s.io/initial-events-end":"true"}}}`,
		},
		{
			name:    "built-in, from the plain bookmark",
			learned: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"259"}}`,
			plain:   `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1042"}}`,
			end:     `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1042","annotations":{"k8s.io/initial-events-end":"true"}}}`,
		},
		{
			name:    "built-in with fields that an empty object shows",
			learned: `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null},"status":{}}` + "\n",
			plain:   `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1042"},"spec":{"containers":null},"status":{}}`,
			end:     `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1042","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null},"status":{}}`,
		},
		{
			name:    "built-in of a server before 1.34",
			learned: `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"259","creationTimestamp":null}}`,
			plain:   `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1042","creationTimestamp":null}}`,
			end:     `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"1042","creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}}}`,
		},
		{
			name:    "custom, from the annotated bookmark",
			learned: `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"457"}}`,
			plain:   `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"resourceVersion":"1042"}}`,
			end:     `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"1042"}}`,
		},
		{
			name:    "custom of a server before 1.34, from the plain bookmark",
			learned: `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"creationTimestamp":null,"resourceVersion":"457"}}`,
			plain:   `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"creationTimestamp":null,"resourceVersion":"1042"}}`,
			end:     `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"creationTimestamp":null,"resourceVersion":"1042"}}`,
		},
		{
			name:    "built-in with an annotation that its conversion makes",
			learned: `{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"resourceVersion":"9","annotations":{"deprecated.daemonset.template.generation":"0","k8s.io/initial-events-end":"true"}},"status":{}}`,
			plain:   `{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"resourceVersion":"1042","annotations":{"deprecated.daemonset.template.generation":"0"}},"status":{}}`,
			end:     `{"kind":"DaemonSet","apiVersion":"apps/v1","metadata":{"resourceVersion":"1042","annotations":{"deprecated.daemonset.template.generation":"0","k8s.io/initial-events-end":"true"}},"status":{}}`,
		},
		{
			name:    "white space",
			learned: " {\n\"kind\": \"A b\", \"apiVersion\": \"v1\", \"metadata\": { \"resourceVersion\": \"1\" } }\n",
			plain:   `{"kind":"A b","apiVersion":"v1","metadata":{"resourceVersion":"1042"}}`,
			end:     `{"kind":"A b","apiVersion":"v1","metadata":{"resourceVersion":"1042","annotations":{"k8s.io/initial-events-end":"true"}}}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			template, err := bookmarks.Learn([]byte(test.learned))
			if err != nil {
				t.Fatal(err)
			}
			checkKinds(t, template, test.plain, test.end)
		})
	}
}

func TestMinimalTemplate(t *testing.T) {
	checkKinds(t, bookmarks.Minimal(bookmarks.Builtin, "v1", "Event"),
		`{"kind":"Event","apiVersion":"v1","metadata":{"resourceVersion":"1042"}}`,
		`{"kind":"Event","apiVersion":"v1","metadata":{"resourceVersion":"1042","annotations":{"k8s.io/initial-events-end":"true"}}}`)
	checkKinds(t, bookmarks.Minimal(bookmarks.Custom, "ex.io/v1", `W"<`),
		`{"apiVersion":"ex.io/v1","kind":"W\"\u003c","metadata":{"resourceVersion":"1042"}}`,
		`{"apiVersion":"ex.io/v1","kind":"W\"\u003c","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"1042"}}`)
}

func checkKinds(t *testing.T, template *bookmarks.Template, plain, end string) {
	t.Helper()
	if diff := cmp.Diff("> "+plain, string(template.Append([]byte("> "), 1042, bookmarks.Plain))); diff != "" {
		t.Errorf("plain (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("> "+end, string(template.Append([]byte("> "), 1042, bookmarks.InitialEventsEnd))); diff != "" {
		t.Errorf("initial-events-end (-want +got):\n%s", diff)
	}
}

func TestLearnRejectsOtherObjects(t *testing.T) {
	tests := []struct {
		name, object, reason string
	}{
		{"empty", ``, "invalid JSON"},
		{"cut off", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1"}`, "invalid JSON"},
		{"two values", `{"kind":"Pod"}{}`, "invalid JSON"},
		{"an array", `[]`, "want a JSON object"},
		{"empty object", `{}`, "kind is missing"},
		{"no kind", `{"apiVersion":"v1","metadata":{"resourceVersion":"1"}}`, "kind is missing"},
		{"empty kind", `{"kind":"","apiVersion":"v1","metadata":{"resourceVersion":"1"}}`, "kind is missing"},
		{"no apiVersion", `{"kind":"Pod","metadata":{"resourceVersion":"1"}}`, "apiVersion is missing"},
		{"kind is a number", `{"kind":100,"apiVersion":"v1","metadata":{"resourceVersion":"1"}}`, "kind is missing, empty or not a string"},
		{"unknown style", `{"a":1,"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1"}}`, `unexpected key "a"`},
		{"no metadata", `{"kind":"Pod","apiVersion":"v1"}`, "metadata is missing"},
		{"metadata is null", `{"kind":"Pod","apiVersion":"v1","metadata":null}`, `"null", want a JSON object`},
		{"no resourceVersion", `{"kind":"Pod","apiVersion":"v1","metadata":{}}`, "resourceVersion is not a positive number"},
		{"resourceVersion is a number", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":100}}`, "unexpected order"},
		{"resourceVersion is a word", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"x"}}`, "resourceVersion is not a positive number"},
		{"resourceVersion 0", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"0"}}`, "resourceVersion is not a positive number"},
		{"leading zero", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"01"}}`, "unexpected order"},
		{"sorted metadata in a built-in", `{"kind":"Pod","apiVersion":"v1","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"1"}}`, "unexpected order"},
		{"metadata twice", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1"},"metadata":{"resourceVersion":"1"}}`, `duplicate key "metadata"`},
		{"a real object", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","resourceVersion":"1"}}`, "metadata.name"},
		{"an annotation that is not a string", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":{"a":1}}}`, "annotation a is not a string"},
		{"annotations that are not an object", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":"a"}}`, "want a JSON object"},
		{"annotations that are not sorted", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":{"b":"1","a":"1"}}}`, "unexpected order"},
		{"a creation time", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","creationTimestamp":"2026-01-01T00:00:00Z"}}`, "metadata.creationTimestamp"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			template, err := bookmarks.Learn([]byte(test.object))
			var malformed *bookmarks.MalformedError
			if !errors.As(err, &malformed) || template != nil {
				t.Fatalf("Learn = %v, %v; want a *MalformedError", template, err)
			}
			if !strings.Contains(err.Error(), test.reason) {
				t.Errorf("got error %q, want %q in it", err, test.reason)
			}
		})
	}
}

// FuzzLearn: a rendered bookmark equals the learned object, except for resourceVersion and the annotation. Learning
// from it gives the same template.
func FuzzLearn(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"1","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null},"status":{}}`))
	f.Add([]byte(`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"457"}}`))
	f.Add([]byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"259","creationTimestamp":null}}`))
	f.Add([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}`))
	f.Add([]byte(`{"kind":"\u006bx","a\"b":[1,{}],"metadata":{}}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		template, err := bookmarks.Learn(object)
		if err != nil {
			var malformed *bookmarks.MalformedError
			if !errors.As(err, &malformed) {
				t.Fatalf("got error of type %T", err)
			}
			return
		}
		for _, kind := range []bookmarks.Kind{bookmarks.Plain, bookmarks.InitialEventsEnd} {
			rendered := template.Append(nil, 7, kind)
			if diff := cmp.Diff(withoutMetadata(t, object), withoutMetadata(t, rendered)); diff != "" {
				t.Errorf("kind %d changed the object (-learned +rendered):\n%s", kind, diff)
			}
			again, err := bookmarks.Learn(rendered)
			if err != nil {
				t.Fatalf("Learn(%s): %v", rendered, err)
			}
			checkKinds(t, again, string(template.Append(nil, 1042, bookmarks.Plain)), string(template.Append(nil, 1042, bookmarks.InitialEventsEnd)))
		}
	})
}

func withoutMetadata(t *testing.T, object []byte) map[string]any {
	t.Helper()
	var decoded map[string]any
	if err := json.Unmarshal(object, &decoded); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	delete(decoded, "metadata")
	return decoded
}

func TestAppendDoesNotAllocate(t *testing.T) {
	template := bookmarks.Minimal(bookmarks.Builtin, "v1", "Pod")
	buffer := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { buffer = template.Append(buffer[:0], 1042, bookmarks.Plain) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
