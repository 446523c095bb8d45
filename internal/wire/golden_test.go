package wire

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden is what kube-apiserver 1.37 answered about a few objects of one kind, and what a lane holds of them after
// reading one of these answers: the Table with whole objects.
type golden struct {
	t     *testing.T
	dir   string
	shape Shape
	items []Item
	meta  ListMeta
}

// goldens runs a test for each recorded kind: two built-in ones, one of them with ended pods, and a custom one.
func goldens(t *testing.T, test func(*golden)) {
	for _, kind := range []string{"configmaps", "pods", "widgets"} {
		t.Run(kind, func(t *testing.T) {
			g := &golden{t: t, dir: filepath.Join("..", "..", "testdata", "wire", kind)}
			g.learn()
			test(g)
		})
	}
}

func (g *golden) learn() {
	g.t.Helper()
	var err error
	if g.shape, err = LearnList(g.file("list_empty.json")); err != nil {
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
	if err := g.shape.SetColumns(list.Columns); err != nil {
		g.t.Fatal(err)
	}
	g.meta = ListMeta{ResourceVersion: list.ResourceVersion}
}

func (g *golden) file(name string) []byte {
	g.t.Helper()
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		g.t.Fatal(err)
	}
	return b
}

// chunk is the metadata of a recorded list with a limit.
func (g *golden) chunk(name string) ListMeta {
	g.t.Helper()
	var list struct{ Metadata ListMeta }
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

// written runs a writer into memory.
func (g *golden) written(write func(*bytes.Buffer) error) []byte {
	g.t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		g.t.Fatal(err)
	}
	return b.Bytes()
}

func (g *golden) list(list func(*bytes.Buffer) ListWriter, meta ListMeta, items []Item) []byte {
	g.t.Helper()
	return g.written(func(b *bytes.Buffer) error {
		l := list(b)
		if err := l.Begin(meta); err != nil {
			return err
		}
		for _, it := range items {
			if err := l.Item(it); err != nil {
				return err
			}
		}
		return l.End()
	})
}

func TestListsAsRecorded(t *testing.T) {
	goldens(t, func(g *golden) {
		plain := func(b *bytes.Buffer) ListWriter { return NewList(b, &g.shape) }
		g.equal("list.json", g.list(plain, g.meta, g.items))
		g.equal("list_empty.json", g.list(plain, g.meta, nil))
		g.equal("list_limit.json", g.list(plain, g.chunk("list_limit.json"), g.items[:1]))
		partial := func(b *bytes.Buffer) ListWriter { return NewPartialList(b, &g.shape, MetaV1) }
		g.equal("partial.json", g.list(partial, g.meta, g.items))
		g.equal("partial_empty.json", g.list(partial, g.meta, nil))
		g.equal("partial_limit.json", g.list(partial, g.chunk("partial_limit.json"), g.items[:1]))
		beta := func(b *bytes.Buffer) ListWriter { return NewPartialList(b, &g.shape, MetaV1Beta1) }
		g.equal("partial_v1beta1.json", g.list(beta, g.meta, g.items))
	})
}

var includes = map[string]Include{"object": IncludeObject, "metadata": IncludeMetadata, "none": IncludeNone}

func TestTablesAsRecorded(t *testing.T) {
	goldens(t, func(g *golden) {
		table := func(o TableOptions) func(b *bytes.Buffer) ListWriter {
			return func(b *bytes.Buffer) ListWriter { return NewTableList(b, &g.shape, o) }
		}
		for name, include := range includes {
			g.equal("table_"+name+".json", g.list(table(TableOptions{Meta: MetaV1, Include: include}), g.meta, g.items))
			g.equal("table_v1beta1_"+name+".json", g.list(table(TableOptions{Meta: MetaV1Beta1, Include: include}), g.meta, g.items))
			g.equal("object_table_"+name+".json", g.written(func(b *bytes.Buffer) error {
				return WriteTable(b, &g.shape, g.items[0], TableOptions{Meta: MetaV1, Include: include})
			}))
		}
		none := table(TableOptions{Meta: MetaV1, Include: IncludeNone})
		g.equal("table_empty.json", g.list(none, g.meta, nil))
		g.equal("table_limit.json", g.list(none, g.chunk("table_limit.json"), g.items[:1]))
	})
}

func TestObjectsAsRecorded(t *testing.T) {
	goldens(t, func(g *golden) {
		g.equal("object.json", g.written(func(b *bytes.Buffer) error { return WriteObject(b, g.items[0]) }))
		g.equal("object_partial.json", g.written(func(b *bytes.Buffer) error { return WritePartial(b, &g.shape, g.items[0], MetaV1) }))
	})
}

func TestPrettyAsRecorded(t *testing.T) {
	goldens(t, func(g *golden) {
		for _, name := range []string{"list", "object"} {
			g.equal(name+"_pretty.txt", g.written(func(b *bytes.Buffer) error {
				indenter := NewIndenter(b)
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
		g.shape.Kind = map[string]string{"PodList": "Pod", "ConfigMapList": "ConfigMap"}[g.shape.ListKind]
		i := 0
		_, err := SplitList(g.file("list.json"), func(row Row) error {
			if !g.shape.Custom {
				row.Object = g.shape.WithTypeMeta(row.Object)
			}
			if diff := cmp.Diff(Row{Object: g.items[i].JSON}, row); diff != "" {
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

// frames reads the recorded watch in which Tables hold whole objects, as a lane does.
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

func (g *golden) reframed(o FrameOptions) []byte {
	g.t.Helper()
	framer, extractor := NewFramer(&g.shape, o), NewExtractor(nil)
	var b []byte
	for _, frame := range g.frames() {
		item, _, err := extractor.Scan(frame.Row)
		if err != nil {
			g.t.Fatal(err)
		}
		switch {
		case frame.Type != "BOOKMARK":
			b = framer.AppendObject(b, frame.Type, item)
		case bytes.Contains(frame.Row.Object, []byte(`"k8s.io/initial-events-end"`)):
			b = framer.AppendInitialEnd(b, item)
		default:
			b = framer.AppendBookmark(b, item)
		}
	}
	return b
}

func TestWatchesAsRecorded(t *testing.T) {
	goldens(t, func(g *golden) {
		g.equal("watch.json", g.reframed(FrameOptions{Form: FormObject}))
		g.equal("watch_partial.json", g.reframed(FrameOptions{Form: FormPartial, Meta: MetaV1}))
		for name, include := range includes {
			g.equal("watch_table_"+name+".json", g.reframed(FrameOptions{Form: FormTable, Meta: MetaV1, Include: include}))
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
			t.Errorf("%d plain frames, %d in tables, columns %q, then %q", i, len(frames), frames[0].Columns, frames[1].Columns)
		}
	})
}

func TestErrorFrameAsRecorded(t *testing.T) {
	line, err := os.ReadFile("../../testdata/wire/configmaps/watch_error.json")
	if err != nil {
		t.Fatal(err)
	}
	frame, err := ParseFrame(line)
	if err != nil || frame.Type != "ERROR" || frame.Row.Object != nil {
		t.Fatalf("got %+v, %v", frame, err)
	}
	if got := AppendError(nil, frame.Status); !bytes.Equal(got, line) {
		t.Errorf("got %s, recorded %s", got, line)
	}
}
