package rbac

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zaptest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/serviceaccount"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// cuttable is a source whose watches can be cut, and that then refuses new ones.
type cuttable struct {
	toolscache.ListerWatcher
	mu   sync.Mutex
	cut  bool
	open watch.Interface
}

// Watch implements toolscache.ListerWatcher.
func (c *cuttable) Watch(options metav1.ListOptions) (watch.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, errForbidden
	}
	var err error
	c.open, err = c.ListerWatcher.Watch(options) //nolint:staticcheck // the source of the tests has no other method
	return c.open, err
}

// set cuts the source off, or connects it again.
func (c *cuttable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut = cut; cut {
		c.open.Stop()
	}
}

// Objects are current while their watch is open, and a second after it opened.
func TestObjectsAreCurrentWhileWatched(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		from := newSource(t)
		from.Add(account("ns", "here", "1"))
		source := &cuttable{ListerWatcher: from}
		o, err := newObjects(source, "serviceaccounts", zaptest.NewLogger(t))
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
		source.set(true)
		current(false)
		source.set(false)
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
		o, err := newObjects(from, "serviceaccounts", zaptest.NewLogger(t))
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
