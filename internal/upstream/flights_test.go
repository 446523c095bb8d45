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

// stuck answers after it is released.
func stuck(until <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		select {
		case <-until:
			tagged("one")(w, request)
		case <-request.Context().Done():
		}
	}
}

// documentPath returns the path of one of many documents.
func documentPath(i int) string { return fmt.Sprint("/openapi/v3/", i) }

// scripts makes many documents answer alike.
func scripts(r *rig, answer http.HandlerFunc) {
	for i := range 300 {
		r.Script(testkit.Ask(documentPath(i)), answer)
	}
}

// of returns the request of one of many callers.
func of(i int, r DocumentRequest) DocumentRequest {
	r.Caller = limit.Alone(fmt.Sprint("caller", i))
	return r
}

// A caller that leaves occupies no more memory than one that stays.
func TestCallersThatLeaveOccupyNoMemory(t *testing.T) {
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
					t.Errorf("got %d requests", n)
				}
				if n := len(d.flights.byKey); n != 0 {
					t.Errorf("got %d remaining flights, want none", n)
				}
				if got := getDocument(t, d, nil); got != "one" {
					t.Errorf("then got %q", got)
				}
			})
		})
	}
}

// A request waits for a seat for a limited time. A stored document is served meanwhile.
func TestDocumentsWaitForSeats(t *testing.T) {
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
			t.Errorf("got stored document %q", got)
		}
		began := time.Now()
		var tooMany *TooManyDocumentsError
		if _, err := d.Get(t.Context(), wants(documentPath(most), nil)); !errors.As(err, &tooMany) || time.Since(began) != documentQueue {
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
			t.Errorf("got %d requests", n)
		}
	})
}

// A caller with many requests does not delay another caller of one of the same documents.
func TestCallersOfDocumentsTakeTurns(t *testing.T) {
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
		wait.Go(func() { _, _ = d.Get(ctx, wants("/apis", nil)) }) // behind all other requests of this caller
		synctest.Wait()
		if n := r.Asked(apis); n != 0 {
			t.Errorf("got %d requests of a caller with all its seats", n)
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
			t.Errorf("got %d remaining flights, want none", n)
		}
	})
}
