package fresh

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// slow is a Source whose answers are of the moment of the request, and arrive a second later.
type slow struct{ *testLane }

// ResourceVersion implements Source.
func (s slow) ResourceVersion(ctx context.Context) (cache.RV, error) {
	rv, err := s.testLane.ResourceVersion(ctx)
	<-time.After(time.Second)
	return rv, err
}

// CallRoll implements Source.
func (s slow) CallRoll(ctx context.Context) (*RollCall, error) {
	call, err := s.testLane.CallRoll(ctx)
	<-time.After(time.Second)
	return call, err
}

// A check that began before a new list, and ends after it, does not contradict the new list. Its reader must not
// receive the lane's State.
func TestLateCheckDoesNotContradictNewList(t *testing.T) {
	for name, prepare := range map[string]func(*testUpstream, *testLane){
		"probe":     func(_ *testUpstream, l *testLane) { l.checker.rolls.postpone(ErrUnsupported) },
		"roll call": func(*testUpstream, *testLane) {},
	} {
		bubble.Test(t, func(t *testing.T) {
			u := newUpstream(t, "quiet")
			quiet := u.lanes["quiet"]
			prepare(u, quiet)
			quiet.checker.membership.source = slow{quiet}
			quiet.lane.Replace(150, nil, nil) // the upstream is restored at 100
			time.AfterFunc(time.Second/2, func() {
				quiet.lane.Replace(110, nil, nil)
				quiet.checker.Replaced()
			})
			if _, check, err := quiet.checker.Recent(t.Context(), time.Now(), Endless()); !errors.Is(err, ErrSetBack) {
				t.Errorf("%s: got %v by %s, want ErrSetBack", name, err, check)
			}
			if quiet.checker.Contradicted() || quiet.checker.Contradiction() != nil {
				t.Errorf("%s: the new list is contradicted, want not", name)
			}
		})
	}
}

// A lane is contradicted while its definition is confirmed, after a check or after it was filled. Its reader gets no
// State, even if the lane has been listed again by then.
func TestContradictionDuringDefinition(t *testing.T) {
	for _, by := range []Check{byRollCall, byFill} {
		bubble.Test(t, func(t *testing.T) {
			quiet := newUpstream(t, "quiet").lanes["quiet"]
			quiet.checker.defined = newDefined(Options{Definition: slowDefinition{}, Filler: quiet}, noMetrics{})
			arrived := time.Now()
			if by == byFill {
				quiet.checker.Synced(arrived.Add(1))
			}
			time.AfterFunc(time.Second/2, func() {
				quiet.contradict()
				quiet.lane.Replace(110, nil, nil)
				quiet.checker.Replaced()
			})
			if _, check, err := quiet.checker.Recent(t.Context(), arrived, Endless()); check != by || !errors.Is(err, ErrContradicted) {
				t.Errorf("got %v by %s, want ErrContradicted by %s", err, check, by)
			}
		})
	}
}

type slowDefinition struct{}

// Readable implements Definition.
func (slowDefinition) Readable() bool { return true }

// Bytes implements Definition.
func (slowDefinition) Bytes() int { return 1000 }

// Confirm implements Definition.
func (slowDefinition) Confirm(context.Context) error { <-time.After(time.Second); return nil }

// The readers of a contradicted lane are forwarded within the limit of other forwarded costly answers. The limit does
// not count cheap answers.
func TestForwardedReadersOfContradictedLaneAreLimited(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		quiet := newUpstream(t, "quiet").lanes["quiet"]
		quiet.stored = map[string]cache.RV{"ns/b": 1} // as in another history
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var readers sync.WaitGroup
		var mu sync.Mutex
		forwarded := 0
		for range 100 {
			readers.Go(func() {
				if _, _, err := quiet.checker.Recent(ctx, time.Now(), page); !errors.Is(err, ErrContradicted) {
					t.Errorf("got %v, want ErrContradicted", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if quiet.checker.Forwards(ctx, page) {
					forwarded++
				}
			})
		}
		readers.Wait()
		if want := int(maxForwarded / page.price()); forwarded != want || quiet.opened() != 0 {
			t.Errorf("got %d forwarded and %d progress watches, want %d and none", forwarded, quiet.opened(), want)
		}
		if !quiet.checker.Forwards(ctx, some) || quiet.checker.Forwards(ctx, Endless()) {
			t.Error("got a cheap answer refused or an endless one forwarded")
		}
		cancel()
		<-time.After(time.Millisecond)
		if !quiet.checker.Forwards(t.Context(), page) {
			t.Error("got a costly answer refused after the others, want it forwarded")
		}
	})
}

// A costly read is forwarded, and counts for the limit. If another reader's check has contradicted the lane by then,
// the read does not count a second time.
func TestForwardedReaderOfContradictedLaneCountsOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "quiet")
		quiet := u.lanes["quiet"]
		quiet.checker.rolls.postpone(ErrUnsupported)
		quiet.checker.membership.source = slow{quiet}
		u.elsewhere()
		time.AfterFunc(time.Second/2, quiet.contradict)
		err := quiet.checker.Reach(t.Context(), u.rv, page)
		counted := time.Duration(quiet.checker.forwarded.Load())
		if !errors.Is(err, ErrUnproven) || errors.Is(err, ErrContradicted) || counted != page.price() {
			t.Errorf("got %v and %s in progress, want ErrUnproven and %s", err, counted, page.price())
		}
	})
}

// A check finds different objects, and then another one finds that the upstream was restored. The second reason counts,
// because only it concerns the other lanes. A later difference does not hide it.
func TestSetBackReplacesOtherContradiction(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		u := newUpstream(t, "quiet")
		quiet := u.lanes["quiet"]
		quiet.contradict()
		if found := quiet.checker.Contradiction(); errors.Is(found, ErrSetBack) {
			t.Errorf("got %v before the upstream is restored", found)
		}
		quiet.lane.Replace(150, nil, nil) // the upstream is at 100
		if _, err := quiet.checker.Now(t.Context()); !errors.Is(err, ErrSetBack) {
			t.Errorf("got %v, want ErrSetBack", err)
		}
		quiet.contradict()
		if found := quiet.checker.Contradiction(); !errors.Is(found, ErrSetBack) {
			t.Errorf("got %v, want ErrSetBack", found)
		}
	})
}
