package jsonwire

import (
	"bytes"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/wire"
)

// golden contains responses of kube-apiserver 1.37 about a few objects of one kind. It also contains the items that a
// lane makes from the Table with complete objects.
type golden struct {
	t     *testing.T
	dir   string
	shape *Shape
	items []wire.Item
	meta  wire.ListMeta
}

// goldens runs a test for each recorded kind: two built-in ones, one of them with finished pods, and a custom one.
func goldens(t *testing.T, test func(*golden)) {
	for _, kind := range []string{"configmaps", "pods", "widgets"} {
		t.Run(kind, func(t *testing.T) {
			g := &golden{t: t, dir: filepath.Join("..", "..", "..", "testdata", "wire", kind)}
			g.learn()
			test(g)
		})
	}
}

func (g *golden) learn() {
	g.t.Helper()
	empty, err := SplitList(g.file("list_empty.json"), func(Row) error { return nil })
	if err != nil {
		g.t.Fatal(err)
	}
	style, err := LearnStyle(g.file("list_empty.json"))
	if err != nil {
		g.t.Fatal(err)
	}
	extractor := NewExtractor(nil)
	list, err := SplitList(g.file("table_object.json"), func(row Row) error {
		item, _, err := extractor.Scan(row)
		g.items = append(g.items, item)
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	kind := schema.FromAPIVersionAndKind(empty.APIVersion, strings.TrimSuffix(empty.Kind, "List"))
	shape, err := Encoding{}.Shape(wire.Description{Kind: kind, ListKind: style.ListKind, Custom: style.Custom}).WithColumns(list.Columns)
	if err != nil {
		g.t.Fatal(err)
	}
	g.shape = shape.(*Shape)
	g.shape.ages = nil // the recorded cells have recorded ages
	g.meta = wire.ListMeta{ResourceVersion: list.ResourceVersion}
}

func (g *golden) file(name string) []byte {
	g.t.Helper()
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		g.t.Fatal(err)
	}
	return b
}

// chunk returns the metadata of a recorded list with a limit.
func (g *golden) chunk(name string) wire.ListMeta {
	g.t.Helper()
	var list struct{ Metadata wire.ListMeta }
	if err := json.Unmarshal(g.file(name), &list); err != nil {
		g.t.Fatal(err)
	}
	return list.Metadata
}

func (g *golden) equal(name string, got []byte) {
	g.t.Helper()
	if diff := cmp.Diff(string(g.file(name)), string(got)); diff != "" {
		g.t.Errorf("%s (-recorded +written):\n%s", name, diff)
	}
}

// written returns the output of write.
func (g *golden) written(write func(*bytes.Buffer) error) []byte {
	g.t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		g.t.Fatal(err)
	}
	return b.Bytes()
}

func (g *golden) list(f wire.Representation, meta wire.ListMeta, items []wire.Item) []byte {
	g.t.Helper()
	return g.written(func(b *bytes.Buffer) error {
		return wire.NewBody(b, wire.BodyOptions{}).WriteList(wire.List{Shape: g.shape, Representation: f, Meta: meta, Now: time.Now(), Runs: onePage(items)})
	})
}

// page is a page of items.
type page []wire.Item

func (p page) Len() int                               { return len(p) }
func (p page) Item(at int) *wire.Item                 { return &p[at] }
func (p page) Precompressed() *wire.PrecompressedPage { return nil }

// onePage returns a list of one page, or no page if there are no items.
func onePage(items []wire.Item) iter.Seq[wire.Run] {
	return func(yield func(wire.Run) bool) {
		if len(items) > 0 {
			yield(wire.Run{Page: page(items), To: len(items)})
		}
	}
}

func TestListsAsRecorded(t *testing.T) {
	goldens(t, func(g *golden) {
		plain := wire.Representation{Kind: wire.Listed}
		g.equal("list.json", g.list(plain, g.meta, g.items))
		g.equal("list_empty.json", g.list(plain, g.meta, nil))
		g.equal("list_limit.json", g.list(plain, g.chunk("list_limit.json"), g.items[:1]))
		partial := wire.Representation{Kind: wire.Partial, Meta: wire.MetaV1}
		g.equal("partial.json", g.list(partial, g.meta, g.items))
		g.equal("partial_empty.json", g.list(partial, g.meta, nil))
		g.equal("partial_limit.json", g.list(partial, g.chunk("partial_limit.json"), g.items[:1]))
		g.equal("partial_v1beta1.json", g.list(wire.Representation{Kind: wire.Partial, Meta: wire.MetaV1Beta1}, g.meta, g.items))
	})
}

var includes = map[string]wire.Include{
	"object": wire.IncludeObject, "metadata": wire.IncludeMetadata, "none": wire.IncludeNone,
}

// object returns the body of the first object.
func (g *golden) object(f wire.Representation) []byte {
	g.t.Helper()
	return g.written(func(b *bytes.Buffer) error {
		return wire.NewBody(b, wire.BodyOptions{}).WriteObject(g.shape, f, &g.items[0])
	})
}

func TestTablesAsRecorded(t *testing.T) {
	goldens(t, func(g *golden) {
		for name, include := range includes {
			table := wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: include}
			g.equal("table_"+name+".json", g.list(table, g.meta, g.items))
			g.equal("object_table_"+name+".json", g.object(table))
			table.Meta = wire.MetaV1Beta1
			g.equal("table_v1beta1_"+name+".json", g.list(table, g.meta, g.items))
		}
		none := wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: wire.IncludeNone}
		g.equal("table_empty.json", g.list(none, g.meta, nil))
		g.equal("table_limit.json", g.list(none, g.chunk("table_limit.json"), g.items[:1]))
	})
}

func TestObjectsAsRecorded(t *testing.T) {
	goldens(t, func(g *golden) {
		g.equal("object.json", g.object(wire.Representation{}))
		g.equal("object_partial.json", g.object(wire.Representation{Kind: wire.Partial, Meta: wire.MetaV1}))
	})
}

func TestPrettyAsRecorded(t *testing.T) {
	goldens(t, func(g *golden) {
		for _, name := range []string{"list", "object"} {
			g.equal(name+"_pretty.txt", g.written(func(b *bytes.Buffer) error {
				indenter := wire.NewIndenter(b)
				if _, err := indenter.Write(g.file(name + ".json")); err != nil {
					return err
				}
				return indenter.Close()
			}))
		}
	})
}

func TestPlainListsGiveTheSameObjects(t *testing.T) {
	goldens(t, func(g *golden) {
		asks := Encoding{}.RequestFormats()
		i := 0
		_, err := Encoding{}.Reader(g.shape.description, asks[len(asks)-1], nil).List(g.file("list.json"), func(it wire.Item, _ wire.Facts) error {
			if diff := cmp.Diff(string(appendWhole(nil, &g.items[i])), string(appendWhole(nil, &it))); diff != "" {
				t.Errorf("item %d (-from table +plain):\n%s", i, diff)
			}
			i++
			return nil
		})
		if err != nil || i != len(g.items) {
			t.Errorf("%d of %d items, error %v", i, len(g.items), err)
		}
	})
}

// frames returns the recorded watch of Tables with complete objects, as a lane reads it.
func (g *golden) frames() []Frame {
	g.t.Helper()
	var frames []Frame
	for line := range bytes.Lines(g.file("watch_table_object.json")) {
		frame, err := ParseFrame(line)
		if err != nil {
			g.t.Fatal(err)
		}
		frames = append(frames, frame)
	}
	return frames
}

// reframed reads the recorded watch and writes it in a representation.
func (g *golden) reframed(f wire.Representation) []byte {
	g.t.Helper()
	framer, extractor := g.shape.Framer(f), NewExtractor(nil)
	var b []byte
	for _, frame := range g.frames() {
		item, _, err := extractor.Scan(frame.Row)
		if err != nil {
			g.t.Fatal(err)
		}
		switch {
		case frame.Type != wire.TypeBookmark:
			b = framer.AppendEvent(b, frame.Type, &item)
		case bytes.Contains(frame.Row.Object, initialEventsEnd):
			b = framer.AppendInitialEventsEnd(b, &item)
		default:
			b = framer.AppendBookmark(b, &item)
		}
	}
	return b
}

func TestWatchesAsRecorded(t *testing.T) {
	goldens(t, func(g *golden) {
		g.equal("watch.json", g.reframed(wire.Representation{}))
		g.equal("watch_partial.json", g.reframed(wire.Representation{Kind: wire.Partial, Meta: wire.MetaV1}))
		for name, include := range includes {
			g.equal("watch_table_"+name+".json", g.reframed(wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: include}))
		}
	})
}

// A bookmark that is learned from a recorded one is the same at its version.
func TestBookmarksAsRecorded(t *testing.T) {
	goldens(t, func(g *golden) {
		reader := Encoding{}.Reader(g.shape.description, wire.RequestFormat{}, nil)
		learned := 0
		for line := range bytes.Lines(g.file("watch_table_object.json")) {
			frame, err := reader.Frame(line)
			if err != nil {
				t.Fatal(err)
			}
			if frame.Type != wire.TypeBookmark {
				continue
			}
			learned++
			bookmark, err := reader.Bookmark(line)
			if err != nil {
				t.Fatal(err)
			}
			framer := g.shape.Framer(wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: wire.IncludeObject}).(*framer)
			framer.columns = noColumns
			var got []byte
			if frame.InitialEventsEnd {
				item := g.shape.WithResourceVersion(&bookmark.InitialEventsEnd, frame.ResourceVersion)
				got = framer.AppendInitialEventsEnd(nil, &item)
			} else {
				item := g.shape.WithResourceVersion(&bookmark.Plain, frame.ResourceVersion)
				got = framer.AppendBookmark(nil, &item)
			}
			if diff := cmp.Diff(string(line), string(got)); diff != "" {
				t.Errorf("(-recorded +written):\n%s", diff)
			}
		}
		if learned == 0 {
			t.Error("recording has no bookmark")
		}
	})
}

func TestPlainFramesGiveTheSameObjects(t *testing.T) {
	goldens(t, func(g *golden) {
		frames := g.frames()
		i := 0
		for line := range bytes.Lines(g.file("watch.json")) {
			frame, err := ParseFrame(line)
			if err != nil {
				t.Fatal(err)
			}
			want := Frame{Type: frames[i].Type, ResourceVersion: frames[i].ResourceVersion, Row: Row{Object: frames[i].Row.Object}}
			if diff := cmp.Diff(want, frame); diff != "" {
				t.Errorf("frame %d (-from table +plain):\n%s", i, diff)
			}
			i++
		}
		if i != len(frames) || frames[0].Columns == nil || frames[1].Columns != nil {
			t.Errorf("got %d plain frames, %d with Tables, columns %q, then %q", i, len(frames), frames[0].Columns, frames[1].Columns)
		}
	})
}

func TestErrorFrameAsRecorded(t *testing.T) {
	line, err := os.ReadFile("../../../testdata/wire/configmaps/watch_error.json")
	if err != nil {
		t.Fatal(err)
	}
	frame, err := Encoding{}.Reader(wire.Description{}, wire.RequestFormat{}, nil).Frame(line)
	if err != nil || frame.Type != wire.TypeError || frame.Failure == nil || frame.Item.Size() != 0 {
		t.Fatalf("got %+v, %v", frame, err)
	}
	var status metav1.Status
	if err := json.Unmarshal(frame.Failure.Status, &status); err != nil || int(status.Code) != frame.Failure.Code {
		t.Fatalf("got %+v, %v", frame.Failure, err)
	}
	if got := (&Shape{}).Framer(wire.Representation{}).AppendError(nil, &status); !bytes.Equal(got, line) {
		t.Errorf("got %s, recorded %s", got, line)
	}
}
