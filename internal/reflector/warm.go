package reflector

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// warm reads a list from a peer, for a lane that has no State. It also opens the lane's watch at the upstream
// (docs/adr/0020-facades-read-facades.md). It returns nil if no peer has a usable list. The lane then has to be listed
// from the upstream. warm returns an error only if a list from the upstream would also fail.
//
// The resource Event is never read from a peer. etcd deletes several Events at one version, and it is unknown whether
// the peer has received all of these deletions.
func (l *lister) warm(ctx context.Context, e *epoch) (*list, error) {
	if l.lane.Resource.Custom {
		return nil, nil // the definition behind the peer's objects is unknown
	}
	if _, err := l.lane.Cache.State(); err == nil || l.lane.Resource.ReadFromEtcd() {
		return nil, nil // after a wrong State, the peer may have the same wrong objects
	}
	for _, p := range l.peers.usable() {
		all, err := l.warmFrom(ctx, e, p)
		var fault *peerError
		switch {
		case err == nil:
			return all, nil
		case ctx.Err() != nil || errors.Is(err, ErrNoMemory), errors.Is(err, ErrTooLarge):
			return nil, err
		case errors.Is(err, wire.ErrUnaligned):
			l.stopPaging() // the upstream's rows would not match the objects either
			return nil, nil
		case errors.As(err, &fault):
			p.fails(l.lane.log, err)
		default:
			l.lane.log.Info("Failed to fill the lane from a peer; trying the next peer or the upstream",
				zap.String("peer", p.client.Host()), zap.Error(err))
		}
	}
	return nil, nil
}

// peerError is an error of a peer that would affect every lane, and not only one resource.
type peerError struct{ err error }

func (e *peerError) Error() string { return e.err.Error() }

func (e *peerError) Unwrap() error { return e.err }

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

// warmFrom reads the peer's lane as a list of one version. It returns the list only after the checks of a resumed
// watch: that the upstream has reached the list's version, and that the resource is unchanged.
func (l *lister) warmFrom(ctx context.Context, e *epoch, p *peer) (*list, error) {
	reading, cancel := context.WithTimeout(ctx, warmWait)
	defer cancel()
	all, err := l.readPeer(reading, e, p)
	if err != nil {
		return nil, err
	}
	if err := l.learnMarks(reading, e); err != nil {
		return nil, err
	}
	err = l.learner.verify(reading, all.rv)
	if errors.Is(err, errRestored) { // the upstream is behind the peer, so their histories differ
		return nil, &peerError{err: err}
	}
	if err != nil {
		return nil, err
	}
	all.open, err = e.watch(ctx, watchQuery(all.rv), 300+rand.IntN(300))
	if err != nil {
		return nil, err
	}
	// The list may lack recent writes. Readers of the most recent state still receive only States that a freshness check
	// has confirmed.
	return all, nil
}

func (l *lister) readPeer(ctx context.Context, e *epoch, p *peer) (*list, error) {
	uid, err := l.check.clusterNow(ctx)
	if err != nil {
		return nil, err
	}
	from, err := p.agrees(ctx, l.lane.Resource, uid, l.check.recentVersion(ctx), e.style)
	if err != nil {
		return nil, ofPeer(err)
	}
	pages := l.listing(e, p.client, from)
	if err := pages.firstRows(ctx); err != nil && !errors.Is(err, errFew) {
		return nil, ofPeer(err)
	}
	objects, err := pages.read(ctx)
	if err != nil {
		return nil, ofPeer(err)
	}
	return newList(pages.version, objects, time.Time{})
}
