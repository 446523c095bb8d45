package reflector

import (
	"sync/atomic"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// facts are the properties of a lane's resource. Safe for concurrent use.
type facts struct {
	kind      atomic.Pointer[selectors.Kind]
	bookmark  atomic.Pointer[wire.Bookmark]
	warnings  atomic.Pointer[[]string]
	marked    atomic.Bool
	undefined atomic.Bool
	settling  atomic.Bool

	definition atomic.Pointer[definition] // definition of a custom resource; nil until it was read
}

// Kind returns the fields by which the lane's objects can be selected; nil until the writer has read them.
func (f *facts) Kind() *selectors.Kind { return f.kind.Load() }

// Bookmark returns the fields that bookmarks of the lane have. It is never nil after the lane is synced.
func (f *facts) Bookmark() *wire.Bookmark { return f.bookmark.Load() }

// Marked reports whether the upstream has sent a bookmark of the resource. Without bookmarks, writes of other resources
// do not raise the lane's version.
func (f *facts) Marked() bool { return f.marked.Load() }

// Undefined reports whether the facade cannot read the definition of a custom resource. Kind then lacks the fields that
// the definition may name.
func (f *facts) Undefined() bool { return f.undefined.Load() }

// Warnings returns the Warning headers that the upstream sends for this resource, because its API is deprecated.
func (f *facts) Warnings() []string {
	if warnings := f.warnings.Load(); warnings != nil {
		return *warnings
	}
	return nil
}
