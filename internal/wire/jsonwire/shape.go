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
	// custom is true for custom-resource style, with sorted keys and with type meta in list items (semantics 7.2). It is
	// false for built-in style (semantics 7.1).
	custom bool
	// rawColumns is the JSON array of columns that the upstream sent. columns are these columns, decoded.
	columns    []table.Column
	rawColumns []byte
	// ages renders the cells that contain ages; nil if there are none.
	ages *table.Ages
	// converted are the names of annotations that PartialObjectMetadata omits (wire.ConversionAnnotations).
	converted []string
	// clock returns the time that ages are relative to. If clock is nil, ages are relative to the time of the response.
	clock func() time.Time

	description wire.Description
}

func newShape(d wire.Description) *Shape {
	return &Shape{
		apiVersion: d.Kind.GroupVersion().String(), kind: d.Kind.Kind, listKind: d.ListKind, custom: d.Custom,
		converted: wire.ConversionAnnotations(d.Resource), description: d,
	}
}

// Prints implements wire.Shape. The columns and the source of every age must be known.
func (s *Shape) Prints() bool { return s.rawColumns != nil && len(s.ages.Frozen()) == 0 }

// Columns implements wire.Shape.
func (s *Shape) Columns() []byte { return s.rawColumns }

// Reprinted implements wire.Shape.
func (s *Shape) Reprinted(columns []byte) bool {
	return columns != nil && s.rawColumns != nil && !bytes.Equal(columns, s.rawColumns)
}

// WithColumns implements wire.Shape.
func (s *Shape) WithColumns(raw []byte) (wire.Shape, error) {
	var columns []table.Column
	if err := json.Unmarshal(raw, &columns); err != nil {
		return nil, fmt.Errorf("decode columns: %w", err)
	}
	printed := *s
	printed.columns, printed.rawColumns = columns, bytes.Clone(raw)
	resource := s.description.Resource
	printed.ages = table.AgesFor(resource.Group, resource.Resource, columns, s.datePaths(columns))
	return &printed, nil
}

// WithClock implements wire.Shape.
func (s *Shape) WithClock(now func() time.Time) wire.Shape {
	timed := *s
	timed.clock = now
	return &timed
}

// agesAt returns the clock for the ages in a response. Its time is the result of the function that WithClock set, or
// else now.
func (s *Shape) agesAt(now time.Time) *table.Clock {
	if s.clock != nil {
		now = s.clock()
	}
	return &table.Clock{Now: now}
}

// datePaths returns the JSONPaths of a custom resource's date columns, indexed like columns. It returns nil for
// built-in kinds.
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
		panic(fmt.Sprintf("BUG: invalid representation %d of an object", f.Kind))
	}
}

// nullRows reports whether an empty Table of the kind has null instead of rows. This is so for
// CustomResourceDefinitions, and for built-in kinds without a printer, which have the two default columns.
func (s *Shape) nullRows() bool {
	if s.custom {
		return false
	}
	unprinted := len(s.columns) == 2 && s.columns[1].Name == "Created At"
	return unprinted || s.kind == "CustomResourceDefinition"
}
