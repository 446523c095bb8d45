package jsonwire

import (
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
	"github.com/listfacade/listfacade/internal/wire/table"
)

type framer struct {
	shape          *Shape
	representation wire.Representation
	columns        []byte // columns in the next Table: the kind's in the first frame, null in later frames
}

// Framer implements wire.Shape.
func (s *Shape) Framer(f wire.Representation) wire.Framer {
	return &framer{shape: s, representation: f, columns: s.rawColumns}
}

// AppendEvent implements wire.Framer.
func (f *framer) AppendEvent(dst []byte, event string, it *wire.Item) []byte {
	return f.append(dst, event, it, f.representation.Include, f.shape.ages)
}

// AppendBookmark implements wire.Framer. The cells of a bookmark contain no ages.
func (f *framer) AppendBookmark(dst []byte, it *wire.Item) []byte {
	return f.append(dst, wire.TypeBookmark, f.printed(it), f.representation.Include, nil)
}

// AppendInitialEventsEnd implements wire.Framer. The Table row always has an object, because the client waits for the
// annotation of the object (semantics 4.8).
func (f *framer) AppendInitialEventsEnd(dst []byte, it *wire.Item) []byte {
	include := f.representation.Include
	if include == wire.IncludeNone {
		include = wire.IncludeMetadata
	}
	return f.append(dst, wire.TypeBookmark, f.printed(it), include, nil)
}

// printed returns a bookmark with cells. If the upstream sent no cells, the cells are an empty name and nulls, as in
// the bookmark of a custom resource.
func (f *framer) printed(it *wire.Item) *wire.Item {
	marks := *item.MarksOf(it)
	if f.representation.Kind != wire.Row || marks.Cells > marks.Object {
		return it
	}
	cells := `[""` + strings.Repeat(",null", max(len(f.shape.columns)-1, 0)) + `]`
	object := marks.Object
	marks.Cells = object + uint32(len(cells))
	row := item.New(append(appendWhole(nil, it), cells...), marks)
	return &row
}

func (f *framer) append(dst []byte, event string, it *wire.Item, include wire.Include, ages *table.Ages) []byte {
	dst = appendFrameHead(dst, event)
	if f.representation.Kind == wire.Row {
		columns := f.columns
		f.columns = noColumns
		o := rowOptions{meta: f.representation.Meta, include: include, ages: ages, clock: f.shape.agesAt(time.Now())}
		dst = f.shape.appendTable(dst, it, o, columns)
	} else {
		dst = f.shape.append(dst, f.representation, it)
	}
	return append(dst, "}\n"...)
}

func appendFrameHead(dst []byte, event string) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, event...)
	return append(dst, `","object":`...)
}

// AppendError implements wire.Framer.
func (*framer) AppendError(dst []byte, status *metav1.Status) []byte {
	body, err := json.Marshal(status)
	if err != nil {
		panic("BUG: encode Status: " + err.Error())
	}
	return append(append(appendFrameHead(dst, wire.TypeError), body...), "}\n"...)
}
