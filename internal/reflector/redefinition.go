package reflector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/listfacade/listfacade/internal/upstream"
)

// Readable implements fresh.Definition.
func (r *Reflector) Readable() bool { return !r.Undefined() }

// Bytes implements fresh.Definition.
func (r *Reflector) Bytes() int {
	if was := r.definition.Load(); was != nil {
		return was.bytes
	}
	return 0
}

// Confirm implements fresh.Definition. It reads the definition's metadata. If the resourceVersion has changed, it reads
// the complete definition, because the accepted names may change without a new generation. If the definition differs
// from the lane's definition, the lane ends.
func (r *Reflector) Confirm(ctx context.Context) error {
	was := r.definition.Load()
	if was == nil {
		return errUndefined
	}
	body, err := r.client.Get(ctx, upstream.Target{Path: definitionOf(r.Resource)}, upstream.MediaMetadata,
		definitionLimit)
	var now struct{ Metadata definitionMeta }
	if err == nil {
		err = json.Unmarshal(body, &now)
	}
	if err == nil && now.Metadata.ResourceVersion == was.version && was.version != "" {
		return nil
	}
	is := definition{}
	if err == nil {
		is, err = define(ctx, r.client, r.Resource)
	}
	switch {
	case upstream.HasCode(err, http.StatusNotFound): // deleted
	case err != nil:
		return fmt.Errorf("read the definition of the resource: %w", err)
	case is.representsAs(*was):
		r.definition.CompareAndSwap(was, &is)
		return nil
	default:
		r.definitions.note(r.Resource.GVR.GroupResource().String(), is.uid, is.generation)
	}
	r.contradict(errRedefined)
	return errRedefined
}

var errUndefined = errors.New("the definition of the resource is unknown")

// Settling reports whether the lane waits because its definition has just changed, and the upstream may still serve the
// old representation. Reads of the most recent state need not wait for the lane, because they can be forwarded.
func (r *Reflector) Settling() bool { return r.settling.Load() }

// settle waits until the definition has not changed for definitionSettles, and reads the properties of the resource.
func (l *learner) settle(ctx context.Context) (discovered, error) {
	defer l.lane.settling.Store(false)
	for {
		d, err := l.discover(ctx)
		if err != nil || d.definition.uid == "" {
			return d, err
		}
		name := l.lane.Resource.GVR.GroupResource().String()
		l.definitions.note(name, d.definition.uid, d.definition.generation)
		left := l.definitions.unsettled(name)
		if left <= 0 {
			return d, nil
		}
		l.lane.settling.Store(true)
		if err := sleep(ctx, left); err != nil {
			return discovered{}, err
		}
	}
}
