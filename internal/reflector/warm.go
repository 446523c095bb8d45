package reflector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// warm fills a lane without a State from a peer, and opens its watch at the upstream
// (docs/adr/0020-facades-read-facades.md). It returns nil if no peer could fill it. The lane then has to be listed from
// the upstream. Events are always listed from the upstream. etcd deletes several events at one version, and it is
// unknown whether the peer has received all of these deletions. warm returns an error only if a list from the upstream
// would also fail.
func (w *writer) warm(ctx context.Context, e *epoch) (*stream, error) {
	if w.lane.Resource.Custom {
		return nil, nil // the definition behind the peer's objects is unknown
	}
	if _, err := w.lane.Cache.State(); err == nil || w.lane.Resource.ReadFromEtcd() {
		return nil, nil // the peer may have the same wrong objects
	}
	for _, p := range w.peers.usable() {
		open, err := w.warmFrom(ctx, e, p)
		var fault *peerError
		switch {
		case err == nil:
			return open, nil
		case ctx.Err() != nil || errors.Is(err, ErrNoMemory), errors.Is(err, ErrTooLarge):
			return nil, err
		case errors.Is(err, wire.ErrUnaligned):
			w.unpaged = true // the upstream's rows would not match the objects either
			return nil, nil
		case errors.As(err, &fault):
			p.fails(w.lane.log, err)
		default:
			w.lane.log.Info("Failed to fill the lane from a peer; filling it from the upstream",
				zap.String("peer", p.client.Host()), zap.Error(err))
		}
	}
	return nil, nil
}

// peerError is an error of a peer that would affect every lane. Errors of the upstream, and errors about a single
// resource, are not peerErrors.
type peerError struct{ err error }

func (e *peerError) Error() string { return e.err.Error() }

func (e *peerError) Unwrap() error { return e.err }

// ofPeer wraps an error of a peer in a *peerError, unless it is about a single resource.
func ofPeer(err error) error {
	for _, code := range []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusGone} {
		if upstream.HasCode(err, code) {
			return err
		}
	}
	if errors.Is(err, errOtherLists) || errors.Is(err, errNoVersion) || errors.Is(err, wire.ErrUnaligned) ||
		errors.Is(err, ErrNoMemory) || errors.Is(err, ErrTooLarge) {
		return err
	}
	return &peerError{err: err}
}

// warmFrom reads the peer's lane as a list of one version. It publishes the list only after the checks of a resumed
// watch: the upstream has reached the list's version, and the resource is unchanged.
func (w *writer) warmFrom(ctx context.Context, e *epoch, p *peer) (*stream, error) {
	reading, cancel := context.WithTimeout(ctx, warmWait)
	defer cancel()
	rv, objects, err := w.readPeer(reading, e, p)
	if err != nil {
		return nil, err
	}
	if err := w.learnMarks(reading, e); err != nil {
		return nil, err
	}
	err = w.learner.verify(reading, rv)
	if errors.Is(err, errRestored) { // the upstream is behind the peer, so their histories differ
		return nil, &peerError{err: err}
	}
	if err != nil {
		return nil, err
	}
	open, err := e.watch(ctx, watchQuery(rv), 300+rand.IntN(300))
	if err != nil {
		return nil, err
	}
	// The list may lack recent writes. Readers of the most recent state still receive only States that a freshness check
	// has confirmed.
	if err := w.publisher.publish(ctx, e, rv, objects); err != nil {
		open.close()
		return nil, err
	}
	return open, nil
}

// readPeer reads the peer's lane.
func (w *writer) readPeer(ctx context.Context, e *epoch, p *peer) (cache.RV, map[string]*cache.Object, error) {
	r := w.lane
	uid, err := w.check.clusterNow(ctx)
	if err != nil {
		return 0, nil, err
	}
	from, err := p.agrees(ctx, r.Resource, uid, w.check.recentVersion(ctx), e.style)
	if err != nil {
		return 0, nil, ofPeer(err)
	}
	l := w.listing(e, p.client, from)
	if err := w.firstRows(ctx, e, l); err != nil && !errors.Is(err, errFew) {
		return 0, nil, ofPeer(err)
	}
	objects, err := w.read(ctx, e, l)
	if err != nil {
		return 0, nil, ofPeer(err)
	}
	rv, err := cache.ParseRV(l.version)
	if err != nil {
		return 0, nil, fmt.Errorf("read a list: %w", err)
	}
	return rv, objects, nil
}
