package reflector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// warm fills a lane that has never shown anything from a peer, and opens its watch at the upstream
// (docs/adr/0020-facades-read-facades.md). nil: no peer did, and the upstream has to be asked for a list. Events are
// always the upstream's: those that one of its transactions deletes have one version, and nobody tells whether the peer
// was told of all of them. It fails when the upstream need not be asked for a list either.
func (w *writer) warm(ctx context.Context) (*stream, error) {
	if w.reflector.Resource.Custom {
		return nil, nil // the peer's list does not tell which definition its objects were written by
	}
	if _, err := w.reflector.Cache.State(); err == nil || w.reflector.Resource.ReadFromEtcd() {
		return nil, nil // what was shown and is not trusted any more may have come to the peer in the same way
	}
	for _, p := range w.peers.usable() {
		open, err := w.warmFrom(ctx, p)
		var fault *peerError
		switch {
		case err == nil:
			return open, nil
		case ctx.Err() != nil || errors.Is(err, ErrNoMemory), errors.Is(err, ErrTooLarge):
			return nil, err
		case errors.Is(err, wire.ErrUnaligned):
			w.unpaged = true // the upstream's rows would not do either
			return nil, nil
		case errors.As(err, &fault):
			p.fails(w.log, err)
		default:
			w.log.Info("the lane is filled from the upstream instead of a peer", zap.String("peer", p.client.Host()), zap.Error(err))
		}
	}
	return nil, nil
}

// peerError is what a peer does wrong for every lane, and not for one resource only. What the upstream does wrong when
// it is compared is none.
type peerError struct{ err error }

func (e *peerError) Error() string { return e.err.Error() }

func (e *peerError) Unwrap() error { return e.err }

// ofPeer makes an error of a peer's answer about a resource a *peerError, unless it is about that resource.
func ofPeer(err error) error {
	for _, code := range []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusGone} {
		if upstream.HasCode(err, code) {
			return err
		}
	}
	if errors.Is(err, errOtherLists) || errors.Is(err, errNoVersion) || errors.Is(err, wire.ErrUnaligned) || errors.Is(err, ErrNoMemory) || errors.Is(err, ErrTooLarge) {
		return err
	}
	return &peerError{err: err}
}

// warmFrom reads the peer's lane as a list of one version, and publishes it once the upstream has confirmed what it
// would of a lane whose watch is resumed: that it has been at that version, and that the resource is what it was.
func (w *writer) warmFrom(ctx context.Context, p *peer) (*stream, error) {
	reading, cancel := context.WithTimeout(ctx, warmWait)
	defer cancel()
	rv, objects, err := w.readPeer(reading, p)
	if err != nil {
		return nil, err
	}
	if err := w.learnMarks(reading); err != nil {
		return nil, err
	}
	err = w.verify(reading, rv)
	if errors.Is(err, errRestored) { // the upstream is behind the peer, which reads another history then
		return nil, &peerError{err: err}
	}
	if err != nil {
		return nil, err
	}
	open, err := w.listWatch.Load().watch(ctx, watchQuery(rv), 300+rand.IntN(300))
	if err != nil {
		return nil, err
	}
	// Nothing says that the list holds all that was written before now: what readers are shown is proven as ever.
	if err := w.publish(ctx, rv, objects); err != nil {
		open.close()
		return nil, err
	}
	return open, nil
}

// readPeer reads the peer's lane.
func (w *writer) readPeer(ctx context.Context, p *peer) (cache.RV, map[string]*cache.Object, error) {
	r := w.reflector
	uid, err := w.clusters.now(ctx)
	if err != nil {
		return 0, nil, fmt.Errorf("ask which cluster the upstream is: %w", err)
	}
	from, err := p.agrees(ctx, r.Resource, uid, w.versions.since(ctx, time.Now().Add(-versionAge)), w.discovered.style)
	if err != nil {
		return 0, nil, ofPeer(err)
	}
	l := w.listing(p.client, from)
	if err := w.firstRows(ctx, l); err != nil && !errors.Is(err, errFew) {
		return 0, nil, ofPeer(err)
	}
	objects, err := w.read(ctx, l)
	if err != nil {
		return 0, nil, ofPeer(err)
	}
	rv, err := cache.ParseRV(l.version)
	if err != nil {
		return 0, nil, fmt.Errorf("read a list: %w", err)
	}
	return rv, objects, nil
}
