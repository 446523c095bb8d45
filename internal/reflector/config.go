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

// Config is the configuration of all lanes.
type Config struct {
	Window      time.Duration // how long events are kept for watches that begin in the past
	WindowBytes int64         // maximum size of these events per lane, in bytes
	Packing     cache.Packing // which objects are kept compressed
	Idle        time.Duration // time without reads and watches after which a lane is stopped; 0 keeps lanes permanently
	Memory      Memory        // memory for lanes; nil is unlimited
	PageBytes   int64         // maximum bytes of a page of a list, unless it is one object; 0 is 64 MiB
	// FieldIndexes are the indexed field labels of built-in kinds. A read with a selector that requires a value of such a
	// field examines only the objects with that value.
	FieldIndexes []string
	// LabelIndexes are the label keys that are indexed for every resource.
	LabelIndexes []string
	// PagedFrom is the minimum number of objects for which a lane is filled by pages. It applies only if Table rows are
	// listed separately, because the first page of rows shows the number of objects. 0 is 50.
	PagedFrom int
	Resources map[schema.GroupResource]Resource
	// If ReplayLostWindows is true, watches continue after the upstream has lost the events that follow a lane's version.
	// The watches receive the differences between the lane and its next list. If false, the watches end, as
	// kube-apiserver's watches do.
	ReplayLostWindows bool
	// AccountFor returns the built-in resources whose metadata may be watched. The metadata is watched while consistent
	// reads need it and the resource has no lane. If AccountFor is nil, no metadata is watched. The function must be safe
	// for concurrent use.
	AccountFor func() []upstream.Resource
	// SelfAudit is the time in which each lane is compared with the upstream once, page by page. 0 disables the
	// self-audit.
	SelfAudit time.Duration
	// SelfAuditShare is the pause after a page of the self-audit, as a multiple of the time that the page took. 0 is 20.
	SelfAuditShare int
	Journal        Journal
	// Peers are clients for other facades of the same cluster. New lanes are filled from these facades. May be empty.
	Peers []*upstream.Client
	// PeerWait is how long a peer may take to return its lane's version. After that, another peer or the upstream is used.
	// 0 is 5 s.
	PeerWait time.Duration
}

// Resource contains the settings of one resource. If Window or WindowBytes is 0, the value in Config applies.
type Resource struct {
	Window      time.Duration // how long events are kept for watches that begin in the past
	WindowBytes int64         // maximum size of these events per lane, in bytes
	// FieldIndexes and LabelIndexes are used in addition to those of Config.
	FieldIndexes, LabelIndexes []string
	// Memory is the maximum size of each lane of the resource, in bytes. 0 is unlimited.
	Memory int64
}

func (c Config) of(gr schema.GroupResource) Config {
	own := c.Resources[gr]
	c.Window, c.WindowBytes = cmp.Or(own.Window, c.Window), cmp.Or(own.WindowBytes, c.WindowBytes)
	c.FieldIndexes = slices.Concat(c.FieldIndexes, own.FieldIndexes)
	c.LabelIndexes = union(c.LabelIndexes, own.LabelIndexes)
	return c
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// options returns the options of a lane of the resource. It omits the FieldIndexes that selectors of the resource do
// not support.
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
