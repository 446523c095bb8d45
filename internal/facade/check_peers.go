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

// peerWait is how long a facade may take to say what it reads, unless Config.PeerWait says; then the next one is tried.
const peerWait = 5 * time.Second

// awayError says that a facade does not answer for now. It is never kube-apiserver's.
type awayError struct{ error }

// Unwrap returns what it answered instead, or why it did not.
func (e *awayError) Unwrap() error { return e.error }

// peers tries each facade that lanes are to be filled from. One that is not there is no harm.
func (i *inspection) peers(ctx context.Context) bool {
	clients, err := newPeers(i.config, i.rest, upstream.NewHop())
	if err != nil {
		i.say("peers", err, "")
	}
	for n, client := range clients {
		what := "peer " + i.config.WarmFrom[n]
		err := i.peer(ctx, client)
		client.CloseIdle()
		var away *awayError
		if errors.As(err, &away) {
			i.note(what, fmt.Sprintf("kube-apiserver is read instead while that is so: %v", err))
			continue
		}
		i.say(what, err, "reads the same cluster")
	}
	return true
}

// peer tells why lanes would not be filled from a facade, whatever the resource.
func (i *inspection) peer(ctx context.Context, client *upstream.Client) error {
	asking, cancel := context.WithTimeout(ctx, cmp.Or(i.config.PeerWait, peerWait))
	defer cancel()
	there, err := readingOf(asking, client)
	switch {
	case isAway(err):
		return &awayError{err}
	case err != nil:
		return err
	}
	here, err := readingOf(ctx, i.client)
	switch {
	case err != nil:
		return fmt.Errorf("it is not known whether it reads the same cluster: %w", err)
	case there.cluster != here.cluster:
		return errors.New("it reads another cluster")
	case there.version != here.version:
		return fmt.Errorf("its kube-apiserver is %s, and not %s", there.version, here.version)
	}
	return nil
}

// clusterReading is what tells whether two read the same.
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

// isAway tells whether nobody answers at an address for now, as before the first replica is ready, or not in time.
func isAway(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial" || errors.Is(err, context.DeadlineExceeded) ||
		upstream.HasCode(err, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
}
