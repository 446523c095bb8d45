package reflector

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// TestClusterThatSomebodyAsksFor: who waits for another's question waits no longer than it may.
func TestClusterThatSomebodyAsksFor(t *testing.T) {
	p := newPeers(nil, nil, 0)
	p.turn <- struct{}{}
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errNoTime)
	if uid, err := p.cluster(over); !errors.Is(err, errNoTime) {
		t.Errorf("%q, %v", uid, err)
	}
	known := "1"
	p.uid.Store(&known)
	if uid, err := p.cluster(over); err != nil || uid != known {
		t.Errorf("%q, %v", uid, err)
	}
}

// TestPeerOfUnknownVersion: a peer that does not answer, one that does not say its version and one of another version
// have different errors: an operator looks for each in another place.
func TestPeerOfUnknownVersion(t *testing.T) {
	const version = "v1.37.1 as ."
	for name, c := range map[string]struct {
		answer   http.HandlerFunc
		upstream string
		want     error
	}{
		"it takes too long":   {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, version, context.DeadlineExceeded},
		"it does not say":     {testkit.Refuse(http.StatusInternalServerError, "InternalError"), version, errNotTold},
		"another one":         {text(`{"gitVersion":"v1.36.0"}`), version, errOtherVersion},
		"not of the upstream": {text(`{"gitVersion":"v1.37.1"}`), "", errNoVersion},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				r.isCluster("1")
				r.Script(versionPath, c.answer)
				p := newPeers([]*upstream.Client{r.client}, r.client, 0).all[0]
				_, err := p.agrees(t.Context(), r.resource(), "1", c.upstream, jsonwire.Style{})
				if !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
			})
		})
	}
}
