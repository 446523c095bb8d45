package reflector

import (
	"slices"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/selectors"
)

// Config is what every lane is made with.
type Config struct {
	Window      time.Duration // how long events are kept for replay
	WindowBytes int64         // and how many bytes of them at most, per lane
	Packing     cache.Packing // which objects are kept compressed
	Idle        time.Duration // a lane that nobody read for so long is stopped; 0 keeps lanes for ever
	Memory      Memory        // what lanes may take; nil is any amount
	PageBytes   int64         // how large a page of a list may be, of which two are held; 0 is 64 MiB
	// FieldIndexes are labels of selectable fields of built-in kinds; an equality on one reads only what matches.
	FieldIndexes []string
	// LabelIndexes are keys of labels, indexed for every resource.
	LabelIndexes []string
	// PagedFrom is how many objects a resource has at least for its lane to be filled page by page, where pages of rows
	// tell how many there are; 0 is 50.
	PagedFrom int
	// Peers are other facades of the same cluster, from which lanes are filled when they start; there may be none.
	Peers []*upstream.Client
}

// options are the cache's for one resource. Of the fields to index those count that its kind is selected by.
func (c Config) options(r upstream.Resource) cache.Options {
	o := cache.Options{
		Scope: scopeOf(r), HistoryWindow: c.Window, HistoryBytes: c.WindowBytes, ReadFromEtcd: r.ReadFromEtcd(),
		Packing: c.Packing,
	}
	kind := selectors.ForBuiltin(r.GVK, scopeOf(r))
	for _, field := range kind.Fields() {
		if slices.Contains(c.FieldIndexes, field.Label) {
			o.Indexes = append(o.Indexes, cache.FieldIndex(kind.Place(field.Label)))
		}
	}
	for _, key := range c.LabelIndexes {
		o.Indexes = append(o.Indexes, cache.LabelIndex(key))
	}
	return o
}
