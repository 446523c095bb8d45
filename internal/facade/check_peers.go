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

// peerWait bounds the requests to one peer, unless Config.PeerWait is set. The next peer is tried afterwards.
const peerWait = 5 * time.Second

// awayError is returned for a peer that does not answer at the moment. It is never about kube-apiserver.
type awayError struct{ error }

// Unwrap returns the error of the request.
func (e *awayError) Unwrap() error { return e.error }

// peers checks each facade that lanes would be filled from. A peer that does not answer is not a failure.
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
			i.note(subject, fmt.Sprintf("does not answer, so kube-apiserver is read instead: %v", err))
			continue
		}
		i.say(subject, err, "reads the same cluster")
	}
	return true
}

// peer returns why no lane would be filled from a facade.
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
		return fmt.Errorf("the peer reads kube-apiserver %s, not %s", peer.version, own.version)
	}
	return nil
}

// clusterReading identifies the cluster and the release of its kube-apiserver.
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

// isAway reports whether an address does not answer at the moment, as before the first replica is ready.
func isAway(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial" || errors.Is(err, context.DeadlineExceeded) ||
		upstream.HasCode(err, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
}
