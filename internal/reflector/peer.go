package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

const (
	// peerWait is the default of Config.PeerWait: it takes a peer a moment, unless it has to fill its lane first, which
	// takes it no less than it would take this facade.
	peerWait = 5 * time.Second
	// warmWait is how long a lane may take to be filled from a peer; then it is filled from the upstream.
	warmWait = time.Minute
	// peerPause is how long a peer is left alone that did not do: what is started at the same time does not wait for it
	// lane by lane.
	peerPause = 30 * time.Second
)

// peer is another facade of the same cluster, from which lanes are filled when they start.
type peer struct {
	client   *upstream.Client
	versions *identity
	wait     time.Duration // how long it may take to say how far its lane is

	mu    sync.Mutex // guards until
	until time.Time  // until when it is left alone
}

// peers are tried one after the other. Safe for concurrent use.
type peers struct {
	all []*peer
}

func newPeers(clients []*upstream.Client, wait time.Duration) *peers {
	p := &peers{}
	for _, client := range clients {
		p.all = append(p.all, &peer{client: client, versions: newVersions(client), wait: cmp.Or(wait, peerWait)})
	}
	return p
}

// usable are those that are not left alone.
func (p *peers) usable() []*peer {
	var usable []*peer
	for _, one := range p.all {
		one.mu.Lock()
		if time.Now().After(one.until) {
			usable = append(usable, one)
		}
		one.mu.Unlock()
	}
	return usable
}

// fails leaves a peer alone for a while. It says so once in that while.
func (p *peer) fails(log *zap.Logger, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.until) {
		return
	}
	p.until = time.Now().Add(peerPause)
	log.Warn("lanes are not filled from this peer for now, but from the upstream", zap.String("peer", p.client.Host()),
		zap.Duration("for", peerPause), zap.Error(err))
}

// What is wrong with a peer.
var (
	errOtherCluster  = errors.New("the peer reads another cluster")
	errNoPeerVersion = errors.New("the peer does not say of which version its kube-apiserver is")
	errOtherVersion  = errors.New("the peer's kube-apiserver is of another version")
	errOtherLists    = errors.New("the peer's lists are of another kind")
)

// agrees tells why the peer's lane of a resource is not what the upstream would fill a lane with, as far as it can be
// told before it is read, or the version that the lane is at. version and style are the upstream's.
func (p *peer) agrees(ctx context.Context, r upstream.Resource, uid, version string, style jsonwire.Style) (cache.RV, error) {
	ctx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	own, err := p.client.ClusterUID(ctx)
	switch {
	case err != nil:
		return 0, err
	case own != uid:
		return 0, fmt.Errorf("%w: %s, not %s", errOtherCluster, own, uid)
	}
	if err := p.isOfVersion(ctx, version); err != nil {
		return 0, err
	}
	list, err := p.client.CachedEmptyList(ctx, r)
	switch {
	case err != nil:
		return 0, err
	case list.Style != style:
		return 0, errOtherLists
	}
	return cache.ParseRV(list.ResourceVersion)
}

// isOfVersion tells why the peer's kube-apiserver is not known to be of the upstream's version.
func (p *peer) isOfVersion(ctx context.Context, upstreams string) error {
	told := p.versions.since(ctx, time.Now().Add(-versionAge))
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("ask the peer for its version: %w", context.Cause(ctx))
	case told == "":
		return errNoPeerVersion
	case upstreams == "":
		return errNoVersion
	case told != upstreams:
		return fmt.Errorf("%w: %q, not %q", errOtherVersion, told, upstreams)
	}
	return nil
}
