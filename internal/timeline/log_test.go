package timeline

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/journal"
)

// web writes a journal with one life of an object, a hole in it, and a second life.
func web(t *testing.T) string {
	j, dir := tempJournal(t)
	l := newLane(t, j, "configmaps..v1.json", configMaps, "ConfigMapList")
	l.put(configMap("shop", "web", "1", 92, `"a":"1"`), configMap("shop", "other", "2", 93, ``))
	l.begin(100, journal.Position{})
	l.upsert(configMap("shop", "web", "1", 105, `"a":"2"`))
	l.upsert(configMap("shop", "other", "2", 106, `"a":"2"`))
	l.next(107)
	l.upsert(configMap("shop", "web", "1", 108, `"a":"2"`)) // only managedFields differ
	l.upsert(configMap("shop", "web", "1", 109, `"a":"3"`))
	l.put(configMap("shop", "web", "1", 112, `"a":"4"`))
	l.begin(115, journal.Position{})
	l.remove(configMap("shop", "web", "1", 116, `"a":"4"`))
	l.begin(118, journal.Position{})
	l.upsert(configMap("shop", "web", "3", 119, `"a":"1"`))
	delete(l.objects, "shop/web")
	l.begin(125, journal.Position{})
	l.progress(195)
	return dir
}

func shopLog(dir, from, to string) options {
	o := table(dir, from, to)
	o.namespace = "shop"
	return o
}

func TestLogShowsEachChange(t *testing.T) {
	dir := web(t)
	all := []string{
		"2026-11-26T03:47:00.000Z 92 existed writer-92 <none>",
		"2026-11-26T03:47:05.000Z 105 changed writer-105 data.a: 1 -> 2",
		"2026-11-26T03:47:09.000Z 109 changed writer-109 data.a: 2 -> 3",
		"2026-11-26T03:47:15.000Z 115 hole <none> the journal may lack events: from 2026-11-26T03:47:09.000Z to 2026-11-26T03:47:15.000Z",
		"<none> 112 changed writer-112 data.a: 3 -> 4, (changed in a hole)",
		"2026-11-26T03:47:16.000Z 116 deleted <none> <none>",
		"2026-11-26T03:47:18.000Z 118 hole <none> the journal may lack events: from 2026-11-26T03:47:16.000Z to 2026-11-26T03:47:18.000Z",
		"2026-11-26T03:47:19.000Z 119 created writer-119 <none>",
		"2026-11-26T03:47:25.000Z 125 hole <none> the journal may lack events: from 2026-11-26T03:47:19.000Z to 2026-11-26T03:47:25.000Z",
		"<none> <none> deleted <none> (deleted in a hole)",
	}
	if diff := cmp.Diff(all, rows(logged(t, shopLog(dir, "", "now"), "configmaps/web"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	part := []string{"2026-11-26T03:47:07.000Z 105 existed writer-105 <none>", all[2], all[3], all[4]}
	if diff := cmp.Diff(part, rows(logged(t, shopLog(dir, "2026-11-26T03:47:07Z", "115"), "configmaps", "web"))); diff != "" {
		t.Errorf("in a part (-want +got):\n%s", diff)
	}
}

// An object that did not change in the period existed, which is not an error.
func TestLogOfUnchangedObject(t *testing.T) {
	want := []string{"2026-11-26T03:47:07.000Z 106 existed writer-106 <none>"}
	got := rows(logged(t, shopLog(web(t), "2026-11-26T03:47:07Z", "110"), "configmaps/other"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFormats(t *testing.T) {
	dir := web(t)
	for format, want := range map[string]string{
		"json": `{"items":[{"type":"existed","time":"2026-11-26T03:47:06Z","resourceVersion":"105",` +
			`"resource":{"version":"v1","resource":"configmaps"},"namespace":"shop","name":"web","uid":"1",` +
			`"managers":[{"manager":"writer-105","operation":"Update","time":"2026-11-26T03:47:05Z"}]},` +
			`{"type":"changed","time":"2026-11-26T03:47:09Z","resourceVersion":"109",` +
			`"resource":{"version":"v1","resource":"configmaps"},"namespace":"shop","name":"web","uid":"1",` +
			`"managers":[{"manager":"writer-109","operation":"Update","time":"2026-11-26T03:47:09Z"}],` +
			`"fields":[{"path":"data.a","before":"2","after":"3"}]}]}` + "\n",
		"yaml": `items:
- managers:
  - manager: writer-105
    operation: Update
    time: "2026-11-26T03:47:05Z"
  name: web
  namespace: shop
  resource:
    resource: configmaps
    version: v1
  resourceVersion: "105"
  time: "2026-11-26T03:47:06Z"
  type: existed
  uid: "1"
- fields:
  - after: "3"
    before: "2"
    path: data.a
  managers:
  - manager: writer-109
    operation: Update
    time: "2026-11-26T03:47:09Z"
  name: web
  namespace: shop
  resource:
    resource: configmaps
    version: v1
  resourceVersion: "109"
  time: "2026-11-26T03:47:09Z"
  type: changed
  uid: "1"
`,
		"diff": `# changed configmaps shop/web at 2026-11-26T03:47:09.000Z version 109 by writer-109
--- before
+++ after
@@ -1,6 +1,6 @@
 apiVersion: v1
 data:
-  a: "2"
+  a: "3"
 kind: ConfigMap
 metadata:
   labels:
`,
		"table": `TIME                       VERSION   CHANGE    BY           FIELDS
2026-11-26T03:47:06.000Z   105       existed   writer-105   <none>
2026-11-26T03:47:09.000Z   109       changed   writer-109   data.a: 2 -> 3
`,
	} {
		o := shopLog(dir, "2026-11-26T03:47:06Z", "110")
		o.output = format
		if diff := cmp.Diff(want, logged(t, o, "configmaps/web")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
	for format, want := range map[string]string{
		"json": `{"items":[]}` + "\n", "yaml": "items: []\n", "diff": "", "table": "No changes.\n",
	} {
		o := table(dir, "101", "102")
		o.output = format
		if got := diffed(t, o); got != want {
			t.Errorf("%s without changes: got %q, want %q", format, got, want)
		}
	}
}

// Anyone who may write an object chooses texts in it.
func TestTextsArePrintable(t *testing.T) {
	j, dir := tempJournal(t)
	l := newLane(t, j, "configmaps..v1.json", configMaps, "ConfigMapList")
	l.begin(100, journal.Position{})
	l.upsert(strings.ReplaceAll(configMap("shop", "web", "1", 101, `"a":"\u001b[31m\u009b"`), "writer-101", `\u001b]0;x`))
	l.upsert(configMap("shop", "web", "1", 102, `"a":"\u001b[32m\u009b\u2028\u007f"`))
	for _, format := range []string{"table", "diff", "json", "yaml"} {
		o := shopLog(dir, "", "now")
		o.output = format
		if got := logged(t, o, "configmaps/web"); strings.ContainsAny(got, "\x1b\u009b\u2028\x7f") {
			t.Errorf("%s: got control characters: %q", format, got)
		}
	}
}

// An entry that cannot be printed ends the log, also if it was found at the end of a checkpoint.
func TestLogEndsWhenAnEntryCannotBePrinted(t *testing.T) {
	j, dir := tempJournal(t)
	l := newLane(t, j, "configmaps..v1.json", configMaps, "ConfigMapList")
	l.put(configMap("shop", "web", "1", 92, ``), configMap("shop", "other", "2", 93, ``))
	l.begin(100, journal.Position{})
	delete(l.objects, "shop/web")
	l.begin(110, journal.Position{})
	l.upsert(configMap("shop", "other", "2", 111, `"a":"1"`))
	l.upsert(configMap("shop", "other", "2", 112, `"a":"2"`))
	o := shopLog(dir, "", "now")
	p, _, err := o.open(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := p.spans()
	if err != nil {
		t.Fatal(err)
	}
	closed := errors.New("the output is closed")
	for stop := 1; stop <= 3; stop++ { // web existed, a hole, and web was deleted in it
		shown := 0
		err := p.log(t.Context(), &spans[0], "shop/web", func(*Entry) error {
			if shown++; shown == stop {
				return closed
			}
			return nil
		})
		if !errors.Is(err, closed) || shown != stop {
			t.Errorf("got %v after %d entries, want the error after %d", err, shown, stop)
		}
	}
}
