package rbac

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zaptest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"github.com/listfacade/listfacade/internal/serviceaccount"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// cuttable is a source whose lists and watches can fail. An open watch ends at its timeout.
type cuttable struct {
	*cachetesting.FakeControllerSource
	mu    sync.Mutex // guards the fields below
	next  state
	last  watch.Interface
	lists int
}

// state is what happens to the next requests. Lists are answered, unless it says otherwise.
type state int

const (
	open       state = iota // watches bring events
	late                    // they do so, but the upstream opens them late
	refused                 // the upstream answers watches with 403
	hanging                 // watches bring nothing; a canceled watch ends with an error, as in client-go
	mute                    // watches bring nothing; a canceled watch ends without an error
	silent                  // the upstream does not answer watches
	dead                    // the upstream answers neither lists nor watches
	unreadable              // the upstream answers lists and watches with 403
)

// ListWithContext implements toolscache.ListerWithContext.
func (c *cuttable) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	c.mu.Lock()
	c.lists++
	next := c.next
	c.mu.Unlock()
	switch next {
	case dead:
		<-ctx.Done()
		return nil, ctx.Err()
	case unreadable:
		return nil, errForbidden
	default:
		return c.List(options)
	}
}

// listed returns the number of lists so far.
func (c *cuttable) listed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists
}

// WatchWithContext implements toolscache.WatcherWithContext.
func (c *cuttable) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	c.mu.Lock()
	next := c.next
	c.mu.Unlock()
	switch next {
	case refused, unreadable:
		return nil, errForbidden
	case silent, dead:
		<-ctx.Done()
		return nil, ctx.Err()
	case hanging:
		broken := apierrors.NewInternalError(context.Canceled).Status()
		return c.opened(hangs(ctx, watch.Event{Type: watch.Error, Object: &broken}), nil)
	case mute:
		return c.opened(hangs(ctx), nil)
	case late:
		<-time.After(maxAnswer - time.Second)
	case open:
	}
	w, err := c.Watch(options)
	if err == nil {
		time.AfterFunc(time.Duration(*options.TimeoutSeconds)*time.Second, w.Stop)
	}
	return c.opened(w, err)
}

func (c *cuttable) opened(w watch.Interface, err error) (watch.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = w
	return w, err
}

// set ends the open watch, if there is one, and changes the state of the next requests.
func (c *cuttable) set(next state) {
	c.then(next)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil {
		c.last.Stop()
		c.last = nil
	}
}

// then changes the state of the next requests.
func (c *cuttable) then(next state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = next
}

// hung is a watch that brings nothing before its context ends.
type hung struct {
	events chan watch.Event
	cancel context.CancelFunc
}

func hangs(ctx context.Context, finally ...watch.Event) hung {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan watch.Event, len(finally))
	context.AfterFunc(ctx, func() {
		for _, event := range finally {
			events <- event
		}
		close(events)
	})
	return hung{events, cancel}
}

// ResultChan implements watch.Interface.
func (h hung) ResultChan() <-chan watch.Event { return h.events }

// Stop implements watch.Interface.
func (h hung) Stop() { h.cancel() }

// Objects are current while their watch is open, and a second after it opened.
func TestObjectsAreCurrentWhileWatched(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		source := &cuttable{FakeControllerSource: newSource(t)}
		source.Add(account("ns", "here", "1"))
		o, err := newObjects(source, "serviceaccounts", nil, zaptest.NewLogger(t))
		if err != nil {
			t.Fatal(err)
		}
		current := func(want bool) {
			t.Helper()
			synctest.Wait()
			if got := o.Current(); got != want {
				t.Errorf("got current %t, want %t", got, want)
			}
		}
		current(false)
		start(t, o.Run)
		current(false)
		<-time.After(settle)
		current(true)
		source.set(refused)
		current(false)
		source.set(open)
		<-time.After(time.Minute) // the informer pauses before it watches again
		current(true)
	})
}

// Find returns the UID of an object and the time at which its deletion is due.
func TestObjectsAreFound(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		from, due := newSource(t), metav1.NewTime(time.Now().Add(time.Minute).Truncate(time.Second))
		leaving := account("ns", "leaving", "2")
		leaving.DeletionTimestamp = &due
		from.Add(account("ns", "here", "1"))
		from.Add(leaving)
		o, err := newObjects(from, "serviceaccounts", nil, zaptest.NewLogger(t))
		if err != nil {
			t.Fatal(err)
		}
		start(t, o.Run)
		synctest.Wait()
		for key, want := range map[string]serviceaccount.Object{
			"ns/here": {UID: "1"}, "ns/leaving": {UID: "2", Deletes: due.Time}, "ns/gone": {}, "other/here": {},
		} {
			got, ok := o.Find(key)
			if got.UID != want.UID || !got.Deletes.Equal(want.Deletes) || ok != (want.UID != "") {
				t.Errorf("%s: got %+v %t, want %+v", key, got, ok, want)
			}
		}
	})
}
