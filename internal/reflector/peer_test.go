package reflector

import (
	"context"
	"errors"
	"testing"
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
