package handlers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/testkit"
)

const (
	watchAlong = "/api/v1/configmaps?watch=1&resourceVersion=0&timeoutSeconds=60"
	watchAtEnd = "/api/v1/configmaps?watch=1&resourceVersion=0&timeoutSeconds=-1"
)

// A new caller gets a seat although a few callers, or many service accounts of a namespace, have all of them. The watch
// that gives way ends without an error, whether cached or forwarded.
func TestNewCallersGetSeats(t *testing.T) {
	for name, holder := range map[string]func(i int) string{
		"a few callers":               func(i int) string { return fmt.Sprint("holder", i/3) },
		"accounts of a namespace":     func(i int) string { return fmt.Sprint("system:serviceaccount:ns:holder", i) },
		"accounts with a few watches": func(i int) string { return fmt.Sprint("system:serviceaccount:ns:holder", i/3) },
	} {
		t.Run(name, func(t *testing.T) {
			within(t, Limits{Watches: 9, WatchesPerUser: 3}, func(t *testing.T, f *facade) {
				f.Put("ns/a", "1")
				_ = f.as(t, "alice", reads[0])
				ended := make(chan error, 9)
				for i := range 9 {
					response := f.as(t, holder(i), watchAlong)
					if response.StatusCode != http.StatusOK {
						t.Fatalf("got %d, want a seat for holder %d", response.StatusCode, i)
					}
					go func() {
						_, err := io.Copy(io.Discard, response.Body)
						ended <- err
					}()
				}
				began := time.Now()
				if response := f.as(t, "newcomer", watchAlong); response.StatusCode != http.StatusOK {
					t.Errorf("got %d for a newcomer, want 200", response.StatusCode)
				}
				if err := <-ended; err != nil || time.Since(began) != 0 {
					t.Errorf("got %v after %s, want an immediate end without an error", err, time.Since(began))
				}
				if e := f.events.last(); !e.Yielded {
					t.Error("the event does not say that the watch gave way")
				}
				if len(ended) != 0 {
					t.Errorf("got %d more watches that ended, want none", len(ended))
				}
				assertTooMany(t, f.as(t, holder(8), watchAlong))
			})
		})
	}
}

// A forwarded watch also ends without an error. A log is broken off, because it would otherwise look complete.
func TestForwardedStreamsGiveWay(t *testing.T) {
	const log = "/api/v1/namespaces/ns/pods/a/log?follow=true"
	for target, whole := range map[string]bool{watchAlong: true, log: false} {
		t.Run(target, func(t *testing.T) {
			within(t, Limits{Watches: 2}, func(t *testing.T, f *facade) {
				endless := func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.WriteString(w, "{}\n")
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}
				f.Script(log, endless)
				f.Script("/api/v1/namespaces/ns/pods/a/log", endless)
				f.Put("ns/a", "1")
				first := f.asking(t, "holder", target, passedThrough)
				_ = f.asking(t, "holder", target, passedThrough)
				_ = f.as(t, "newcomer", watchAlong)
				if _, err := io.Copy(io.Discard, first.Body); (err == nil) != whole {
					t.Errorf("got %v, want a complete response: %t", err, whole)
				}
			})
		})
	}
}

// asking does the same as the method as, with an Accept header.
func (f *facade) asking(t *testing.T, name, target, accept string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test"+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{userHeader: {name}, "Authorization": {"Bearer x"}, "Accept": {accept}}
	response, err := f.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %d, want 200", target, response.StatusCode)
	}
	return response
}

// Callers that use up the rate of all watches delay a new caller by one turn.
func TestNewCallersTakeTurns(t *testing.T) {
	within(t, Limits{WatchRate: 20, WatchRatePerUser: 50}, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		_ = f.as(t, "alice", reads[0])
		var flood sync.WaitGroup
		for i := range 40 {
			for range 10 {
				flood.Go(func() {
					if response := f.as(t, fmt.Sprint("system:serviceaccount:ns:", i), watchAtEnd); response.StatusCode != http.StatusOK {
						assertTooMany(t, response)
					}
				})
			}
		}
		synctest.Wait()
		began := time.Now()
		if response := f.as(t, "newcomer", watchAtEnd); response.StatusCode != http.StatusOK || time.Since(began) > 100*time.Millisecond {
			t.Errorf("got %d after %s, want 200 within two turns", response.StatusCode, time.Since(began))
		}
		flood.Wait()
	})
}

// A watch that waits in the queue when the server begins to shut down is refused, because it would end immediately.
func TestQueuedWatchesAreRefusedAtShutdown(t *testing.T) {
	within(t, Limits{WatchRate: 1, WatchRatePerUser: 50}, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		_ = f.as(t, "alice", reads[0])
		for range 2 {
			_ = f.as(t, "alice", watchAtEnd)
		}
		code := make(chan int)
		go func() { code <- f.as(t, "alice", watchAlong).StatusCode }()
		synctest.Wait()
		f.drain()
		if got := <-code; got != http.StatusTooManyRequests {
			t.Errorf("got %d, want 429", got)
		}
	})
}

// Denied watches take nothing that callers share: neither rate nor seats.
func TestDeniedWatchesTakeNoSharedSeats(t *testing.T) {
	within(t, Limits{Watches: 2, WatchRate: 2, WatchRatePerUser: 100}, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		_ = f.as(t, "alice", reads[0])
		for range 2 {
			f.holds(t, "alice", watchAlong)
		}
		<-time.After(10 * time.Second)
		f.allow = func(a auth.Attributes) bool { return a.Caller.Name() != "mallory" }
		began := time.Now()
		for range 100 {
			if response := f.as(t, "mallory", watchAlong); response.StatusCode != http.StatusForbidden {
				t.Fatalf("got %d, want 403", response.StatusCode)
			}
		}
		if n := len(f.yielded()); n != 0 {
			t.Errorf("got %d watches that gave way, want none", n)
		}
		if response := f.as(t, "bob", watchAtEnd); response.StatusCode != http.StatusOK || time.Since(began) != 0 {
			t.Errorf("got %d after %s, want an immediate 200", response.StatusCode, time.Since(began))
		}
	})
}

// Forwarded requests of callers without permission do not end watches of others.
func TestDeniedForwardedStreamsEndNoOtherStream(t *testing.T) {
	const unknown, log = "/api/v1/nosuch", "/api/v1/namespaces/ns/pods/a/log"
	for _, name := range []string{"anonymous", "mallory"} {
		for _, target := range []string{unknown + "?watch=1", log} {
			t.Run(name+target, func(t *testing.T) {
				inBubble(t, func(t *testing.T, f *facade) {
					f.Put("ns/a", "1")
					_ = f.as(t, "alice", reads[0])
					for range 3 {
						f.holds(t, "alice", watchAlong)
					}
					for _, path := range []testkit.Ask{unknown, log} {
						f.Script(path, testkit.Refuse(http.StatusForbidden, "Forbidden"))
					}
					f.allow = func(a auth.Attributes) bool { return a.Caller.Name() == "alice" }
					for range 10 {
						if response := f.as(t, name, target); response.StatusCode != http.StatusForbidden {
							t.Fatalf("got %d, want the upstream's 403", response.StatusCode)
						}
					}
					if ended := f.yielded(); len(ended) != 0 {
						t.Errorf("got %d watches that gave way to a caller without permission, want none", len(ended))
					}
				}, func(c *Config) { c.Authenticator, c.Limits = waysIn{}, Limits{Watches: 3} })
			})
		}
	}
}

// Streams that the upstream is about to refuse have a limit per caller, too.
func TestDeniedForwardedStreamsAreBounded(t *testing.T) {
	const log = "/api/v1/namespaces/ns/pods/a/log"
	within(t, Limits{WatchesPerUser: 2}, func(t *testing.T, f *facade) {
		f.Script(log, func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		f.allow = func(auth.Attributes) bool { return false }
		for range 2 {
			f.holds(t, "mallory", log)
		}
		assertTooMany(t, f.as(t, "mallory", log))
		f.holds(t, "bob", log)
	})
}

// A stream is refused while its caller's permission cannot be reviewed, because it would have no seat.
func TestStreamsAreRefusedWhileReviewsFail(t *testing.T) {
	for code, err := range map[int]error{
		http.StatusTooManyRequests:    &auth.BusyError{After: time.Second},
		http.StatusServiceUnavailable: &auth.UnavailableError{Err: io.EOF},
	} {
		inBubble(t, func(t *testing.T, f *facade) {
			if response := f.as(t, "alice", "/api/v1/namespaces/ns/pods/a/log"); response.StatusCode != code {
				t.Errorf("got %d, want %d", response.StatusCode, code)
			}
		}, func(c *Config) { c.Authenticator, c.Authorizer = named{}, unreviewed{err: err} })
	}
}

// unreviewed allows forwarded requests, and fails to review all others.
type unreviewed struct {
	authenticated
	err error
}

// Authorize implements Authorizer.
func (u unreviewed) Authorize(ctx context.Context, a auth.Attributes) (auth.Decision, error) {
	if !a.PassedThrough {
		return auth.Decision{}, u.err
	}
	return auth.NewSelf(nil, 0).Authorize(ctx, a)
}

// holds opens a stream as a user, and reads it to its end.
func (f *facade) holds(t *testing.T, name, target string) {
	t.Helper()
	response := f.as(t, name, target)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %d, want 200", target, response.StatusCode)
	}
	go func() { _, _ = io.Copy(io.Discard, response.Body) }()
}

// yielded are the requests that gave way to others.
func (f *facade) yielded() (ended []string) {
	synctest.Wait()
	f.events.mu.Lock()
	defer f.events.mu.Unlock()
	for _, e := range f.events.all {
		if e.Yielded {
			ended = append(ended, e.User)
		}
	}
	return ended
}
