package handlers

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listfacade/listfacade/internal/limit"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Clients that request large responses and do not read them keep no seat, whether the response is cached or forwarded.
// A client that reads later still gets the complete response.
func TestStalledResponsesReleaseSeats(t *testing.T) {
	const size, each = 1 << 20, 4
	for name, target := range map[string]string{"the cache": reads[0], "the upstream": status, "a document": "/openapi/v2"} {
		t.Run(name, func(t *testing.T) {
			within(t, Limits{Requests: 8, RequestsPerUser: each, ListBytes: 8 << 20}, func(t *testing.T, f *facade) {
				text := incompressible(size)
				for i := range 4 {
					f.Put(fmt.Sprint("ns/", i), text[i*size/4:(i+1)*size/4])
				}
				whole := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
				f.Script(status, whole)
				f.Script("/openapi/v2", whole)
				f.get(t, reads[0])
				f.client = f.http2
				var stalled []*http.Response
				for i := range settings.Amount(3, 10) { // they would take all seats
					for range each {
						stalled = append(stalled, f.as(t, fmt.Sprint("mallory", i), target))
					}
				}
				synctest.Wait()
				began := time.Now()
				response := f.as(t, "alice", "/api/v1/namespaces/ns/configmaps/0?resourceVersion=0")
				if took := time.Since(began); response.StatusCode != http.StatusOK || took > time.Second {
					t.Errorf("another caller: got %d after %s", response.StatusCode, took)
				}
				for _, response := range stalled {
					n, err := io.Copy(io.Discard, response.Body)
					if err != nil || response.StatusCode != http.StatusOK || n < size {
						t.Fatalf("got %d, %d bytes, %v", response.StatusCode, n, err)
					}
				}
			})
		})
	}
}

// incompressible returns text that gzip hardly compresses.
func incompressible(length int) string {
	random, text := rand.New(rand.NewPCG(1, 2)), make([]byte, length)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[random.IntN(64)]
	}
	return string(text)
}

// client is a client that accepts pieces of a response.
type client struct {
	*seat
	given bool // the seat was released
}

func newClient(stalls *limit.Stalls) *client {
	c := &client{seat: &seat{}}
	c.hold(stalls, "alice", func() { c.given = true })
	return c
}

// takes lets the client accept a piece in the given time.
func (c *client) takes(t *testing.T, bytes int, in time.Duration) {
	t.Helper()
	if err := c.writes(time.Now(), bytes); err != nil {
		t.Fatal(err)
	}
	<-time.After(in)
	synctest.Wait()
	c.wrote(bytes)
}

// A client that reads as fast as the response is written keeps the seat to the end. A slower client keeps it for a
// tenth of a second of delay in total.
func TestSlowClientsLoseTheirSeat(t *testing.T) {
	for name, test := range map[string]struct {
		pieces, bytes int
		each          time.Duration
		keeps         bool
	}{
		"fast":                    {1000, 128 << 10, 50 * time.Millisecond, true},
		"almost slow":             {1000, 128 << 10, 62 * time.Millisecond, true},
		"slow":                    {20, 128 << 10, 80 * time.Millisecond, false},
		"tiny pieces":             {200, 100, time.Millisecond, false},
		"buffered by net/http":    {4, 1 << 10, time.Second, true},
		"one piece, not too late": {1, 128 << 10, 160 * time.Millisecond, true},
		"one piece, too late":     {1, 128 << 10, 170 * time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				stalls := limit.NewStalls(stallBounds)
				c := newClient(stalls)
				for range test.pieces {
					c.takes(t, test.bytes, test.each)
				}
				if c.given == test.keeps || stalls.Load().Taken == 1 == test.keeps {
					t.Errorf("got released %t and %d stalled responses", c.given, stalls.Load().Taken)
				}
				c.release()
				if !c.given || stalls.Load().Taken != 0 {
					t.Errorf("at the end: got released %t and %d stalled responses", c.given, stalls.Load().Taken)
				}
			})
		})
	}
}

// If there are too many stalled responses and all of them make progress, seats are kept until there are fewer.
func TestSeatsAreKeptIfTheNetworkIsSlow(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		stalls := limit.NewStalls(limit.StallBounds{One: 1, All: 10, Bytes: 1 << 30})
		first, second := newClient(stalls), newClient(stalls)
		first.takes(t, 128<<10, time.Second)
		if err := second.writes(time.Now(), 128<<10); err != nil {
			t.Fatal(err)
		}
		<-time.After(500 * time.Millisecond)
		synctest.Wait()
		if !first.given || second.given {
			t.Errorf("got released %t and %t", first.given, second.given)
		}
		first.release()
		<-time.After(maxClientDelay)
		synctest.Wait()
		if !second.given {
			t.Error("the seat was not released when there were fewer")
		}
		second.release()
	})
}

// A watch that waits for a lane's new list releases its seats, and takes others afterwards. If its client then delays
// the response, these are released.
func TestSeatIsTakenAgainAfterRelease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		stalls, released := limit.NewStalls(stallBounds), 0
		s := &seat{}
		for range 2 {
			s.hold(stalls, "alice", func() { released++ })
			s.since = time.Now()
			s.look()
			if released == 0 {
				t.Error("got no release, want one because the client delays the response")
			}
			released = 0
			s.release()
		}
	})
}
