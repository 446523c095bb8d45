package jsonwire

import (
	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/internal/wire"
)

// learnBookmark makes the kind's bookmarks from a bookmark of the upstream, including the Table cells. If this fails,
// it returns an error and a minimal bookmark.
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

// plainBookmark makes bookmarks with only type meta and metadata. cells are the cells of a Table row, a JSON array.
func (s *Shape) plainBookmark(cells []byte) wire.Bookmark {
	style := bookmarks.Builtin
	if s.custom {
		style = bookmarks.Custom
	}
	bookmark, err := bookmarkOf(bookmarks.Minimal(style, s.apiVersion, s.kind), cells)
	if err != nil {
		panic("BUG: read own bookmark: " + err.Error())
	}
	return bookmark
}

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
