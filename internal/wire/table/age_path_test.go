package table

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/jsonpath"
)

const pathObject = `{"a":"x","n":null,"b":{"c.d":"dotted","e":["p","q"],"star*":"s"},` +
	`"list":[{"type":"One"},{"type":"Ready","in":{"k":"v1"}},{"type":"Ready","at":"2","in":{"k":"v2"},"deep":[{"at":"3"}]}]}`

var pathCases = []string{
	".a", ".n", ".b.e", ".b.e[0]", ".b.e[1]", ".b.e[2]", ".b.e[-1]", ".b.e[-1:]", ".b.e[-2]", ".b.e[-3]", ".b.e[*]",
	`.b.c\.d`, `.b['c\.d']`, ".b['e'][1]", ".b.missing", ".a.deeper", ".n.deeper", ".list[*].at", ".list[*].deep[*].at",
	`.list[?(@.type=="Ready")].at`, `.list[?(@.type=='Ready')].in.k`, `.list[?(@.in.k == "v2")].type`,
	`.list[?(@.type=="None")].at`, `.list[1].type`, ".a[0]", ".list.type", ".b.e.0",
}

// firstResult evaluates a path with the library that kube-apiserver uses. ok is false when the library rejects the path
// or the object.
func firstResult(t *testing.T, path string, object any) (result any, found, ok bool) {
	t.Helper()
	oracle := jsonpath.New("column").AllowMissingKeys(true)
	if oracle.Parse("{"+path+"}") != nil {
		return nil, false, false
	}
	results, err := oracle.FindResults(object)
	if err != nil {
		return nil, false, false
	}
	if len(results) == 0 || len(results[0]) == 0 {
		return nil, false, true
	}
	return results[0][0].Interface(), true, true
}

// checkPath compares the result of a path with that of kube-apiserver's library.
func checkPath(t *testing.T, text string, raw []byte) {
	t.Helper()
	path, known := parsePath(text)
	var object map[string]any
	if !known || json.Unmarshal(raw, &object) != nil {
		return
	}
	want, wantFound, ok := firstResult(t, text, object)
	if !ok {
		return
	}
	part, found := path.find(raw)
	if found != wantFound {
		t.Fatalf("%s in %s: found %v, want %v (%v)", text, raw, found, wantFound, want)
	}
	var got any
	if found {
		if err := json.Unmarshal(part, &got); err != nil {
			t.Fatalf("%s in %s: found %q: %v", text, raw, part, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s in %s (-server +ours):\n%s", text, raw, diff)
	}
}

func TestPathsFindTheSameAsKubeAPIServer(t *testing.T) {
	for _, text := range pathCases {
		if _, known := parsePath(text); !known {
			t.Errorf("%s: not parsed", text)
		}
		checkPath(t, text, []byte(pathObject))
	}
}

func TestParsePathRejectsUnsupportedPaths(t *testing.T) {
	for _, text := range []string{
		"", ".", "a", "..a", ".a..b", ".*", ".a.*", ".a[", ".a[]", ".a[0:2]", ".a[0,1]", ".a['']", `.a[?(@.b)]`,
		`.a[?(@.b!="c")]`, `.a[?(@.b==7)]`, `.a[?(@.b=="c"]`, ".a b", `.a\`,
	} {
		if path, known := parsePath(text); known {
			t.Errorf("%s: got %v, want none", text, path)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, text := range pathCases {
		f.Add(text, []byte(pathObject))
	}
	f.Fuzz(func(t *testing.T, text string, raw []byte) { checkPath(t, text, raw) })
}
