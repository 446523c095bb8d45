package split

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/internal/auth"
	"github.com/listfacade/listfacade/internal/limit"
)

const (
	// fallbackWait is the maximum time that a read waits for its turn at kube-apiserver. fallbackTime is the maximum
	// duration of kube-apiserver's answer: its default --request-timeout.
	fallbackWait = 10 * time.Second
	fallbackTime = time.Minute
	// A watch at kube-apiserver ends after a random time between fallbackWatch and twice fallbackWatch, or earlier.
	// Clients then return to a facade, but not all at once.
	fallbackWatch = 5 * time.Minute
	// Maximum numbers of waiting reads, per token and in total.
	fallbackQueue, fallbackQueues = 32, 1024
)

// fallback limits the reads that kube-apiserver answers while no facade is ready. For reads that wait, source addresses
// take turns, and so do the tokens of one address. Safe for concurrent use.
type fallback struct {
	reads   *limit.Seats            // nil if no reads are admitted
	watches *limit.ConcurrencyLimit // nil if no watches are admitted
}

// newFallback returns a fallback with maximum numbers of concurrent reads and of open watches; 0 means none. A source
// address may use half of the reads, and a quarter of the watches. A token may use a quarter of the reads.
func newFallback(reads, watches int) fallback {
	var f fallback
	if reads > 0 {
		all := int64(reads)
		f.reads = limit.NewSeats(limit.Bounds{
			One: max(all/4, 1), Group: max(all/2, 1), All: all, Queue: fallbackQueue, QueueAll: fallbackQueues,
		})
	}
	if watches > 0 {
		f.watches = limit.NewConcurrencyLimit(limit.ConcurrencyBounds{Each: max(watches/4, 1), All: watches})
	}
	return f
}

// enter admits a read with a small answer. It returns the request to send, and a function that must be called after the
// answer. ok is false if the read is not admitted.
func (f fallback) enter(r *http.Request, d Decision) (admitted *http.Request, leave func(), ok bool) {
	source := auth.SourceOf(r.RemoteAddr).One
	switch {
	case d.Watch && f.watches != nil:
		leave, err := f.watches.Join(source)
		if err != nil {
			return nil, nil, false
		}
		return withLifetime(r), leave, true
	case !d.Watch && f.reads != nil:
		wait, cancel := context.WithTimeout(r.Context(), fallbackWait)
		defer cancel()
		leave, err := f.reads.Take(wait, limit.Key{Group: source, One: tokenOf(r)}, 1)
		if err != nil {
			return nil, nil, false
		}
		ctx, end := context.WithTimeout(r.Context(), fallbackTime)
		return r.WithContext(ctx), func() { end(); leave() }, true
	}
	return nil, nil, false
}

// withLifetime limits the lifetime of a watch by timeoutSeconds, so that kube-apiserver ends it between two events.
func withLifetime(r *http.Request) *http.Request {
	seconds := int(fallbackWatch.Seconds()) + rand.IntN(int(fallbackWatch.Seconds()))
	query := r.URL.Query()
	asked, err := strconv.Atoi(query.Get("timeoutSeconds"))
	if err == nil && asked > 0 && asked <= seconds {
		return r
	}
	query.Set("timeoutSeconds", strconv.Itoa(seconds))
	u := *r.URL
	u.RawQuery = query.Encode()
	r = r.WithContext(r.Context())
	r.URL = &u
	return r
}

// tokenOf returns a short hash that stands for the token of a request. The token cannot be derived from it.
func tokenOf(r *http.Request) string {
	sum := sha256.Sum256([]byte(r.Header.Get("Authorization")))
	return hex.EncodeToString(sum[:8])
}
