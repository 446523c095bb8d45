package jsonwire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/internal/item"
	"github.com/listfacade/listfacade/internal/wire/scan"
	"github.com/listfacade/listfacade/internal/wire/table"
)

// Shape implements wire.Shape.
type Shape struct {
	apiVersion, kind, listKind string
	// custom tells custom-resource style, sorted keys and items with type meta (semantics 7.2), from built-in style
	// (7.1).
	custom bool
	// columns are those of the kind's Table; rawColumns is their array as the upstream wrote it.
	columns    []table.Column
	rawColumns []byte
	// ages renders the cells that grow old; nil when there are none.
	ages *table.Ages
	// converted names the annotations that PartialObjectMetadata leaves out, see wire.ConversionAnnotations.
	converted []string

	description wire.Description
}

func newShape(d wire.Description) *Shape {
	return &Shape{
		apiVersion: d.Kind.GroupVersion().String(), kind: d.Kind.Kind, listKind: d.ListKind, custom: d.Custom,
		converted: wire.ConversionAnnotations(d.Resource), description: d,
	}
}

// Prints implements wire.Shape: the columns have to be known, and every cell that holds an age.
func (s *Shape) Prints() bool { return s.rawColumns != nil && len(s.ages.Frozen()) == 0 }

// Reprinted implements wire.Shape.
func (s *Shape) Reprinted(columns []byte) bool {
	return columns != nil && s.rawColumns != nil && !bytes.Equal(columns, s.rawColumns)
}

// WithColumns implements wire.Shape.
func (s *Shape) WithColumns(raw []byte) (wire.Shape, error) {
	var columns []table.Column
	if err := json.Unmarshal(raw, &columns); err != nil {
		return nil, fmt.Errorf("read columns: %w", err)
	}
	printed := *s
	printed.columns, printed.rawColumns = columns, bytes.Clone(raw)
	resource := s.description.Resource
	printed.ages = table.AgesFor(resource.Group, resource.Resource, columns, s.datePaths(columns))
	return &printed, nil
}

// datePaths are a custom resource's, in the order of its columns; nil for a kind that kube-apiserver's own printers
// print.
func (s *Shape) datePaths(columns []table.Column) []string {
	if !s.custom {
		return nil
	}
	paths := make([]string, len(columns))
	for i, column := range columns {
		paths[i] = s.description.DatePaths[column.Name]
	}
	return paths
}

// Bookmark implements wire.Shape.
func (s *Shape) Bookmark() wire.Bookmark { return s.plainBookmark(nil) }

// WithResourceVersion implements wire.Shape.
func (*Shape) WithResourceVersion(it *wire.Item, rv string) wire.Item { return withVersion(it, rv) }

// UID implements wire.Shape.
func (*Shape) UID(it *wire.Item) string {
	open := item.Open(it)
	defer open.Close()
	at := open.Marks().Metadata
	value, found := scan.Member(open.Data()[at.Start:at.End], "uid")
	if !found || len(value) < 2 || value[0] != '"' {
		return ""
	}
	return scan.Unescape(value[1 : len(value)-1])
}

// AppendObject implements wire.Shape.
func (s *Shape) AppendObject(dst []byte, f wire.Representation, it *wire.Item, now time.Time) []byte {
	if f.Kind == wire.Row {
		dst = s.appendTable(dst, it, s.rowOptions(f, now), s.rawColumns)
	} else {
		dst = s.append(dst, f, it)
	}
	return append(dst, '\n')
}

// append appends an object in a form that does not depend on the time.
func (s *Shape) append(dst []byte, f wire.Representation, it *wire.Item) []byte {
	switch f.Kind {
	case wire.Whole:
		return appendWhole(dst, it)
	case wire.Listed:
		return appendListed(dst, it)
	case wire.Partial:
		open := item.Open(it)
		defer open.Close()
		return s.appendPartial(dst, &open, f.Meta)
	default:
		panic(fmt.Sprintf("BUG: a form %d that no object has by itself", f.Kind))
	}
}

// nullRows tells a built-in kind whose empty Table has null in the place of rows: those that have no printer of their
// own, told by the columns that every such kind gets, and definitions of custom resources.
func (s *Shape) nullRows() bool {
	if s.custom {
		return false
	}
	unprinted := len(s.columns) == 2 && s.columns[1].Name == "Created At"
	return unprinted || s.kind == "CustomResourceDefinition"
}
