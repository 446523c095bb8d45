package reflector

import (
	"sync/atomic"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// facts are what is known of a lane's resource. The writer learns them, anybody reads them.
type facts struct {
	kind      atomic.Pointer[selectors.Kind]
	bookmark  atomic.Pointer[wire.Bookmark]
	warnings  atomic.Pointer[[]string]
	marked    atomic.Bool // the upstream was seen to send a bookmark
	undefined atomic.Bool // the definition may not be read
	settling  atomic.Bool // the definition has changed a moment ago

	definition atomic.Pointer[definition] // of a custom resource; nil until it was read
}

// Kind is how the lane's objects are selected; nil until the upstream was asked.
func (f *facts) Kind() *selectors.Kind { return f.kind.Load() }

// Bookmark is what a bookmark of this kind looks like; never nil once the lane is synced.
func (f *facts) Bookmark() *wire.Bookmark { return f.bookmark.Load() }

// Marked tells whether the upstream has sent a bookmark of the resource. Without them a lane does not hear of versions
// that other resources move to.
func (f *facts) Marked() bool { return f.marked.Load() }

// Undefined tells whether the facade may not read the definition of what is a custom resource: then Kind has none of
// the fields that the definition may name.
func (f *facts) Undefined() bool { return f.undefined.Load() }

// Warnings are the Warning headers that the upstream puts on answers for this resource, because its API is deprecated.
func (f *facts) Warnings() []string {
	if warnings := f.warnings.Load(); warnings != nil {
		return *warnings
	}
	return nil
}
