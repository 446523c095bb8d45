package reflector

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/journal"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
	"github.com/listfacade/listfacade/internal/wire/protowire"
)

// epochOf returns how config maps are read in an encoding, and the identity of their journal.
func epochOf(e wire.Encoding) (*epoch, journal.Identity) {
	r := upstream.Resource{GVR: configMaps.GVR, GVK: configMaps.GVR.GroupVersion().WithKind(configMaps.Kind), Namespaced: true}
	kind, asks := kindOf(r, definition{}), e.RequestFormats()
	about := wire.Description{Resource: r.GVR, Kind: r.GVK, ListKind: "ConfigMapList"}
	ask := asks[len(asks)-1] // the request without cells
	by := &listWatch{
		resource: r, kind: kind, about: about, framing: e.Framing(), ask: ask, reader: e.Reader(about, ask, pathsOf(kind)),
	}
	shape := e.Shape(about)
	bookmark := shape.Bookmark()
	id := by.identity("cluster", "version", e)
	id.Bookmark = shape.Framer(wire.Representation{Kind: wire.Whole}).AppendInitialEventsEnd(nil, &bookmark.InitialEventsEnd)
	return &epoch{listWatch: by, shape: shape}, id
}

// storedConfigMap returns the payload of a record.
func storedConfigMap(t testing.TB, e wire.Encoding, name string, rv int) []byte {
	t.Helper()
	by, _ := epochOf(e)
	var it wire.Item
	var err error
	if e.Name() == (jsonwire.Encoding{}).Name() {
		it, _, err = jsonwire.NewExtractor(nil).Scan(jsonwire.Row{Object: fmt.Appendf(nil,
			`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","resourceVersion":"%d"}}`, name, rv)})
	} else {
		object := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", ResourceVersion: fmt.Sprint(rv)}}
		raw, failed := object.Marshal()
		if failed != nil {
			t.Fatal(failed)
		}
		plain := append([]byte{0, byte(len(raw)), byte(len(raw)), byte(len(raw))}, raw...)
		it, _, err = by.reader.Stored(plain, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wire.AppendStored(nil, &it, 0)
}

// aJournal returns the records of a segment: two objects at 4, and two events up to 7.
func aJournal(t testing.TB, e wire.Encoding) []journal.Record {
	at := time.Now()
	record := func(kind journal.Kind, name string, rv int) journal.Record {
		return journal.Record{Kind: kind, RV: uint64(rv), Time: at, Key: "ns/" + name, Payload: storedConfigMap(t, e, name, rv)}
	}
	return []journal.Record{
		record(journal.Object, "a", 2), record(journal.Object, "b", 3), record(journal.Upsert, "a", 5), record(journal.Delete, "b", 6),
		{Kind: journal.Progress, RV: 7, Time: at},
	}
}

// takeAll reads records as those of a segment at 4.
func takeAll(t testing.TB, c *restored, records []journal.Record, since time.Time) error {
	c.rv, c.base.rv, c.base.since = 4, 4, since
	for i := range records {
		if err := c.take(&records[i]); err != nil {
			return err
		}
	}
	return c.finish(t.Context(), journal.Position{})
}

var encodings = map[bool]wire.Encoding{false: jsonwire.Encoding{}, true: protowire.Encoding{}}

// TestRecordsAreRestored: events before the history window are in the base, up to some that become history with the
// later ones. The content is the same.
func TestRecordsAreRestored(t *testing.T) {
	for _, e := range encodings {
		for name, since := range map[string]time.Time{"in the window": time.Now().Add(-time.Hour), "before the window": time.Now().Add(time.Hour)} {
			by, id := epochOf(e)
			lane := cache.NewLane(cache.Options{})
			c, err := newRestored(by, id, lane, func(int64) error { return nil })
			if err != nil {
				t.Fatalf("%s: %v", e.Name(), err)
			}
			if err := takeAll(t, c, aJournal(t, e), since); err != nil {
				t.Fatalf("%s, %s: %v", e.Name(), name, err)
			}
			if err := c.past.Show(c.rv); err != nil {
				t.Fatal(err)
			}
			state, err := lane.State()
			if err != nil || state.RV() != 7 || state.Len() != 1 || !c.marked {
				t.Fatalf("%s, %s: got %+v, %v, want one object at 7", e.Name(), name, state, err)
			}
			watcher, err := lane.Watch(cache.WatchOptions{Predicate: by.kind.Predicate("", nil, nil), Start: cache.AfterRV(4)})
			if err != nil {
				t.Fatalf("%s, %s: %v", e.Name(), name, err)
			}
			watcher.Close()
			lane.Close()
		}
	}
}

// TestOldEventsAreInTheBase: of many events before the history window, only the last ones become history.
func TestOldEventsAreInTheBase(t *testing.T) {
	e := encodings[false]
	records := aJournal(t, e)[:2]
	for rv := 5; rv <= 1000; rv++ {
		kind, name := journal.Upsert, fmt.Sprintf("c-%d", rv%30)
		if rv%7 == 0 {
			kind = journal.Delete
		}
		records = append(records, journal.Record{Kind: kind, RV: uint64(rv), Time: time.Now(), Key: "ns/" + name, Payload: storedConfigMap(t, e, name, rv)})
	}
	want := map[string]uint64{"ns/a": 2, "ns/b": 3}
	for _, record := range records[2:] {
		if want[record.Key] = record.RV; record.Kind == journal.Delete {
			delete(want, record.Key)
		}
	}
	by, id := epochOf(e)
	lane := cache.NewLane(cache.Options{})
	defer lane.Close()
	c, err := newRestored(by, id, lane, func(int64) error { return nil })
	if err == nil {
		err = takeAll(t, c, records, time.Now().Add(time.Hour))
	}
	if err == nil {
		err = c.past.Show(c.rv)
	}
	if err != nil {
		t.Fatal(err)
	}
	state, err := lane.State()
	if err != nil || state.Len() != len(want) || state.RV() != 1000 {
		t.Fatalf("got %+v, %v, want %d objects at 1000", state, err, len(want))
	}
	for o := range state.Objects(cache.Span{}) {
		if want[o.Key()] != uint64(o.RV) {
			t.Errorf("got %s at %d, want %d", o.Key(), o.RV, want[o.Key()])
		}
	}
	if stats := lane.Stats(); stats.Oldest != 1000-replayedEvents {
		t.Errorf("got a history from %d, want from %d", stats.Oldest, 1000-replayedEvents)
	}
}

// FuzzRecords checks that any records are restored, or are refused and leave nothing in the lane.
func FuzzRecords(f *testing.F) {
	for binary, e := range encodings {
		for i, record := range aJournal(f, e) {
			f.Add(binary, i, byte(record.Kind), record.RV, record.Key, record.Payload)
			f.Add(binary, i, byte(journal.Dictionary), record.RV, record.Key, record.Payload)
			f.Add(binary, i, byte(record.Kind), record.RV+3, record.Key, record.Payload)
			f.Add(binary, i, byte(record.Kind), record.RV, record.Key+"x", record.Payload)
			f.Add(binary, i, byte(record.Kind), record.RV, record.Key, record.Payload[:len(record.Payload)/2])
		}
	}
	f.Fuzz(func(t *testing.T, binary bool, at int, kind byte, rv uint64, key string, payload []byte) {
		e := encodings[binary]
		records := aJournal(t, e)
		records[uint(at)%uint(len(records))] = journal.Record{Kind: journal.Kind(kind), RV: rv, Time: time.Now(), Key: key, Payload: payload}
		by, id := epochOf(e)
		lane := cache.NewLane(cache.Options{Packing: cache.Packing{From: 1}})
		defer lane.Close()
		c, err := newRestored(by, id, lane, func(int64) error { return ErrNoMemory })
		if err != nil {
			t.Fatal(err)
		}
		err = takeAll(t, c, records, time.Time{})
		if state, unread := lane.State(); unread == nil {
			t.Fatalf("got a State at %d before the check, want none", state.RV())
		}
		if err != nil {
			c.filling.Drop()
			if stats := lane.Stats(); stats.Memory() != 0 {
				t.Errorf("got %d bytes in use after the refusal: %v", stats.Memory(), err)
			}
			return
		}
		if err := c.past.Show(c.rv); err != nil {
			t.Fatal(err)
		}
		state, err := lane.State()
		if err != nil || state.RV() != c.rv {
			t.Fatalf("got %+v, %v, want a State at %d", state, err, c.rv)
		}
		for o := range state.Objects(cache.Span{}) {
			if o.RV > c.rv {
				t.Errorf("got %s at %d in a State at %d", o.Key(), o.RV, c.rv)
			}
		}
	})
}
