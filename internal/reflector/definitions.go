package reflector

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/upstream"
)

// definitionSettles is how long after a change of a definition a lane is not listed: a kube-apiserver serves the old
// form until it has received the change by a watch of its own, which takes milliseconds.
const definitionSettles = 2 * time.Second

// definitions follows all CustomResourceDefinitions by one watch, of their metadata alone. Safe for concurrent use.
type definitions struct {
	client  *upstream.Client
	changed func(definitionMeta) // is called with what the watch brings; of what is gone there is the name alone
	log     *zap.Logger

	mu    sync.Mutex // guards known
	known map[string]known
}

// known is what was last heard of a definition.
type known struct {
	uid        string // empty when it is deleted
	generation int64
	since      time.Time // when that was new; zero for what was there when it was first heard of
}

// forgettable reports whether a definition was deleted so long ago that one of the same name need not settle.
func (k known) forgettable() bool { return k.uid == "" && time.Since(k.since) > definitionSettles }

func newDefinitions(client *upstream.Client, changed func(definitionMeta), log *zap.Logger) *definitions {
	return &definitions{client: client, changed: changed, log: log, known: map[string]known{}}
}

// note takes down how a resource is defined. What is older than what is known says nothing.
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

// unsettled is for how long a resource is not to be listed yet.
func (d *definitions) unsettled(name string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	since := d.known[name].since
	if since.IsZero() {
		return 0
	}
	return definitionSettles - time.Since(since)
}

// run follows until the context ends.
func (d *definitions) run(ctx context.Context) {
	d.client.Follow(ctx, upstream.Followed{
		Path: definitionsPath, List: upstream.MediaMetadataList, Watch: upstream.MediaMetadata,
		Listed: d.listed, Changed: d.receives, Failed: d.failed(),
	})
}

// listed takes down all definitions, and those that are gone.
func (d *definitions) listed(objects []json.RawMessage) error {
	there := map[string]bool{}
	for _, object := range objects {
		if m, ok := metaOf(object); ok {
			there[m.Name] = true
			d.note(m.Name, m.UID, m.Generation)
			d.changed(m)
		}
	}
	for _, name := range d.without(there) {
		d.changed(definitionMeta{Name: name})
	}
	return nil
}

// without takes down the definitions that are not there any more, and returns their names. It forgets those that were
// deleted before.
func (d *definitions) without(there map[string]bool) (gone []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, was := range d.known {
		switch {
		case was.forgettable():
			delete(d.known, name)
		case !there[name] && was.uid != "":
			d.known[name] = known{since: time.Now()}
			gone = append(gone, name)
		}
	}
	return gone
}

// deleted takes down that a definition is gone: another of the same name has to settle, for a kube-apiserver may serve
// the old form until it has received both changes.
func (d *definitions) deleted(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known[name] = known{since: time.Now()}
}

// hears takes down one change.
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

// failed logs when definitions cannot be followed any more.
func (d *definitions) failed() func(error) {
	fails := false
	return func(err error) {
		if err != nil && !fails {
			d.log.Warn("CustomResourceDefinitions cannot be followed; changes of them are noticed late", zap.Error(err))
		}
		fails = err != nil
	}
}

func metaOf(object json.RawMessage) (definitionMeta, bool) {
	var o struct{ Metadata definitionMeta }
	err := json.Unmarshal(object, &o)
	return o.Metadata, err == nil && o.Metadata.Name != ""
}
