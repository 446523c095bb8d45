package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/testkit/suite"
	"github.com/listfacade/listfacade/internal/timeline"
)

// compareDiff compares "listfacade diff" with the differences of what kube-apiserver answered at two resourceVersions.
func compareDiff(t *testing.T, dir string, before, after sample) {
	t.Helper()
	var out bytes.Buffer
	command := timeline.DiffCommand()
	command.SetArgs([]string{"--journal-dir", dir, "--from", number(before.rv), "--to", number(after.rv), "-o", "json"})
	command.SetOut(&out)
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []timeline.Entry }
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, e := range list.Items {
		got = append(got, fmt.Sprint(e.Type, " ", e.Resource, " ", e.Namespace, "/", e.Name))
	}
	want := []string{}
	for i := range kinds {
		path := suite.Collection(kinds[i].GroupVersionResource, "")
		resource := kinds[i].GroupResource().String()
		want = append(want, differences(t, resource, before.bodies[path], after.bodies[path])...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("from %d to %d (-want +got):\n%s", before.rv, after.rv, diff)
	}
}

// differences returns the differences of two lists of a resource.
func differences(t *testing.T, resource, before, after string) (found []string) {
	t.Helper()
	was, is := listed(t, before), listed(t, after)
	for key, object := range was {
		switch now, ok := is[key]; {
		case !ok:
			found = append(found, fmt.Sprint(timeline.Deleted, " ", resource, " ", key))
		case now.uid != object.uid:
			found = append(found, fmt.Sprint(timeline.Replaced, " ", resource, " ", key))
		case !reflect.DeepEqual(now.content, object.content):
			found = append(found, fmt.Sprint(timeline.Changed, " ", resource, " ", key))
		}
	}
	for key := range is {
		if _, ok := was[key]; !ok {
			found = append(found, fmt.Sprint(timeline.Created, " ", resource, " ", key))
		}
	}
	return found
}

// listedObject is an object of a list, without the metadata that each write changes.
type listedObject struct {
	uid     string
	content object
}

// listed returns the objects of a list by namespace and name.
func listed(t *testing.T, body string) map[string]listedObject {
	t.Helper()
	var list struct{ Items []object }
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&list); err != nil {
		t.Fatal(err)
	}
	objects := map[string]listedObject{}
	for _, content := range list.Items {
		metadata := content["metadata"].(object)
		for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
			delete(metadata, name)
		}
		objects[fmt.Sprint(metadata["namespace"], "/", metadata["name"])] = listedObject{fmt.Sprint(metadata["uid"]), content}
	}
	return objects
}
