package handlers

import (
	"net/http"
	"strings"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// get answers for one object (semantics 3). Without a resourceVersion it is a linearizable read: a proof costs the upstream as
// much as the object itself, so it has to be one that is shared, or the upstream answers.
func (s *Server) get(w http.ResponseWriter, r *http.Request, q *Request, lane *upstream.Lane) error {
	// A name that no object can have is refused in words of its own.
	if strings.Contains(q.Name, "%") || q.Name == "." || q.Name == ".." {
		return errForward
	}
	state, err := s.stateAt(r, q, lane)
	if err != nil {
		return err
	}
	object, ok := state.Get(q.prefix() + q.Name)
	if !ok {
		return notFound(q.GVR.GroupResource(), q.Name)
	}
	out := s.newBody(w, r, q.media)
	if err := writeObject(out, q.media, state.Shape(), object.Item); err != nil {
		return err
	}
	return out.Close()
}

// stateAt is a State with everything written before the request for version "", of any age for "0", else one at least that new.
func (s *Server) stateAt(r *http.Request, q *Request, lane *upstream.Lane) (*cache.State, error) {
	version := q.query.Get("resourceVersion")
	if version == "" {
		state, err := lane.Recent(r.Context(), q.arrived, upstream.Shared)
		if err != nil {
			return nil, errForward
		}
		return state, nil
	}
	rv, err := parseRV(version)
	if err != nil && lane.Uncached() {
		return nil, badRequest("invalid resource version: " + rvMessage(version)) // read from etcd, which says it as a list does
	}
	if err != nil {
		return nil, err
	}
	state, err := s.ready(lane)
	if err != nil || rv == 0 {
		return state, err
	}
	return s.reached(r.Context(), lane, rv, upstream.Brief)
}

func writeObject(out *body, m media, shape *wire.Shape, item wire.Item) error {
	switch m.transform {
	case asTable:
		return wire.WriteTable(out, shape, item, wire.TableOptions{Meta: m.meta, Include: m.include, Now: time.Now()})
	case asPartial:
		return wire.WritePartial(out, shape, item, m.meta)
	default:
		return wire.WriteObject(out, item)
	}
}
