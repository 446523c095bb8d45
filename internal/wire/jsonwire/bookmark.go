package jsonwire

import (
	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/internal/wire"
)

// learnBookmark makes bookmarks of one that the upstream sent, with the cells that it printed. What cannot be learned
// is the least that every bookmark has.
func (s *Shape) learnBookmark(row Row) (wire.Bookmark, error) {
	template, err := bookmarks.Learn(row.Object)
	if err != nil {
		return s.plainBookmark(row.Cells), err
	}
	bookmark, err := bookmarkOf(template, row.Cells)
	if err != nil {
		return s.plainBookmark(nil), err
	}
	return bookmark, nil
}

// plainBookmark makes bookmarks of type meta and metadata only, with the cells of a Table's row, which are an array.
func (s *Shape) plainBookmark(cells []byte) wire.Bookmark {
	style := bookmarks.Builtin
	if s.custom {
		style = bookmarks.Custom
	}
	bookmark, err := bookmarkOf(bookmarks.Minimal(style, s.apiVersion, s.kind), cells)
	if err != nil {
		panic("BUG: a bookmark of type meta and metadata is malformed: " + err.Error())
	}
	return bookmark
}

// bookmarkOf scans both forms once, at some version: from then on they are items like any other.
func bookmarkOf(template *bookmarks.Template, cells []byte) (bookmark wire.Bookmark, err error) {
	scanner := NewExtractor(nil)
	for representation, item := range map[bookmarks.Kind]*wire.Item{
		bookmarks.Plain: &bookmark.Plain, bookmarks.InitialEventsEnd: &bookmark.InitialEventsEnd,
	} {
		if *item, _, err = scanner.Scan(Row{Object: template.Append(nil, 1, representation), Cells: cells}); err != nil {
			return wire.Bookmark{}, err
		}
	}
	return bookmark, nil
}
