package reflector

import (
	"context"
	"errors"
	"time"

	"github.com/listfacade/listfacade/internal/upstream"
)

// versionWait is the timeout of a request for one property of the upstream, which normally takes a millisecond.
const versionWait = 5 * time.Second

// identity reads one property of the upstream for all lanes: the cluster's UID or the upstream's version. Safe for
// concurrent use.
type identity struct {
	ask   func(context.Context) string // returns the property; empty if the upstream does not provide it
	seat  chan struct{}                // lock that guards asked and last, also during a request
	asked time.Time                    // when the last request was sent
	last  string
}

func newIdentity(ask func(context.Context) string) *identity {
	return &identity{ask: ask, seat: make(chan struct{}, 1)}
}

func newClusters(client *upstream.Client) *identity {
	return newIdentity(func(ctx context.Context) string {
		uid, _ := client.ClusterUID(ctx) // empty if the facade cannot read the UID
		return uid
	})
}

var errNoAnswer = errors.New("the upstream does not provide the cluster UID or version")

// now returns the property, read by a request that is sent after the call began. Concurrent callers share requests. now
// returns the context's cause if the context ends first, or errNoAnswer.
func (i *identity) now(ctx context.Context) (string, error) {
	answer := i.since(ctx, time.Now())
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case answer == "":
		return "", errNoAnswer
	}
	return answer, nil
}

// since returns the property, read at the given moment or later. It is empty if the upstream does not provide the
// property, or if the context ends.
func (i *identity) since(ctx context.Context, moment time.Time) string {
	select {
	case i.seat <- struct{}{}:
		defer func() { <-i.seat }()
	case <-ctx.Done():
		return ""
	}
	if i.asked.IsZero() || i.asked.Before(moment) {
		asked := time.Now()
		waiting, cancel := context.WithTimeout(ctx, versionWait)
		answer := i.ask(waiting)
		cancel()
		if ctx.Err() != nil {
			return "" // the context of this caller has ended; other callers send their own request
		}
		i.asked, i.last = asked, answer
	}
	return i.last
}
