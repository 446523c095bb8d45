package facade

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/version"

	"github.com/listfacade/listfacade/internal/upstream"
)

// peerWait bounds the requests to one peer, unless Config.PeerWait is set.
const peerWait = 5 * time.Second

// awayError is the error of a peer that does not answer at the moment.
type awayError struct{ error }

func (e *awayError) Unwrap() error { return e.error }

// peers checks each facade from which lanes would be filled. A peer that does not answer does not fail the check.
func (i *inspection) peers(ctx context.Context) bool {
	clients, err := newPeers(i.config, i.rest, upstream.NewHop())
	if err != nil {
		i.say("peers", err, "")
	}
	for n, client := range clients {
		subject := "peer " + i.config.WarmFrom[n]
		err := i.peer(ctx, client)
		client.CloseIdle()
		var away *awayError
		if errors.As(err, &away) {
			i.note(subject, fmt.Sprintf("the peer is unavailable, so lanes are filled from kube-apiserver: %v", err))
			continue
		}
		i.say(subject, err, "the peer reads the same cluster")
	}
	return true
}

// peer returns why no lane would be filled from a peer, or nil if lanes would be filled.
func (i *inspection) peer(ctx context.Context, client *upstream.Client) error {
	peerCtx, cancel := context.WithTimeout(ctx, cmp.Or(i.config.PeerWait, peerWait))
	defer cancel()
	peer, err := readingOf(peerCtx, client)
	switch {
	case isAway(err):
		return &awayError{err}
	case err != nil:
		return err
	}
	own, err := readingOf(ctx, i.client)
	switch {
	case err != nil:
		return fmt.Errorf("compare the peer's cluster with the upstream's: %w", err)
	case peer.cluster != own.cluster:
		return errors.New("the peer reads another cluster")
	case peer.version != own.version:
		return fmt.Errorf("the peer reads kube-apiserver %s, want %s", peer.version, own.version)
	}
	return nil
}

type clusterReading struct{ cluster, version string }

func readingOf(ctx context.Context, client *upstream.Client) (r clusterReading, err error) {
	if r.cluster, err = client.ClusterUID(ctx); err != nil {
		return r, err
	}
	body, err := client.ServerVersion(ctx)
	if err != nil {
		return r, err
	}
	var info version.Info
	err = json.Unmarshal(body, &info)
	r.version = info.GitVersion
	return r, err
}

// isAway reports whether an error means that a peer does not answer at the moment, such as a Service without a ready
// replica.
func isAway(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial" || errors.Is(err, context.DeadlineExceeded) ||
		upstream.HasCode(err, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
			http.StatusGatewayTimeout)
}
