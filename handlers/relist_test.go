package handlers

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// hooked is a lane that calls the functions of a test.
type hooked struct {
	Lane
	hooks *hooks
}

// hooks are called once each. A nil function is not called.
type hooks struct{ reached, read atomic.Pointer[func()] }

func call(hook *atomic.Pointer[func()]) {
	if f := hook.Swap(nil); f != nil {
		(*f)()
	}
}

// Reach implements Lane.
func (h hooked) Reach(ctx context.Context, rv cache.RV, answer fresh.Answer) error {
	defer call(&h.hooks.reached)
	return h.Lane.Reach(ctx, rv, answer)
}

// Doubts implements Lane. A request calls it when it has read a State.
func (h hooked) Doubts(l *fresh.Listing) bool {
	call(&h.hooks.read)
	return h.Lane.Doubts(l)
}

// in makes the lanes of a facade call the hooks.
func (h *hooks) in(c *Config) {
	lanes := c.Lanes
	c.Lanes = LanesOf(func(r upstream.Resource, e wire.Encoding) (hooked, error) {
		lane, err := lanes.Get(r, e)
		return hooked{lane, h}, err
	})
}

// A read has its State when a check contradicts the lane, and the lane is listed again before the read asks whether the
// lane is contradicted. It does not answer with the State.
func TestStateOfContradictedListIsNotSentAfterRelist(t *testing.T) {
	h := &hooks{}
	inBubble(t, func(t *testing.T, f *facade) {
		relist := f.differ(t, 3)
		contradict := func() {
			f.get(t, allOfThem)
			relist()
			<-time.After(10 * time.Second)
		}
		h.read.Store(&contradict)
		if response, body := f.get(t, fmt.Sprint(allOfThem, "?resourceVersion=", f.RV())); response.StatusCode != http.StatusOK || !isNew(body) {
			t.Errorf("got %d from %s, want the upstream's objects: %.200s", response.StatusCode, f.events.last().Source, body)
		}
	}, h.in)
}

// A read that times out while it waits for a version is not answered by a lane that was contradicted meanwhile.
func TestTimeoutDuringContradictionIsNoAnswer(t *testing.T) {
	h := &hooks{}
	inBubble(t, func(t *testing.T, f *facade) {
		f.differ(t, 3)
		contradict := func() {
			f.get(t, allOfThem)
			<-time.After(2 * time.Minute)
		}
		h.reached.Store(&contradict)
		response, body := f.get(t, fmt.Sprint(allOfThem, "?resourceVersion=", f.RV()))
		if response.StatusCode != http.StatusGatewayTimeout || f.events.last().Source == observe.FromUpstream {
			t.Errorf("got %d from %s, want 504: %.200s", response.StatusCode, f.events.last().Source, body)
		}
	}, h.in)
}

// If the new list is late, a list with a limit and without selectors is forwarded, as if the lane was not filled. The
// requests are another facade's, because other lists with a low limit do not wait.
func TestPageIsForwardedIfNewListIsLate(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.contradicted(t, 3)
		for target, want := range map[string]int{
			allOfThem + "?limit=2": http.StatusOK, allOfThem: http.StatusTooManyRequests,
			allOfThem + "?limit=2&labelSelector=a": http.StatusTooManyRequests,
		} {
			if code, took := f.timed(t, target); code != want || took != fillWait {
				t.Errorf("%s: got %d after %s, want %d after %s", target, code, took, want, fillWait)
			}
		}
	})
}

// timed sends another facade's request. It returns the code and the full seconds that the response took.
func (f *facade) timed(t *testing.T, target string) (int, time.Duration) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+target, nil)
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	request.Header.Set("User-Agent", upstream.UserAgent)
	began := time.Now()
	response, err := f.client.Do(request)
	if err != nil {
		t.Error(err)
		return 0, 0
	}
	_ = response.Body.Close()
	return response.StatusCode, time.Since(began).Truncate(time.Second)
}

// Lists above the limit do not wait for the new list, because they would keep the seats of requests for other
// resources. Streaming lists keep no such seats, and all wait.
func TestListsThatWaitForNewListAreLimited(t *testing.T) {
	const excess = 10
	for target, want := range map[string]int64{allOfThem: excess, streamingList: 0} {
		inBubble(t, func(t *testing.T, f *facade) {
			f.contradicted(t, 3)
			refused := atomic.Int64{}
			var readers sync.WaitGroup
			for range relistBounds.Each + excess {
				readers.Go(func() {
					code, took := f.timed(t, target)
					if took == 0 {
						refused.Add(1)
					}
					if code != http.StatusTooManyRequests || took != 0 && took != fillWait {
						t.Errorf("%s: got %d after %s, want 429 at once or after %s", target, code, took, fillWait)
					}
				})
			}
			readers.Wait()
			if refused.Load() != want {
				t.Errorf("%s: got %d refused at once, want %d", target, refused.Load(), want)
			}
		})
	}
}

// A lane ends while a streaming list waits for the new list. The request is then forwarded, as a later one would be.
func TestLaneEndsDuringWaitForNewList(t *testing.T) {
	inBubble(t, func(t *testing.T, f *facade) {
		f.differ(t, 3)
		gone, ended := testkit.Refuse(http.StatusNotFound, "NotFound"), make(chan struct{})
		f.Script(testkit.AskStreaming, func(w http.ResponseWriter, r *http.Request) { <-ended; gone(w, r) })
		f.get(t, allOfThem)
		time.AfterFunc(time.Second, func() { f.Script(testkit.AskProbe, gone); close(ended) })
		response, body := f.get(t, streamingList)
		if event := f.events.last(); response.StatusCode != http.StatusNotFound || event.Reason != observe.Refused {
			t.Errorf("got %d because of %q, want the upstream's 404: %s", response.StatusCode, event.Reason, body)
		}
	})
}
