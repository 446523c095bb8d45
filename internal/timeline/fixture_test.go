package timeline

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/wire"
)

// start is the time at which all journals begin. The event with resourceVersion 100+n is n seconds later.
var start = time.Date(2026, 11, 26, 3, 47, 0, 0, time.UTC)

func timeOf(rv uint64) time.Time { return start.Add(time.Duration(int64(rv)-100) * time.Second) }

// lane writes the journal of a lane of ConfigMaps, or of another resource.
type lane struct {
	t       testing.TB
	writer  *journal.Writer
	id      journal.Identity
	reader  wire.Reader
	objects map[string]journal.Record // content, by key
	after   journal.Position          // end of the segment before
	packer  *wire.Packer              // nil if items are not packed
	packed  *wire.Dictionary          // in the open segment
	frame   func(text string) []byte  // a watch frame with an object
	later   time.Duration             // added to the times of resourceVersions
}

func (l *lane) timeOf(rv uint64) time.Time { return timeOf(rv).Add(l.later) }

// tempJournal opens a journal for writing, in a directory that ends with the test.
func tempJournal(t testing.TB) (*journal.Journal, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "journal")
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j, dir
}

// newLane returns the writer of a resource such as "/v1, Resource=configmaps" in JSON.
func newLane(t testing.TB, j *journal.Journal, name, resource, listKind string) *lane {
	t.Helper()
	l := &lane{t: t, objects: map[string]journal.Record{}}
	l.id = journal.Identity{
		Cluster: "cluster", Resource: resource, ListKind: listKind, Encoding: "json", Accept: "application/json",
	}
	l.frame = func(text string) []byte { return fmt.Appendf(nil, `{"type":"ADDED","object":%s}`, text) }
	of, err := newSource(&l.id)
	if err != nil {
		t.Fatal(err)
	}
	l.reader, l.writer = of.reader, j.Lane(name)
	t.Cleanup(func() { _ = l.writer.Close() })
	return l
}

// object is the JSON of a ConfigMap whose data has the given members.
func configMap(namespace, name, uid string, rv uint64, data string) string {
	return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":%q,"resourceVersion":"%d",`+
		`"labels":{"app":%q},"managedFields":[{"manager":"writer-%d","operation":"Update","time":%q}]},"data":{%s}}`,
		name, namespace, uid, rv, name, rv, timeOf(rv).Format(time.RFC3339), data)
}

// record returns the record of an object.
func (l *lane) record(kind journal.Kind, text string) journal.Record {
	l.t.Helper()
	frame, err := l.reader.Frame(l.frame(text))
	if err != nil {
		l.t.Fatal(err)
	}
	key := strings.TrimPrefix(frame.Facts.Namespace+"/"+frame.Facts.Name, "/")
	var rv uint64
	if _, err := fmt.Sscan(frame.ResourceVersion, &rv); err != nil {
		l.t.Fatal(err)
	}
	item, number := frame.Item, 0
	if l.packer != nil {
		item, number = l.packer.Pack(&frame.Item), 1
	}
	return journal.Record{
		Kind: kind, RV: rv, Time: l.timeOf(rv), Key: key, Plain: number == 0,
		Payload: wire.AppendStored(nil, &item, number),
	}
}

// pack packs all further items with a dictionary of the given objects.
func (l *lane) pack(texts ...string) {
	l.t.Helper()
	var samples []*wire.Item
	for _, text := range texts {
		frame, err := l.reader.Frame(l.frame(text))
		if err != nil {
			l.t.Fatal(err)
		}
		samples = append(samples, &frame.Item)
	}
	var err error
	if l.packed, err = wire.NewDictionary(samples); err != nil {
		l.t.Fatal(err)
	}
	l.packer = l.packed.Packer()
}

// put adds objects to the content, without an event.
func (l *lane) put(texts ...string) {
	l.t.Helper()
	for _, text := range texts {
		r := l.record(journal.Object, text)
		r.Time = time.Time{}
		l.objects[r.Key] = r
	}
}

// begin begins a segment with the content at a version.
func (l *lane) begin(rv uint64, after journal.Position) {
	l.t.Helper()
	var records []journal.Record
	if l.packed != nil {
		records = append(records, journal.Record{Kind: journal.Dictionary, Payload: l.packed.AppendStored(nil), Plain: true})
	}
	for _, r := range l.objects {
		records = append(records, r)
	}
	begin := journal.Start{Identity: l.id, RV: rv, Time: l.timeOf(rv), After: after}
	if err := l.writer.Begin(l.t.Context(), begin, slices.Values(records)); err != nil {
		l.t.Fatal(err)
	}
}

// next begins a segment that continues the open one.
func (l *lane) next(rv uint64) { l.begin(rv, l.writer.Position()) }

// upsert writes an event for an object.
func (l *lane) upsert(text string) {
	l.t.Helper()
	r := l.record(journal.Upsert, text)
	l.append(r)
	r.Kind, r.Time = journal.Object, time.Time{}
	l.objects[r.Key] = r
}

// remove writes an event for an object that was deleted, with its last content.
func (l *lane) remove(text string) {
	l.t.Helper()
	r := l.record(journal.Delete, text)
	l.append(r)
	delete(l.objects, r.Key)
}

// progress writes that the lane is complete up to a version.
func (l *lane) progress(rv uint64) {
	l.t.Helper()
	l.append(journal.Record{Kind: journal.Progress, RV: rv, Time: l.timeOf(rv)})
}

func (l *lane) append(r journal.Record) {
	l.t.Helper()
	if err := l.writer.Append(l.t.Context(), slices.Values([]journal.Record{r})); err != nil {
		l.t.Fatal(err)
	}
}

// now is the time at which all commands run.
var now = timeOf(200)

// diffed returns the output of "listfacade diff".
func diffed(t testing.TB, o options, args ...string) string {
	t.Helper()
	var out strings.Builder
	if err := o.diff(t.Context(), args, now, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// logged returns the output of "listfacade log".
func logged(t testing.TB, o options, args ...string) string {
	t.Helper()
	var out strings.Builder
	if err := o.log(t.Context(), args, now, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// rows returns the lines of a table with single spaces, without the titles.
func rows(table string) []string {
	var all []string
	for line := range strings.Lines(table) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	return all[1:]
}

const configMaps = "/v1, Resource=configmaps"

// table returns options for a table.
func table(dir, from, to string) options {
	return options{dir: dir, from: from, to: to, output: "table"}
}
