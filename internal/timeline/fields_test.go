package timeline

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type number = json.Number

// decoded decodes an object.
func decoded(t *testing.T, text string) *object {
	t.Helper()
	o, err := read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestDifferencesNameFields(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		want          []Field
	}{
		"values, the status last": {
			`{"spec":{"replicas":3,"paused":true,"min":1},"status":{"replicas":3}}`,
			`{"spec":{"replicas":0,"min":1,"max":"2"},"status":{}}`,
			[]Field{
				{Path: "spec.max", After: "2"},
				{Path: "spec.paused", Before: true},
				{Path: "spec.replicas", Before: number("3"), After: number("0")},
				{Path: "status.replicas", Before: number("3")},
			},
		},
		"elements by their names": {
			`{"c":[{"name":"a","image":"a:1"},{"name":"b","image":"b:1"}]}`,
			`{"c":[{"name":"new"},{"name":"b","image":"b:2"},{"name":"a","image":"a:1"}]}`,
			[]Field{
				{Path: "c[b].image", Before: "b:1", After: "b:2"},
				{Path: "c[new]", After: tree{"name": "new"}},
			},
		},
		"elements in another order": {
			`{"c":[{"name":"a","v":"1"},{"name":"b"}]}`, `{"c":[{"name":"b"},{"name":"a","v":"1"}]}`,
			[]Field{{Path: "c (order)", Before: []string{"a", "b"}, After: []string{"b", "a"}}},
		},
		"elements by a number": {
			`{"p":[{"containerPort":80},{"containerPort":81,"a":"x"}]}`,
			`{"p":[{"containerPort":81,"a":"y"}]}`,
			[]Field{
				{Path: "p[80]", Before: tree{"containerPort": number("80")}},
				{Path: "p[81].a", Before: "x", After: "y"},
			},
		},
		"elements by their positions if a name is double": {
			`{"c":[{"name":"a","v":"1"},{"name":"a","v":"2"}]}`,
			`{"c":[{"name":"a","v":"1"},{"name":"a","v":"3"}]}`,
			[]Field{{Path: "c[1].v", Before: "2", After: "3"}},
		},
		"lists of texts as one value": {
			`{"args":["a","b"]}`, `{"args":["b"]}`,
			[]Field{{Path: "args", Before: []any{"a", "b"}, After: []any{"b"}}},
		},
		"names with dots": {
			`{"metadata":{"labels":{"a.b/c":"1"}}}`, `{"metadata":{"labels":{"a.b/c":"2"}}}`,
			[]Field{{Path: "metadata.labels[a.b/c]", Before: "1", After: "2"}},
		},
		"other types": {
			`{"a":{"b":1},"c":[{"name":"x"}]}`, `{"a":"b","c":[]}`,
			[]Field{
				{Path: "a", Before: tree{"b": number("1")}, After: "b"},
				{Path: "c", Before: []any{tree{"name": "x"}}, After: []any{}},
			},
		},
		"fields that follow from others": {
			`{"metadata":{"name":"x","resourceVersion":"1","generation":1,"managedFields":[{"manager":"a"}]}}`,
			`{"metadata":{"name":"x","resourceVersion":"2","generation":2,
				"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`,
			nil,
		},
	} {
		got := differences(decoded(t, c.before).content, decoded(t, c.after).content)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestManagersThatWroteAreNamed(t *testing.T) {
	const start = `{"metadata":{"uid":"1","managedFields":[
		{"manager":"kubectl","operation":"Apply","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:spec":{"f:replicas":{},"f:image":{}}}},
		{"manager":"kubelet","operation":"Update","subresource":"status","time":"2026-01-01T00:00:05Z","fieldsV1":{}}]},"v":1}`
	for name, c := range map[string]struct {
		after string
		want  []string
	}{
		"a later time, not the one whose field was taken": {`{"metadata":{"uid":"1","managedFields":[
			{"manager":"kubectl","operation":"Apply","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:spec":{"f:image":{}}}},
			{"manager":"hpa","operation":"Update","time":"2026-01-01T00:01:00Z","fieldsV1":{"f:spec":{"f:replicas":{}}}},
			{"manager":"kubelet","operation":"Update","subresource":"status","time":"2026-01-01T00:00:05Z","fieldsV1":{}}]},"v":2}`,
			[]string{"hpa"}},
		"other fields within a second": {`{"metadata":{"uid":"1","managedFields":[
			{"manager":"kubectl","operation":"Apply","time":"2026-01-01T00:00:00Z","fieldsV1":{"f:spec":{"f:replicas":{},"f:image":{}}}},
			{"manager":"kubelet","operation":"Update","subresource":"status","time":"2026-01-01T00:00:05Z","fieldsV1":{"f:a":{}}}]},"v":2}`,
			[]string{"kubelet"}},
		"no managedFields": {`{"metadata":{"uid":"1"},"v":2}`, nil},
	} {
		e, changed := compare(decoded(t, start), decoded(t, c.after))
		var got []string
		for _, m := range e.Managers {
			got = append(got, m.Name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || !changed {
			t.Errorf("%s: changed %t (-want +got):\n%s", name, changed, diff)
		}
	}
	created, _ := compare(nil, decoded(t, start))
	if len(created.Managers) != 1 || created.Managers[0].Name != "kubelet" {
		t.Errorf("got creators %v, want the latest manager", created.Managers)
	}
}

func TestTypesOfChanges(t *testing.T) {
	a, b := decoded(t, `{"metadata":{"uid":"a"},"v":1}`), decoded(t, `{"metadata":{"uid":"b"},"v":1}`)
	for _, c := range []struct {
		before, after *object
		want          Type
		uid           string
		changed       bool
	}{
		{nil, a, Created, "a", true},
		{a, nil, Deleted, "a", true},
		{a, b, Replaced, "b", true},
		{a, a, Changed, "a", false},
	} {
		if e, changed := compare(c.before, c.after); e.Type != c.want || e.UID != c.uid || changed != c.changed {
			t.Errorf("got %s of %s, changed %t, want %s of %s, %t", e.Type, e.UID, changed, c.want, c.uid, c.changed)
		}
	}
}
