package reflector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// aPage is a small answer that costs the upstream more than ten probes.
var aPage = fresh.Answer{Objects: 500, Bytes: 2 << 20, Page: 500}

const (
	leasesPath = testkit.Ask("/apis/coordination.k8s.io/v1/leases")
	leaseProbe = testkit.Ask("/apis/coordination.k8s.io/v1/namespaces/default/leases")
	rolesPath  = testkit.Ask("/apis/rbac.authorization.k8s.io/v1/clusterroles")
)

// accountRig is a rig with one lane. Its upstream also has leases, which may be watched, and cluster roles, which may
// not.
type accountRig struct {
	*rig
	frames chan []byte // frames of the watch of leases; nil ends it
	left   atomic.Bool // whether leases may no longer be watched
}

// accountFrame returns an event with an object's metadata, as protobuf.
func accountFrame(t *testing.T, event string, object interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	enveloped, err := (&runtime.Unknown{Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	read := metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: append([]byte(protobufMagic), enveloped...)}}
	frame, err := read.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...) //nolint:gosec // a few bytes
}

func leaseFrame(t *testing.T, event string, rv uint64) []byte {
	t.Helper()
	return accountFrame(t, event, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: cache.RV(rv).String()}})
}

func newAccountRig(t *testing.T) *accountRig {
	t.Helper()
	of := func(group, version, resource string, namespaced bool) upstream.Resource {
		return upstream.Resource{GVR: schema.GroupVersionResource{Group: group, Version: version, Resource: resource}, Namespaced: namespaced, Cacheable: true}
	}
	a := &accountRig{frames: make(chan []byte, 10)}
	a.rig = newRig(t, configMaps, Config{AccountFor: func() []upstream.Resource {
		all := []upstream.Resource{of("", "v1", "configmaps", true), of("rbac.authorization.k8s.io", "v1", "clusterroles", false)}
		if !a.left.Load() {
			all = append(all, of("coordination.k8s.io", "v1", "leases", true))
		}
		return all
	}})
	a.noRollCalls()
	a.Script("/version", text(`{"major":"1","minor":"33"}`))
	a.Script("/livez", text("[+]etcd ok\n"))
	probe := a.RV
	a.Script(leaseProbe, func(w http.ResponseWriter, _ *http.Request) {
		text(`{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{"resourceVersion":"`+cache.RV(probe()).String()+`"},"items":[]}`)(w, nil)
	})
	a.Script(leasesPath, a.watchLeases)
	a.Script(rolesPath, testkit.Refuse(http.StatusForbidden, "Forbidden"))
	return a
}

func (a *accountRig) watchLeases(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	for flush := w.(http.Flusher).Flush; ; {
		flush()
		select {
		case frame := <-a.frames:
			if frame == nil {
				return
			}
			_, _ = w.Write(frame)
		case <-r.Context().Done():
			return
		}
	}
}

// change raises the upstream's version by a change of a lease.
func (a *accountRig) change(t *testing.T) cache.RV {
	t.Helper()
	rv := a.Elsewhere()
	a.frames <- leaseFrame(t, wire.TypeModified, rv)
	return cache.RV(rv)
}

// read makes a read that costs the upstream more than ten probes. It returns 0 if no check succeeded.
func (a *accountRig) read(t *testing.T, lane *Reflector) cache.RV {
	t.Helper()
	state, _, err := lane.Recent(t.Context(), time.Now(), aPage)
	if errors.Is(err, fresh.ErrUnproven) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return state.RV()
}

// settle reads, while leases change, until leases share the lane's store.
func (a *accountRig) settle(t *testing.T, lane *Reflector) {
	t.Helper()
	for range 10 {
		if a.Asked(leasesPath) == 0 {
			a.Elsewhere() // without an account watch
		} else {
			a.change(t)
		}
		a.read(t, lane)
		elapse(3 * time.Second)
	}
	if a.Asked(leasesPath) != 1 {
		t.Fatalf("got %d account watches of leases, want 1", a.Asked(leasesPath))
	}
}

func inAccountBubble(t *testing.T, test func(*testing.T, *accountRig, *Reflector)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		a := newAccountRig(t)
		a.Put("ns/a", "1")
		test(t, a, a.synced(t))
	})
}

// While other resources change, a probe confirms the lane, because account watches receive those changes. They open
// only when needed, end some time later, and exclude resources with a lane or without permission.
func TestAccountWatchesOpenOnDemand(t *testing.T) {
	inAccountBubble(t, func(t *testing.T, a *accountRig, lane *Reflector) {
		elapse(time.Minute)
		if n := a.Asked(leasesPath) + a.Asked(rolesPath) + a.Asked(leaseProbe); n != 0 {
			t.Errorf("got %d requests before any read needs them, want none", n)
		}
		a.settle(t, lane)
		progressWatches := a.Asked(testkit.AskProgressWatch)
		for range 50 {
			if rv := a.change(t); a.read(t, lane) != rv {
				t.Fatal("got no fresh State, want one by a probe")
			}
			elapse(20 * time.Millisecond)
		}
		if n := a.Asked(testkit.AskProgressWatch) - progressWatches; n != 0 {
			t.Errorf("got %d progress watches", n)
		}
		if watch := a.Requests(leasesPath)[0]; !strings.HasPrefix(watch.Header.Get("Accept"), mediaPartial) || watch.URL.Query().Get("resourceVersion") == "" {
			t.Errorf("got the request %v with header %v", watch.URL, watch.Header)
		}
		if n := a.Asked(testkit.AskWatch); n > 2 {
			t.Errorf("got %d watches of a resource with a lane", n)
		}
		elapse(accountsFor - time.Minute)
		if n := a.Asked(rolesPath) + a.Asked("/apis/rbac.authorization.k8s.io/v1/clusterroles"); n > 4 {
			t.Errorf("got %d requests for a forbidden resource", n)
		}
		watches := a.Asked(leasesPath)
		elapse(2 * accountsFor)
		a.Elsewhere()
		if n := a.Asked(leasesPath) - watches; n > 1 {
			t.Errorf("got %d account watches long after the last read, want 1 at most", n)
		}
	})
}

// The account watch of a resource ends when another server begins to serve it.
func TestAccountWatchOfForeignResourceEnds(t *testing.T) {
	inAccountBubble(t, func(t *testing.T, a *accountRig, lane *Reflector) {
		a.settle(t, lane)
		a.left.Store(true)
		elapse(2 * accountsEvery)
		rv := a.Elsewhere()
		a.frames <- leaseFrame(t, wire.TypeModified, rv)
		elapse(time.Second)
		if n := len(a.frames); n != 1 {
			t.Error("got a reader of the watch, want none")
		}
	})
}

// A lane that has ended receives no changes, so its resource gets an account watch.
func TestResourceOfEndedLaneIsNotReceived(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		r.Put("ns/a", "1")
		lane := r.synced(t)
		if !r.lanes.received()["configmaps"] {
			t.Error("got a synced lane that does not count as receiving")
		}
		lane.wrong <- fmt.Errorf("%w: 1 MiB", ErrTooLarge)
		elapse(time.Minute)
		if f := lane.Failure(); f == nil || !f.TooLarge() || r.lanes.received()["configmaps"] {
			t.Errorf("got an ended lane that counts as receiving: %+v", f)
		}
	})
}

// Changes received before an account watch broke off no longer count, because the history may be another one.
func TestBrokenAccountWatchResetsAccount(t *testing.T) {
	inAccountBubble(t, func(t *testing.T, a *accountRig, lane *Reflector) {
		a.settle(t, lane)
		rv := a.change(t)
		synctest.Wait()
		a.frames <- nil // long before the timeout
		elapse(time.Millisecond)
		if at := a.read(t, lane); at != 0 {
			t.Errorf("got fresh at %d by changes before the watch broke off at %d", at, rv)
		}
		elapse(5 * time.Second)
		if n := a.Asked(leasesPath); n != 2 {
			t.Errorf("got %d watches, want 2", n)
		}
	})
}

// An invalid frame ends an account watch, and another one is opened.
func TestInvalidFrameEndsAccountWatch(t *testing.T) {
	authorization := &metav1.PartialObjectMetadata{}
	for name, frame := range map[string][]byte{
		"no event":              {0, 0, 0, 2, 0xff, 0xff},
		"no resourceVersion":    accountFrame(t, wire.TypeModified, authorization),
		"a Status":              accountFrame(t, wire.TypeError, &metav1.Status{Code: http.StatusGone, Message: "too old"}),
		"from before the watch": leaseFrame(t, wire.TypeModified, 1),
		"an unknown event":      leaseFrame(t, "RENAMED", 1<<40),
	} {
		t.Run(name, func(t *testing.T) {
			inAccountBubble(t, func(t *testing.T, a *accountRig, lane *Reflector) {
				a.settle(t, lane)
				a.frames <- frame
				elapse(5 * time.Second)
				if n := a.Asked(leasesPath); n != 2 {
					t.Errorf("got %d watches, want 2", n)
				}
			})
		})
	}
}

// The uptime of an account watch is the time for which it was open. The wait for other watches to open and the duration
// of a failed attempt do not count, so that pauses grow while kube-apiserver fails slowly.
func TestUptimeOfAccountWatchBeginsWhenItIsOpen(t *testing.T) {
	inAccountBubble(t, func(t *testing.T, a *accountRig, _ *Reflector) {
		leases := upstream.Resource{GVR: schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, Namespaced: true}
		watch := &accountWatch{client: a.client, resource: leases, opening: make(chan struct{}, 1), last: 1}
		watch.opening <- struct{}{} // another watch is being opened
		slowly := func(answer http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				<-time.After(2 * healthyAfter) // of the bubble
				answer(w, r)
			}
		}
		a.Script(leasesPath, slowly(testkit.Refuse(http.StatusInternalServerError, "InternalError")))
		time.AfterFunc(2*healthyAfter, func() { <-watch.opening })
		began := time.Now()
		if uptime, err := watch.watch(t.Context()); err == nil || uptime != 0 || time.Since(began) != 4*healthyAfter {
			t.Errorf("got uptime %s, %v after %s, want 0 and an error after %s", uptime, err, time.Since(began), 4*healthyAfter)
		}
		a.Script(leasesPath, slowly(a.watchLeases))
		time.AfterFunc(5*healthyAfter, func() { a.frames <- nil })
		if uptime, err := watch.watch(t.Context()); err == nil || uptime != 3*healthyAfter {
			t.Errorf("got uptime %s, %v, want %s and an error", uptime, err, 3*healthyAfter)
		}
	})
}
