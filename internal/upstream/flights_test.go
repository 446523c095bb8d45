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

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/testkit"
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

// documentPath is one of many documents.
func documentPath(i int) string { return fmt.Sprint("/openapi/v3/", i) }

// scripts has many documents answer alike.
func scripts(r *rig, answer http.HandlerFunc) {
	for i := range 300 {
		r.Script(testkit.Ask(documentPath(i)), answer)
	}
}

// of is the request of one of many callers.
func of(i int, r DocumentRequest) DocumentRequest {
	r.Caller = limit.Alone(fmt.Sprint("caller", i))
	return r
}

// Who asks and goes away leaves no more behind than one who stays.
func TestDocumentsOfManyWhoLeave(t *testing.T) {
	for name, c := range map[string]struct {
		ask   func(i int) DocumentRequest
		asked int
	}{
		"queries": {func(i int) DocumentRequest {
			return DocumentRequest{Path: "/apis", Query: url.Values{"x": {fmt.Sprint(i)}}}
		}, 1},
		"documents": {func(i int) DocumentRequest { return of(i, wants(documentPath(i), nil)) }, int(documentSeats.All)},
		"of one":    {func(i int) DocumentRequest { return wants(documentPath(i), nil) }, int(documentSeats.One)},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, configMaps, func(t *testing.T, r *rig) {
				d, answer := NewDocuments(r.client), make(chan struct{})
				r.Script(apis, stuck(answer))
				scripts(r, stuck(answer))
				for i := range 300 {
					ctx, leave := context.WithCancel(t.Context())
					var wait sync.WaitGroup
					wait.Go(func() {
						if _, err := d.Get(ctx, c.ask(i)); !errors.Is(err, context.Canceled) {
							t.Errorf("got %v", err)
						}
					})
					synctest.Wait()
					leave()
					wait.Wait()
				}
				close(answer)
				elapse(time.Minute)
				n := r.Asked(apis)
				for i := range 300 {
					n += r.Asked(testkit.Ask(documentPath(i)))
				}
				if n != c.asked {
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

// A request that finds no place waits for one, but not for long; what is kept is served meanwhile.
func TestDocumentsAreCrowded(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d, answer := NewDocuments(r.client), make(chan struct{})
		r.Script(apis, tagged("one"))
		getDocument(t, d, nil)
		elapse(documentFresh)
		scripts(r, stuck(answer))
		var wait sync.WaitGroup
		most := int(documentSeats.All)
		for i := range most {
			wait.Go(func() {
				if _, err := d.Get(t.Context(), of(i, wants(documentPath(i), nil))); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if got := getDocument(t, d, nil); got != "one" {
			t.Errorf("what is kept is %q", got)
		}
		began := time.Now()
		var crowded *TooManyDocumentsError
		if _, err := d.Get(t.Context(), wants(documentPath(most), nil)); !errors.As(err, &crowded) || time.Since(began) != documentQueue {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		wait.Go(func() {
			if _, err := d.Get(t.Context(), wants(documentPath(most), nil)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		close(answer)
		wait.Wait()
		if n := r.Asked(testkit.Ask(documentPath(most))); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
}

// A caller that asks for many documents holds up no other that asks for one of them.
func TestDocumentsAreEverybodysTurn(t *testing.T) {
	inBubble(t, configMaps, func(t *testing.T, r *rig) {
		d, answer := NewDocuments(r.client), make(chan struct{})
		scripts(r, stuck(answer))
		r.Script(apis, tagged("one"))
		ctx, leave := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		for i := range 100 {
			wait.Go(func() { _, _ = d.Get(ctx, wants(documentPath(i), nil)) })
		}
		synctest.Wait()
		wait.Go(func() { _, _ = d.Get(ctx, wants("/apis", nil)) }) // behind all the others
		synctest.Wait()
		if n := r.Asked(apis); n != 0 {
			t.Errorf("asked %d times for a caller that has its part", n)
		}
		began := time.Now()
		document, err := d.Get(t.Context(), of(1, wants("/apis", nil)))
		if err != nil || string(document.Body) != "one" || time.Since(began) > 0 {
			t.Errorf("another caller got %v after %s", err, time.Since(began))
		}
		leave()
		close(answer)
		wait.Wait()
		elapse(documentQueue)
		if n := len(d.flights.byKey); n != 0 {
			t.Errorf("%d flights are left", n)
		}
	})
}
