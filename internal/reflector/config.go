package reflector

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

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
	// Resources are those for which something is different.
	Resources map[schema.GroupResource]Resource
	// ReplayLostWindows has watches go on when the upstream has lost what followed a lane's version: they are told what
	// its next list has in another way. Otherwise they end, as they do at a kube-apiserver.
	ReplayLostWindows bool
	// AccountFor names the built-in resources whose metadata is watched while consistent reads need it: those of them that
	// have no lane. nil watches none. Safe for concurrent use.
	AccountFor func() []upstream.Resource
	// SelfAudit is in what time each lane is compared with the upstream once, page by page; 0 compares none.
	SelfAudit time.Duration
	// SelfAuditShare is how many times as long as a page has taken none is asked for after it; 0 is 20.
	SelfAuditShare int
	// SnapshotDir is where lanes leave snapshots for the next process, and take those of the one before; empty for
	// nowhere.
	SnapshotDir string
	// SnapshotPeriod is how long it may take all lanes to leave them; 0 is as long as it takes.
	SnapshotPeriod time.Duration
	// Peers are other facades of the same cluster, from which lanes are filled when they start; there may be none.
	Peers []*upstream.Client
	// PeerWait is how long a peer may take to say how far its lane is, before the upstream is asked instead; 0 is 5 s.
	PeerWait time.Duration
}

// Resource is what is different for one resource; zero is as for all.
type Resource struct {
	Window      time.Duration
	WindowBytes int64
	// FieldIndexes and LabelIndexes come on top of those for all.
	FieldIndexes, LabelIndexes []string
	// Memory is how many bytes each of its lanes may take; 0 is as many as there are.
	Memory int64
}

// of returns what one resource's lanes are made with.
func (c Config) of(gr schema.GroupResource) Config {
	own := c.Resources[gr]
	c.Window, c.WindowBytes = cmp.Or(own.Window, c.Window), cmp.Or(own.WindowBytes, c.WindowBytes)
	c.FieldIndexes = slices.Concat(c.FieldIndexes, own.FieldIndexes)
	c.LabelIndexes = union(c.LabelIndexes, own.LabelIndexes)
	return c
}

// union has every string of both once.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// options are the cache's for one resource. Of the fields to index those count that its kind is selected by.
func (c Config) options(r upstream.Resource) cache.Options {
	c = c.of(r.GVR.GroupResource())
	o := cache.Options{
		Scope: scopeOf(r), HistoryWindow: c.Window, HistoryBytes: c.WindowBytes, ReadFromEtcd: r.ReadFromEtcd(),
		Packing: c.Packing,
	}
	kind := selectors.ForBuiltin(r.GVK, scopeOf(r))
	for _, field := range kind.Fields() {
		if slices.Contains(c.FieldIndexes, field.Label) {
			o.Indexes = append(o.Indexes, cache.FieldIndex(kind.Location(field.Label)))
		}
	}
	for _, key := range c.LabelIndexes {
		o.Indexes = append(o.Indexes, cache.LabelIndex(key))
	}
	return o
}
