package wire

import "errors"

// Pages is how the objects of one resourceVersion are read page by page, at the least price for the upstream: whole
// objects by one question, and by another one what it prints of them, row by row in the same order.
type Pages struct {
	Objects Ask
	// Rows is nil when nothing is printed.
	Rows   *Ask
	Reader PageReader
}

// PageReader reads the pages of one listing. The rows of a page wait in it for their objects, which come in pages of
// their own. Head may be called while another goroutine calls the other methods, which one goroutine does.
type PageReader interface {
	// Head is what a page of objects or of rows says besides them, without a look at each where the list lets it.
	Head(page []byte) (ListHead, error)
	// Rows takes a page of rows, which it keeps.
	Rows(page []byte) (ListHead, error)
	// Rest is how many rows wait for their objects.
	Rest() int
	// Objects reads a page of objects with the rows that wait, if anything is printed; each is called with every object
	// in order, and keeps nothing of the page. It fails with the error of each, with ErrUnaligned when an object's row is
	// not the next one, or when the page is no list of whole objects.
	Objects(page []byte, each func(Item, Facts) error) (ListHead, error)
}

// ErrUnaligned says that the rows that the upstream prints of a list are not in the order of its objects.
var ErrUnaligned = errors.New("the rows of the Table are not those of the list's objects, one by one")
