package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuck answers when it is told to.
func stuck(until <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		select {
		case <-until:
			tagged("one")(w, request)
		case <-request.Context().Done():
		}
	}
}

// form are the request headers of one of many forms of a document.
func form(i int) http.Header { return http.Header{"Accept": {fmt.Sprint("application/json;q=0.", i)}} }

// Who asks and goes away leaves no more behind than one who stays.
func TestDocumentsOfManyWhoLeave(t *testing.T) {
	for name, c := range map[string]struct {
		ask   func(i int) (url.Values, http.Header)
		asked int
	}{
		"queries": {func(i int) (url.Values, http.Header) { return url.Values{"x": {fmt.Sprint(i)}}, nil }, 1},
		"forms":   {func(i int) (url.Values, http.Header) { return nil, form(i) }, documentFlights},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				d, answer := NewDocuments(r.client), make(chan struct{})
				r.Script(apis, stuck(answer))
				for i := range 300 {
					ctx, leave := context.WithCancel(t.Context())
					var wait sync.WaitGroup
					wait.Go(func() {
						query, header := c.ask(i)
						if _, err := d.Get(ctx, "/apis", query, header); !errors.Is(err, context.Canceled) {
							t.Errorf("got %v", err)
						}
					})
					synctest.Wait()
					leave()
					wait.Wait()
				}
				close(answer)
				elapse(time.Minute)
				if n := r.Asked(apis); n != c.asked {
					t.Errorf("asked %d times", n)
				}
				if n := len(d.flights.byKey); n != 0 {
					t.Errorf("%d flights are left", n)
				}
				if got := getDocument(t, d, nil); got != "one" {
					t.Errorf("then got %q", got)
				}
			})
		})
	}
}

// Who finds no place waits for one, but not for long; what is kept is served meanwhile.
func TestDocumentsAreCrowded(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d, answer := NewDocuments(r.client), make(chan struct{})
		r.Script(apis, tagged("one"))
		getDocument(t, d, nil)
		elapse(documentFresh)
		r.Script(apis, stuck(answer))
		var wait sync.WaitGroup
		for i := range documentFlights {
			wait.Go(func() {
				if _, err := d.Get(t.Context(), "/apis", nil, form(i)); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if got := getDocument(t, d, nil); got != "one" {
			t.Errorf("what is kept is %q", got)
		}
		began := time.Now()
		if _, err := d.Get(t.Context(), "/apis", nil, form(documentFlights)); !errors.Is(err, ErrCrowded) || time.Since(began) != documentQueue {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		wait.Go(func() {
			if _, err := d.Get(t.Context(), "/apis", nil, form(documentFlights)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		close(answer)
		wait.Wait()
		elapse(documentQueue)
		if n := r.Asked(apis); n != 1+documentFlights+1 {
			t.Errorf("asked %d times", n)
		}
	})
}
