package wire

import "errors"

// Pages describes how to read the objects of one resourceVersion page by page (limit and continue), at the lowest cost
// for the upstream. One request reads complete objects. Another request reads their Table rows in the same order.
type Pages struct {
	Objects RequestFormat
	// Rows is nil when no Table rows are needed.
	Rows   *RequestFormat
	Reader PageReader
}

// PageReader reads the pages of one listing. Objects and rows come in separate pages. PageReader keeps the rows of a
// page until their objects arrive. One goroutine calls the methods. Another goroutine may call Head concurrently.
type PageReader interface {
	// Head returns the metadata of a page of objects or rows. It reads the items only if the list format requires it.
	Head(page []byte) (ListHead, error)
	// Rows adds a page of rows. It retains the page.
	Rows(page []byte) (ListHead, error)
	// Rest returns the number of rows whose objects have not been read.
	Rest() int
	// Objects reads a page of objects and joins them with the rows, if there are rows. It calls the function do for
	// every object, in order, and does not retain the page. It returns the error of do, or ErrUnaligned when an object
	// does not match the next row. It also returns an error when the page is not a list of complete objects.
	Objects(page []byte, do func(Item, Facts) error) (ListHead, error)
}

// ErrUnaligned is returned when the rows of a Table are not in the order of the list's objects.
var ErrUnaligned = errors.New("rows of the Table do not match the objects of the list")
