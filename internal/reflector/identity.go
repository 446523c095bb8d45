package reflector

import (
	"context"
	"errors"
	"time"

	"github.com/listfacade/listfacade/internal/upstream"
)

// versionWait is how long it may take the upstream to say who it is; it takes a millisecond.
const versionWait = 5 * time.Second

// identity asks the upstream for one word about itself, on behalf of all lanes. Safe for concurrent use.
type identity struct {
	ask   func(context.Context) string // empty when the upstream does not tell
	seat  chan struct{}                // holds one while somebody asks, or looks at the last answer
	asked time.Time                    // guarded by turn, as is the answer
	last  string
}

func newIdentity(ask func(context.Context) string) *identity {
	return &identity{ask: ask, seat: make(chan struct{}, 1)}
}

// newClusters asks for the UID of the upstream's cluster.
func newClusters(client *upstream.Client) *identity {
	return newIdentity(func(ctx context.Context) string {
		uid, _ := client.ClusterUID(ctx) // empty with an error: who may not read it does without
		return uid
	})
}

// errNotSaid is returned when the upstream does not answer what it is asked about itself.
var errNotSaid = errors.New("the upstream does not say it")

// now returns the upstream's answer to a question that is asked from now on, which may be another's. It fails with the
// context's cause when that ends before, and with errNotSaid.
func (i *identity) now(ctx context.Context) (string, error) {
	answer := i.since(ctx, time.Now())
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case answer == "":
		return "", errNotSaid
	}
	return answer, nil
}

// since is what the upstream told when it was asked at this moment or later; empty when it did not tell.
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
			return "" // who asks was stopped, and the others have no answer yet
		}
		i.asked, i.last = asked, answer
	}
	return i.last
}
