package handlers

import (
	"context"
	"io"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
)

// Limits of a list that is converted to YAML. A larger list is forwarded. The conversion needs all objects at the same
// time. It needs a hundred times the size of the response in memory, and about half a second per MiB.
const (
	yamlObjects = 500
	yamlBytes   = 1 << 20
)

// tooLargeYAML reports whether a list is requested as YAML and too large for the conversion.
func tooLargeYAML(q *Request, state *cache.State, p plan) bool {
	if q.media.conversion != inYAML {
		return false
	}
	limit := yamlObjects + 1
	if p.limit > 0 {
		limit = min(limit, p.limit)
	}
	chunk := state.Chunk(q.Predicate, p.from, limit)
	return chunk.Len > yamlObjects || chunk.Bytes() > yamlBytes
}

// maxYAMLConversions is the maximum number of concurrent conversions to YAML, which together take 0.5 GB of memory.
const maxYAMLConversions = 4

// yamlWriter is a wire.YAMLWriter that waits for a seat before the conversion. It releases the seat before it writes to
// the client, so that a slow client does not delay others.
type yamlWriter struct {
	*wire.YAMLWriter
	seats *semaphore.Weighted
	wait  func() (context.Context, context.CancelFunc)
	to    *afterConversion
}

type afterConversion struct {
	w     io.Writer
	leave func()
}

func (a *afterConversion) Write(p []byte) (int, error) {
	a.leave()
	return a.w.Write(p)
}

func newYAMLWriter(w io.Writer, seats *semaphore.Weighted,
	wait func() (context.Context, context.CancelFunc)) *yamlWriter {
	to := &afterConversion{w: w}
	return &yamlWriter{YAMLWriter: wire.NewYAMLWriter(to), seats: seats, wait: wait, to: to}
}

// Close implements io.Closer. If the context ends before a seat is free, Close returns the context's error.
func (y *yamlWriter) Close() error {
	ctx, cancel := y.wait()
	defer cancel()
	if err := y.seats.Acquire(ctx, 1); err != nil {
		return err
	}
	y.to.leave = sync.OnceFunc(func() { y.seats.Release(1) })
	defer y.to.leave()
	return y.YAMLWriter.Close()
}
