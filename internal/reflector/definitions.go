package reflector

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/upstream"
)

// definitionSettles is the pause between a change of a definition and the list of its lane. A kube-apiserver serves the
// old representation until its own watch has received the change, which takes milliseconds.
const definitionSettles = 2 * time.Second

// definitions receives the changes of all CustomResourceDefinitions by one watch of their metadata. Safe for concurrent
// use.
type definitions struct {
	client  *upstream.Client
	changed func(definitionMeta) // called when a definition may have changed; if it was deleted, only Name is set
	log     *zap.Logger

	mu    sync.Mutex // guards known
	known map[string]known
}

type known struct {
	uid        string // empty if the definition was deleted
	generation int64
	since      time.Time // time of the last change; zero before the first change
}

// forgettable reports whether a definition was deleted so long ago that a new definition of the same name needs no
// pause.
func (k known) forgettable() bool { return k.uid == "" && time.Since(k.since) > definitionSettles }

func newDefinitions(client *upstream.Client, changed func(definitionMeta), log *zap.Logger) *definitions {
	return &definitions{client: client, changed: changed, log: log, known: map[string]known{}}
}

// note records the state of a definition. It ignores an old generation of the same definition.
func (d *definitions) note(name, uid string, generation int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, ok := d.known[name]
	switch {
	case !ok:
		d.known[name] = known{uid: uid, generation: generation}
	case was.uid != uid || was.generation < generation:
		d.known[name] = known{uid: uid, generation: generation, since: time.Now()}
	}
}

// unsettled returns the remaining pause before a resource may be listed; 0 or less if it may be listed now.
func (d *definitions) unsettled(name string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	since := d.known[name].since
	if since.IsZero() {
		return 0
	}
	return definitionSettles - time.Since(since)
}

func (d *definitions) run(ctx context.Context) {
	d.client.Follow(ctx, upstream.Followed{
		Path: definitionsPath, List: upstream.MediaMetadataList, Watch: upstream.MediaMetadata,
		Listed: d.listed, Changed: d.receives, Failed: d.failed(),
	})
}

// listed records a list of all definitions. Known definitions that are not in the list count as deleted.
func (d *definitions) listed(objects []json.RawMessage) error {
	present := map[string]bool{}
	for _, object := range objects {
		if m, ok := metaOf(object); ok {
			present[m.Name] = true
			d.note(m.Name, m.UID, m.Generation)
			d.changed(m)
		}
	}
	for _, name := range d.without(present) {
		d.changed(definitionMeta{Name: name})
	}
	return nil
}

// without(present) records the deletion of each known definition that is not in present, and returns the names of these
// definitions. It also drops forgettable entries.
func (d *definitions) without(present map[string]bool) (removed []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, was := range d.known {
		switch {
		case was.forgettable():
			delete(d.known, name)
		case !present[name] && was.uid != "":
			d.known[name] = known{since: time.Now()}
			removed = append(removed, name)
		}
	}
	return removed
}

// deleted records the deletion of a definition. A kube-apiserver may serve the old representation until it has received
// the deletion and a new definition of this name. The lane of the new definition therefore waits.
func (d *definitions) deleted(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[name] = known{since: time.Now()}
}

func (d *definitions) receives(event string, object json.RawMessage) {
	m, ok := metaOf(object)
	switch {
	case !ok:
	case event == "DELETED":
		d.deleted(m.Name)
		d.changed(definitionMeta{Name: m.Name})
	default:
		d.note(m.Name, m.UID, m.Generation)
		d.changed(m)
	}
}

// failed returns a function that logs the first of consecutive failures to watch definitions.
func (d *definitions) failed() func(error) {
	fails := false
	return func(err error) {
		if err != nil && !fails {
			d.log.Warn("Failed to watch CustomResourceDefinitions; their changes are noticed late", zap.Error(err))
		}
		fails = err != nil
	}
}

func metaOf(object json.RawMessage) (definitionMeta, bool) {
	var o struct{ Metadata definitionMeta }
	err := json.Unmarshal(object, &o)
	return o.Metadata, err == nil && o.Metadata.Name != ""
}
