package rbac

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zaptest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"github.com/listfacade/listfacade/internal/serviceaccount"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// cuttable is a source whose watches can be cut.
type cuttable struct {
	*cachetesting.FakeControllerSource
	mu   sync.Mutex // guards the fields below
	next state
	last watch.Interface
}

// state is what happens to the next watches.
type state int

const (
	open    state = iota // they bring events
	refused              // the upstream answers 403
	hanging              // they bring nothing
	silent               // the upstream does not answer
)

// WatchWithContext implements toolscache.WatcherWithContext.
func (c *cuttable) WatchWithContext(ctx context.Context, options metav1.ListOptions) (w watch.Interface, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.next {
	case refused:
		return nil, errForbidden
	case silent:
		c.mu.Unlock()
		<-ctx.Done()
		c.mu.Lock()
		return nil, ctx.Err()
	case hanging:
		w = watch.NewFake()
		context.AfterFunc(ctx, w.Stop)
	default:
		w, err = c.Watch(options)
	}
	c.last = w
	return w, err
}

// set ends the open watch, if there is one, and changes the state of the next watches.
func (c *cuttable) set(next state) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = next
	if c.last != nil {
		c.last.Stop()
		c.last = nil
	}
}

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
