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
	// peerWait is the default of Config.PeerWait. A peer responds within milliseconds, unless it has to fill its own lane
	// first. A longer wait would then save nothing, because the peer fills its lane from the upstream.
	peerWait = 5 * time.Second
	// warmWait is the maximum time to fill a lane from a peer. Then the lane is filled from the upstream.
	warmWait = time.Minute
	// peerPause is how long a failed peer is not used. Without this pause, each of the lanes that start together would
	// wait for the failed peer.
	peerPause = 30 * time.Second
)

// peer is another facade of the same cluster, from which new lanes are filled.
type peer struct {
	client   *upstream.Client
	versions *identity
	wait     time.Duration // maximum time for the peer to return its lane's version

	mu    sync.Mutex // guards until
	until time.Time  // the peer is not used before this time
}

// peers are the peers in the order in which they are tried. Safe for concurrent use.
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

// fails records that a peer failed. The peer is then not used for peerPause, which is logged.
func (p *peer) fails(log *zap.Logger, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().Before(p.until) {
		return
	}
	p.until = time.Now().Add(peerPause)
	log.Warn("Peer failed; not using it for now", zap.String("peer", p.client.Host()),
		zap.Duration("for", peerPause), zap.Error(err))
}

var (
	errOtherCluster  = errors.New("the peer reads another cluster")
	errNoPeerVersion = errors.New("the version of the peer's kube-apiserver is unknown")
	errOtherVersion  = errors.New("the peer's kube-apiserver has another version")
	errOtherLists    = errors.New("the lists of the peer and of the upstream have different kinds")
)

// agrees returns the resourceVersion of the peer's lane. It returns an error if the peer's cluster, kube-apiserver
// version or kind of lists is not the upstream's, given as uid, version and style.
func (p *peer) agrees(ctx context.Context, r upstream.Resource, uid, version string,
	style jsonwire.Style) (cache.RV, error) {
	ctx, cancel := context.WithTimeout(ctx, p.wait)
	defer cancel()
	own, err := p.client.ClusterUID(ctx)
	switch {
	case err != nil:
		return 0, err
	case own != uid:
		return 0, fmt.Errorf("%w: %s instead of %s", errOtherCluster, own, uid)
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

// isOfVersion returns an error unless the peer's kube-apiserver has the version want.
func (p *peer) isOfVersion(ctx context.Context, want string) error {
	got := p.versions.since(ctx, time.Now().Add(-versionAge))
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read the version of the peer's kube-apiserver: %w", context.Cause(ctx))
	case got == "":
		return errNoPeerVersion
	case want == "":
		return errNoVersion
	case got != want:
		return fmt.Errorf("%w: %q instead of %q", errOtherVersion, got, want)
	}
	return nil
}
